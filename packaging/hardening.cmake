# s3lect_hardening: the toolchain's protections, for all code compiled here, llhttp included.
# test/abi/hardening.sh checks that the library and the command have them.
include(CheckCSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C) # or executables would be linked without -pie

add_library(s3lect_hardening INTERFACE)
if(NOT S3LECT_HARDEN)
  return()
endif()

target_compile_options(s3lect_hardening INTERFACE -fstack-protector-strong)

# Level 3 if compiler and libc support it. It works in optimised code only, and sanitizers find more
# without it.
if(NOT S3LECT_SANITIZE)
  set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_c_source_compiles("#include <string.h>\nint main(void) { return (int)strlen(\"\"); }"
    S3LECT_FORTIFY_3)
  unset(CMAKE_REQUIRED_FLAGS)
  set(level $<IF:$<BOOL:${S3LECT_FORTIFY_3}>,3,2>)
  target_compile_options(s3lect_hardening INTERFACE
    $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=${level}>)
endif()

foreach(flag relro now noexecstack)
  check_linker_flag(C -Wl,-z,${flag} S3LECT_LINKS_${flag})
  if(S3LECT_LINKS_${flag})
    target_link_options(s3lect_hardening INTERFACE -Wl,-z,${flag})
  endif()
endforeach()
