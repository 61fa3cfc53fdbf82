# Each public header compiles alone, and twice, as C11 and as C++17, without a warning:
#   cmake -DINCLUDE=<include folder> -DCC=<C compiler> -DCXX=<C++ compiler> -DDIRS=<more include
#   folders> -DTREE=<scratch folder> -P headers.cmake
# CXX may be empty where there is no C++ compiler; then only C is tried, and said so.
cmake_minimum_required(VERSION 3.22)

file(GLOB_RECURSE headers RELATIVE ${INCLUDE} ${INCLUDE}/*.h)
if(NOT headers)
  message(FATAL_ERROR "no public headers under ${INCLUDE}")
endif()
# uv.h itself needs the POSIX names to be shown.
set(flags -D_XOPEN_SOURCE=700 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror -I${INCLUDE})
foreach(dir ${DIRS})
  list(APPEND flags -isystem ${dir})
endforeach()

set(failed 0)
foreach(header ${headers})
  file(WRITE ${TREE}/alone.c "#include <${header}>\n#include <${header}>\nextern int s3l_not_empty;\n")
  set(tries "${CC},-xc,-std=c11")
  if(CXX)
    list(APPEND tries "${CXX},-xc++,-std=c++17")
  endif()
  foreach(try ${tries})
    string(REPLACE "," ";" command ${try})
    execute_process(COMMAND ${command} ${flags} ${TREE}/alone.c RESULT_VARIABLE result
      ERROR_VARIABLE output)
    if(NOT result EQUAL 0)
      message("${header} does not compile alone (${try}):\n${output}")
      set(failed 1)
    endif()
  endforeach()
endforeach()

if(failed)
  message(FATAL_ERROR "some public headers do not stand alone")
endif()
if(NOT CXX)
  message(STATUS "no C++ compiler: tried C11 only")
endif()
message(STATUS "compile alone: ${headers}")
