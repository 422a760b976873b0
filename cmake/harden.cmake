# SPDX-License-Identifier: Apache-2.0
# How the product is made harder to attack (docs/security.md); tests/hardened.py
# reads the outcome back from the files. What the compiler or the processor
# lacks is left out. Before the sources, so that all of them get it.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckPIESupported)
include(CheckLinkerFlag)

check_pie_supported(LANGUAGES C)
set(HULL_HARDENED "") # the flags in use
if(HULL_HARDEN)
  foreach(flag -fstack-protector-strong -fstack-clash-protection
      -fcf-protection)
    string(MAKE_C_IDENTIFIER "HULL_HAS${flag}" has)
    check_c_compiler_flag(${flag} ${has})
    if(${has})
      add_compile_options(${flag})
      list(APPEND HULL_HARDENED ${flag})
    endif()
  endforeach()
  # Level 3 knows sizes that only a run decides; without optimisation there is
  # none, and sanitizers want to see the calls themselves.
  if(NOT HULL_SANITIZE)
    add_compile_options(
      "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE>"
      "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=3>")
    if(CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$")
      list(APPEND HULL_HARDENED -D_FORTIFY_SOURCE=3)
    endif()
  endif()
  add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()

# Tables of pointers need no 24 bytes of relocation each, where the linker can
# pack them and the C library (glibc 2.36) unpacks them.
check_linker_flag(C LINKER:-z,pack-relative-relocs HULL_HAS_PACK_RELOCS)
check_c_source_compiles("#include <features.h>
  #if !defined(__GLIBC_PREREQ) || !__GLIBC_PREREQ(2, 36)
  #error older
  #endif
  int main(void) { return 0; }" HULL_LIBC_UNPACKS)
if(HULL_HAS_PACK_RELOCS AND HULL_LIBC_UNPACKS)
  add_link_options(LINKER:-z,pack-relative-relocs)
endif()
