# Writes the simulator's own copy of the core, with every mutation of mutations.cmake in it.
#   cmake -DSOURCE=src/core -DOUT=folder -DHERE=test/sim -DFILES=a.c,b.c -P mutate.cmake
# A mutation whose text is not found exactly once has lost its place: the build fails and says so.

function(mutation id file original mutated)
  string(REPLACE "${original}" "" without "${pristine_${file}}")
  string(LENGTH "${pristine_${file}}" before)
  string(LENGTH "${without}" after)
  string(LENGTH "${original}" length)
  math(EXPR times "(${before} - ${after}) / ${length}")
  if(NOT times EQUAL 1)
    message(FATAL_ERROR "mutant ${id}: its text occurs ${times} times in src/core/${file}, not once; "
      "mend test/sim/mutations.cmake:\n${original}")
  endif()
  string(REPLACE "${original}" "${mutated}" text "${text_${file}}")
  if(text STREQUAL "${text_${file}}")
    message(FATAL_ERROR "mutant ${id}: another mutation has changed its text in ${file}:\n${original}")
  endif()
  set(text_${file} "${text}" PARENT_SCOPE)
  set(done_${id} TRUE PARENT_SCOPE)
endfunction()

string(REPLACE "," ";" files "${FILES}")
foreach(file ${files})
  file(READ "${SOURCE}/${file}" pristine_${file})
  set(text_${file} "${pristine_${file}}")
endforeach()
include("${HERE}/mutations.cmake")

file(STRINGS "${HERE}/mutant_ids.h" rows REGEX "^  XX\\([A-Z_]+,")
foreach(row ${rows})
  string(REGEX REPLACE "^  XX\\(([A-Z_]+),.*" "\\1" id "${row}")
  if(NOT done_${id})
    message(FATAL_ERROR "mutant ${id} of mutant_ids.h has no mutation in mutations.cmake")
  endif()
endforeach()

foreach(file ${files})
  file(WRITE "${OUT}/${file}.new"
    "/* Made by test/sim/mutate.cmake. */\n#include \"sim/mutant_ids.h\"\n${text_${file}}")
  configure_file("${OUT}/${file}.new" "${OUT}/${file}" COPYONLY)
endforeach()
