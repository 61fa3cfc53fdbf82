# Makes of the installed files what Debian's policy asks for. CPack runs it before it packs, with its own
# variables; the files of each component are in a folder of its name.

# The changelog of Debian; CHANGELOG.md is the upstream one. SOURCE_DATE_EPOCH, if it is set, is the date.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(changelog ${CPACK_TEMPORARY_DIRECTORY}/changelog)
file(WRITE ${changelog} "s3lect (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Packages made from the source of this version. What is new in it:
    CHANGELOG.md of libs3lect-dev.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
  set(doc ${root}/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  # The documentation goes to the folder of its package.
  if(EXISTS ${root}/share/doc/s3lect)
    file(RENAME ${root}/share/doc/s3lect ${doc})
    file(REMOVE ${doc}/LICENSE) # the copyright file names it
  endif()
  file(COPY ${CMAKE_CURRENT_LIST_DIR}/copyright ${changelog} DESTINATION ${doc})
  file(GLOB_RECURSE pages ${root}/share/man/*)
  run(gzip -9n ${pages} ${doc}/changelog)
  # As dh_strip does.
  file(GLOB programs ${root}/bin/* ${root}/lib/*/*.so.*.*)
  file(GLOB archives ${root}/lib/*/*.a)
  foreach(program ${programs})
    run(strip --remove-section=.comment --remove-section=.note ${program})
  endforeach()
  foreach(archive ${archives})
    run(strip --strip-debug --remove-section=.comment --remove-section=.note
      --enable-deterministic-archives ${archive})
  endforeach()
endforeach()
