# Where cmake --install puts each file. Components, for packagers: s3lect_runtime (the shared library),
# s3lect_development (headers, static library, CMake and pkg-config files, s3lect(3)), s3lect_command
# (the command, s3lect(1), its completion and unit) and testing (s3lect-fakes3 and s3lect-fakes3(1), for
# the tests of programs that use s3lect).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/s3lect)
set(made_dir ${PROJECT_BINARY_DIR}/packaging)

# The headers.
install(FILES ${PROJECT_SOURCE_DIR}/include/s3lect.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT s3lect_development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/s3lect DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT s3lect_development FILES_MATCHING PATTERN *.h)

# The libraries. Each kind has its own file of targets, so that one can be packaged without the
# other.
install(TARGETS s3lect_shared EXPORT s3lect-shared
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT s3lect_runtime
  NAMELINK_COMPONENT s3lect_development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS s3lect_static EXPORT s3lect-static
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT s3lect_development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(kind shared static)
  install(EXPORT s3lect-${kind} FILE s3lect-${kind}.cmake NAMESPACE s3lect::
    DESTINATION ${package_dir} COMPONENT s3lect_development)
endforeach()

# Other libraries that the static library needs: llhttp, if the system's is used and not compiled
# into ours.
set(S3LECT_PRIVATE_LIBS "")
if(S3LECT_LLHTTP_LIB AND NOT TARGET s3lect_llhttp)
  set(S3LECT_PRIVATE_LIBS "-lllhttp")
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/packaging/s3lect-config.cmake.in
  ${made_dir}/s3lect-config.cmake INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${made_dir}/s3lect-config-version.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${made_dir}/s3lect-config.cmake ${made_dir}/s3lect-config-version.cmake
  DESTINATION ${package_dir} COMPONENT s3lect_development)

# pkg-config. Its prefix is relative to the file itself, so that the tree can be moved.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(S3LECT_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH S3LECT_PC_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
  string(REGEX REPLACE "/$" "" S3LECT_PC_PREFIX "\${pcfiledir}/${S3LECT_PC_PREFIX}")
endif()
foreach(dir LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_${dir}})
    set(S3LECT_PC_${dir} ${CMAKE_INSTALL_${dir}})
  else()
    set(S3LECT_PC_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/packaging/s3lect.pc.in ${made_dir}/s3lect.pc @ONLY)
install(FILES ${made_dir}/s3lect.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT s3lect_development)

# The pages that the build makes. s3lect(3) describes every function; each function also has a page
# of its name that refers to s3lect(3).
if(S3LECT_PAGES_DIR)
  install(FILES ${S3LECT_PAGES_DIR}/s3lect.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3
    COMPONENT s3lect_development)
  file(STRINGS ${PROJECT_SOURCE_DIR}/src/s3lect.symbols functions REGEX "^s3lect_")
  file(REMOVE_RECURSE ${made_dir}/man3)
  foreach(function ${functions})
    file(WRITE ${made_dir}/man3/${function}.3 ".so man3/s3lect.3\n")
  endforeach()
  install(DIRECTORY ${made_dir}/man3 DESTINATION ${CMAKE_INSTALL_MANDIR}
    COMPONENT s3lect_development FILES_MATCHING PATTERN "s3lect_*.3")
  install(FILES ${S3LECT_PAGES_DIR}/api.md ${S3LECT_PAGES_DIR}/elector-options.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT s3lect_development)
  if(TARGET s3lect_cli)
    install(FILES ${S3LECT_PAGES_DIR}/s3lect.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
      COMPONENT s3lect_command)
  endif()
endif()

# The pages that are written by hand, with the folders that their links expect.
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT s3lect_development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT s3lect_development
  PATTERN make EXCLUDE PATTERN node_modules EXCLUDE PATTERN build EXCLUDE PATTERN prebuilds EXCLUDE
  REGEX "/examples/CMakeLists.txt$" EXCLUDE)

# The command, its completion and its unit.
if(TARGET s3lect_cli)
  install(TARGETS s3lect_cli EXPORT s3lect-command
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT s3lect_command)
  install(EXPORT s3lect-command FILE s3lect-command.cmake NAMESPACE s3lect::
    DESTINATION ${package_dir} COMPONENT s3lect_command)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/s3lect.bash RENAME s3lect
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT s3lect_command)
  # Made at installation, because the prefix is known only then.
  install(CODE "
    set(S3LECT_BINDIR \"${CMAKE_INSTALL_BINDIR}\")
    if(NOT IS_ABSOLUTE \"\${S3LECT_BINDIR}\")
      set(S3LECT_BINDIR \"\${CMAKE_INSTALL_PREFIX}/\${S3LECT_BINDIR}\")
    endif()
    configure_file(\"${PROJECT_SOURCE_DIR}/packaging/s3lect-run@.service.in\"
      \"${made_dir}/s3lect-run@.service\" @ONLY)" COMPONENT s3lect_command)
  install(FILES ${made_dir}/s3lect-run@.service DESTINATION lib/systemd/system
    COMPONENT s3lect_command)
endif()

# The fake S3.
if(S3LECT_BUILD_FAKES3)
  install(TARGETS s3lect-fakes3 RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT testing)
  if(S3LECT_PAGES_DIR)
    install(FILES ${S3LECT_PAGES_DIR}/s3lect-fakes3.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
      COMPONENT testing)
  endif()
endif()

# For other prefixes than /usr and /usr/local, prints the variables to set. Not when packages are
# made.
foreach(dir BINDIR LIBDIR)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_${dir}})
    set(S3LECT_SHOWN_${dir} ${CMAKE_INSTALL_${dir}})
  else()
    set(S3LECT_SHOWN_${dir} "\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()
install(CODE "
  if(NOT DEFINED ENV{DESTDIR} AND NOT CMAKE_INSTALL_PREFIX MATCHES \"^/usr(/local)?/?\$\")
    message(\"So that programs find what is installed here:
  export PATH=${S3LECT_SHOWN_BINDIR}:\\$PATH
  export LD_LIBRARY_PATH=${S3LECT_SHOWN_LIBDIR}:\\$LD_LIBRARY_PATH
  export PKG_CONFIG_PATH=${S3LECT_SHOWN_LIBDIR}/pkgconfig:\\$PKG_CONFIG_PATH
  export CMAKE_PREFIX_PATH=\${CMAKE_INSTALL_PREFIX}:\\$CMAKE_PREFIX_PATH\")
  endif()" COMPONENT s3lect_development)
