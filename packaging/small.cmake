# Options that make the library small; docs/performance.md says what each option saves. Sets
#   S3LECT_SMALL          compile options of the library and of llhttp
#   S3LECT_LINK_TIME      whether the shared library is optimised when it is linked
#   S3LECT_SMALL_LINKING  link options of the shared library
# Not for Debug builds.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckIPOSupported)
include(CheckLinkerFlag)

# A request costs 6 % more instructions than with -O2. Without a PLT, functions of other libraries are
# called directly through the table of addresses, which is complete before anything runs (-z now).
check_c_compiler_flag(-Oz S3LECT_COMPILES_OZ)
check_c_compiler_flag(-fno-plt S3LECT_COMPILES_NO_PLT)
check_c_compiler_flag(-fipa-pta S3LECT_COMPILES_IPA_PTA) # pointer analysis across functions
set(S3LECT_SMALL $<IF:$<BOOL:${S3LECT_COMPILES_OZ}>,-Oz,-Os>
  $<$<BOOL:${S3LECT_COMPILES_NO_PLT}>:-fno-plt>
  $<$<BOOL:${S3LECT_COMPILES_IPA_PTA}>:-fipa-pta>)
# Some of gcc's optimisations make code longer, though -Oz applies them: those that copy code, and
# those that keep more values in registers, which functions then save and restore. Others stop at
# limits that are meant to keep compilation fast: a function that is called once is compiled into its
# caller, and equal ends of branches are merged.
foreach(option -fno-optimize-sibling-calls -fno-thread-jumps -fno-tree-dominator-opts
    -fno-if-conversion -fno-if-conversion2 -fno-caller-saves -fno-tree-sra -fno-ipa-cp -fno-ipa-sra
    --param=max-inline-functions-called-once-insns=100000 --param=large-function-insns=100000
    --param=large-stack-frame=100000 --param=max-crossjump-edges=1000)
  string(MAKE_C_IDENTIFIER "S3LECT_COMPILES_${option}" known)
  check_c_compiler_flag(${option} ${known})
  if(${known})
    list(APPEND S3LECT_SMALL ${option})
  endif()
endforeach()
# No exception leaves a C library, so only debuggers, profilers and crash reporters read the tables.
# Debug information (-g) has its own, .debug_frame, which are not loaded.
if(NOT S3LECT_UNWIND_TABLES)
  list(APPEND S3LECT_SMALL -fno-asynchronous-unwind-tables -fno-unwind-tables)
endif()
list(TRANSFORM S3LECT_SMALL REPLACE "(.+)" "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:\\1>")

set(S3LECT_LINK_TIME OFF)
if(S3LECT_LTO AND NOT S3LECT_SANITIZE
    AND CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$")
  check_ipo_supported(RESULT S3LECT_LINK_TIME OUTPUT why LANGUAGES C)
endif()
# As one partition: with several, gcc optimises each of them without seeing the others.
check_c_compiler_flag(-flto-partition=one S3LECT_LINKS_ONE_PIECE)

# A relocation takes 24 bytes, a packed one about a bit. The loader must support them: glibc's does
# from 2.36 on (an older one reports an error); other C libraries do not say whether they do.
set(S3LECT_SMALL_LINKING "")
if(S3LECT_PACK_RELOCS)
  check_c_source_compiles("#include <stdlib.h>
    #if !defined(__GLIBC__) || !__GLIBC_PREREQ(2, 36)
    #  error
    #endif
    int main(void) { return 0; }" S3LECT_LOADS_PACKED_RELOCS)
  check_linker_flag(C -Wl,-z,pack-relative-relocs S3LECT_LINKS_PACKED_RELOCS)
  if(S3LECT_LOADS_PACKED_RELOCS AND S3LECT_LINKS_PACKED_RELOCS)
    set(S3LECT_SMALL_LINKING -Wl,-z,pack-relative-relocs)
  endif()
endif()
