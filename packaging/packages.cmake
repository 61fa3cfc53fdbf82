# Debian packages, by CPack: the target "package" of a build whose prefix is /usr, as the preset debian
# has it. They are written to packages/ of the build's folder. debian/stage.cmake makes of the installed
# files what Debian's policy asks for, and lintian finds nothing to say (test/install/debian.sh).
if(NOT PROJECT_IS_TOP_LEVEL OR NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr" OR NOT S3LECT_PAGES_DIR
    OR NOT TARGET s3lect_cli OR NOT S3LECT_BUILD_FAKES3)
  return()
endif()

# The package of each component.
set(library libs3lect${PROJECT_VERSION_MAJOR}) # after the soname
set(CPACK_DEBIAN_S3LECT_COMMAND_PACKAGE_NAME s3lect)
set(CPACK_DEBIAN_S3LECT_RUNTIME_PACKAGE_NAME ${library})
set(CPACK_DEBIAN_S3LECT_DEVELOPMENT_PACKAGE_NAME libs3lect-dev)
set(CPACK_DEBIAN_TESTING_PACKAGE_NAME s3lect-testing)
set(CPACK_COMPONENTS_ALL s3lect_command s3lect_runtime s3lect_development testing)

set(about "s3lect elects one leader among many processes. All that it needs is an object
store with conditional writes: S3, MinIO, Ceph, R2 and others.
")
set(CPACK_COMPONENT_S3LECT_COMMAND_DESCRIPTION "leader election on an object store: command
${about}.
This package has the command, which runs a program on the machine that leads,
its completion for bash, and a template of units for systemd.")
set(CPACK_COMPONENT_S3LECT_RUNTIME_DESCRIPTION "leader election on an object store: library
${about}.
This package has the library, for programs that run a libuv loop.")
set(CPACK_COMPONENT_S3LECT_DEVELOPMENT_DESCRIPTION "leader election on an object store: development
${about}.
This package has the headers, the static library, files for CMake and
pkg-config, the manual pages of the functions, and the documentation.")
set(CPACK_COMPONENT_TESTING_DESCRIPTION "leader election on an object store: S3 server for tests
${about}.
This package has s3lect-fakes3, a small S3 server that keeps objects in memory
and injects faults on command, for the tests of programs that use s3lect.")
set(CPACK_DEBIAN_S3LECT_COMMAND_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_S3LECT_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_S3LECT_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TESTING_PACKAGE_SECTION devel)

# dpkg-shlibdeps finds the other libraries that the programs need.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_S3LECT_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_S3LECT_DEVELOPMENT_PACKAGE_DEPENDS
  "${library} (= ${PROJECT_VERSION}), libuv1-dev, libssl-dev")

# What the packages of programs that are linked with the library depend on: dpkg-shlibdeps takes it from
# here. A trigger calls ldconfig.
set(control ${PROJECT_BINARY_DIR}/packaging/debian)
file(WRITE ${control}/shlibs "libs3lect ${PROJECT_VERSION_MAJOR} ${library} (>= ${PROJECT_VERSION})\n")
file(STRINGS ${PROJECT_SOURCE_DIR}/src/s3lect.symbols symbols REGEX "^s3lect_")
list(SORT symbols)
list(TRANSFORM symbols REPLACE "^(s3lect_[a-z0-9_]+).*" " \\1@Base ${PROJECT_VERSION}")
list(JOIN symbols "\n" symbols)
file(WRITE ${control}/symbols
  "libs3lect.so.${PROJECT_VERSION_MAJOR} ${library} #MINVER#\n* Build-Depends-Package: libs3lect-dev\n${symbols}\n")
file(WRITE ${control}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_S3LECT_RUNTIME_PACKAGE_CONTROL_EXTRA ${control}/shlibs ${control}/symbols
  ${control}/triggers)

# As Debian's own tools have it, the environment names the maintainer.
set(maintainer "$ENV{DEBFULLNAME}")
if(NOT maintainer)
  set(maintainer "s3lect contributors")
endif()
set(email "$ENV{DEBEMAIL}")
if(NOT email)
  set(email "s3lect@packages.invalid")
endif()
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${maintainer} <${email}>")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE s3lect)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_SET_DESTDIR ON) # the prefix is /usr, in the unit as well
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
  GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/stage.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/repack.cmake)
include(CPack)
