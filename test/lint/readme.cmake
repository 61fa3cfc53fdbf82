# The program in the README is examples/minimal.c, letter by letter.
#   cmake -DSOURCE=DIR -P readme.cmake
file(READ ${SOURCE}/README.md readme)
file(READ ${SOURCE}/examples/minimal.c program)
string(FIND "${readme}" "```c\n${program}```\n" at)
if(at EQUAL -1)
  message(FATAL_ERROR "README.md does not show examples/minimal.c as it is: copy it between ```c and ```")
endif()
