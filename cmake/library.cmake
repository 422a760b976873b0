# SPDX-License-Identifier: Apache-2.0
# The installed library: libhull.so, on request libhull.a, the header, and the
# files by which pkg-config and find_package(hull) find them.
include(CMakePackageConfigHelpers)

set(HULL_MAP ${CMAKE_SOURCE_DIR}/cmake/libhull.map)
add_library(hull_shared SHARED)
target_link_libraries(hull_shared PRIVATE hull_objects)
target_include_directories(hull_shared INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_options(hull_shared PRIVATE
  "LINKER:--version-script=${HULL_MAP}")
if(NOT HULL_SANITIZE)
  target_link_options(hull_shared PRIVATE "LINKER:--no-undefined")
endif()
set_target_properties(hull_shared PROPERTIES
  OUTPUT_NAME hull
  EXPORT_NAME hull
  VERSION ${PROJECT_VERSION}
  SOVERSION 0
  LINK_DEPENDS ${HULL_MAP}
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
add_library(hull::hull ALIAS hull_shared)

# One object whose hidden symbols are local, so that nothing but hull_* can
# clash with the program that links it.
if(HULL_STATIC)
  set(HULL_ONE ${CMAKE_BINARY_DIR}/hull_one.o)
  set(HULL_ARCHIVE ${CMAKE_BINARY_DIR}/libhull.a)
  add_custom_command(OUTPUT ${HULL_ARCHIVE}
    COMMAND ${CMAKE_LINKER} -r -o ${HULL_ONE} $<TARGET_OBJECTS:hull_objects>
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${HULL_ONE}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${HULL_ARCHIVE}
    COMMAND ${CMAKE_AR} rcs ${HULL_ARCHIVE} ${HULL_ONE}
    DEPENDS hull_objects $<TARGET_OBJECTS:hull_objects>
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(hull_static ALL DEPENDS ${HULL_ARCHIVE})
  install(FILES ${HULL_ARCHIVE} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

set(HULL_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/hull)
configure_package_config_file(cmake/hull-config.cmake.in
  ${CMAKE_BINARY_DIR}/hull-config.cmake INSTALL_DESTINATION ${HULL_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/hull-config-version.cmake
  COMPATIBILITY SameMinorVersion)
# The way from lib*/pkgconfig back to the prefix, so that a copy can be moved.
file(RELATIVE_PATH HULL_PC_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/hull.pc.in ${CMAKE_BINARY_DIR}/hull.pc @ONLY)

install(TARGETS hull_shared EXPORT hull-targets)
install(EXPORT hull-targets NAMESPACE hull:: DESTINATION ${HULL_CMAKE_DIR})
install(FILES include/hull.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_BINARY_DIR}/hull-config.cmake
  ${CMAKE_BINARY_DIR}/hull-config-version.cmake DESTINATION ${HULL_CMAKE_DIR})
install(FILES ${CMAKE_BINARY_DIR}/hull.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
