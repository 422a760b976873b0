# SPDX-License-Identifier: Apache-2.0
# Defines <name> as a digest of the given source files: the part of a backend's
# target that says which code made an engine, so that nobody has to remember to
# raise a version number.
function(hull_sources_digest name)
  set(all "")
  foreach(file ${ARGN})
    file(SHA256 ${file} one)
    string(APPEND all ${one})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  string(SHA256 digest "${all}")
  string(SUBSTRING ${digest} 0 16 digest)
  set(${name} ${digest} PARENT_SCOPE)
endfunction()
