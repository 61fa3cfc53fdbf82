# Changes the library's package in two points for which CPack has no variable. CPack runs this after it has
# packed.
foreach(package ${CPACK_PACKAGE_FILES})
  if(package MATCHES "/${CPACK_DEBIAN_S3LECT_RUNTIME_PACKAGE_NAME}_")
    set(tree ${CPACK_TEMPORARY_DIRECTORY}/repacked)
    execute_process(COMMAND dpkg-deb --raw-extract ${package} ${tree} COMMAND_ERROR_IS_FATAL ANY)
    # They call ldconfig, for which the package has a trigger.
    file(REMOVE ${tree}/DEBIAN/postinst ${tree}/DEBIAN/postrm)
    # The packages of several architectures can be installed together.
    file(READ ${tree}/DEBIAN/control control)
    string(REPLACE "\nPackage:" "\nMulti-Arch: same\nPackage:" control "${control}")
    file(WRITE ${tree}/DEBIAN/control "${control}")
    execute_process(COMMAND dpkg-deb --root-owner-group --build ${tree} ${package} OUTPUT_QUIET
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
