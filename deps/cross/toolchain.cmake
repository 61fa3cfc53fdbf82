# CMake's toolchain file for one target, copied to its prefix by deps/install-cross.sh.
set(prefix ${CMAKE_CURRENT_LIST_DIR})
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR @MACHINE@)
set(CMAKE_C_COMPILER ${prefix}/bin/cc)
set(CMAKE_AR ${prefix}/bin/ar)
set(CMAKE_RANLIB ${prefix}/bin/ranlib)
# Libraries and headers come from the prefix only: those of the building machine belong to another C
# library.
set(CMAKE_FIND_ROOT_PATH ${prefix})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${prefix}/lib/pkgconfig)
