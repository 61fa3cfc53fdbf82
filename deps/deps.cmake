# Finds what s3lect stands on. Each dependency ends as one target:
#   s3lect_dep_uv, s3lect_dep_ssl, s3lect_dep_crypto, s3lect_dep_jsmn, s3lect_dep_llhttp
# A system package first, then (with -DS3LECT_FETCH_DEPS=ON) a pinned source, else an error that
# names the package to install. No third-party source is kept in this repository.
find_package(PkgConfig)
include(FetchContent)

function(s3lect_missing what debian)
  message(FATAL_ERROR "s3lect needs ${what}. On Debian: apt-get install ${debian} "
    "(or run deps/install-debian.sh); elsewhere configure with -DS3LECT_FETCH_DEPS=ON.")
endfunction()

add_library(s3lect_dep_uv INTERFACE)
if(PkgConfig_FOUND)
  pkg_check_modules(S3LECT_UV IMPORTED_TARGET libuv>=1.44)
endif()
if(S3LECT_UV_FOUND)
  target_link_libraries(s3lect_dep_uv INTERFACE PkgConfig::S3LECT_UV)
elseif(S3LECT_FETCH_DEPS)
  FetchContent_Declare(s3lect_libuv GIT_REPOSITORY https://github.com/libuv/libuv GIT_TAG v1.48.0)
  set(LIBUV_BUILD_TESTS OFF)
  FetchContent_MakeAvailable(s3lect_libuv)
  target_link_libraries(s3lect_dep_uv INTERFACE uv_a)
else()
  s3lect_missing("libuv 1.44 or newer (and pkg-config)" "libuv1-dev pkg-config")
endif()

find_package(OpenSSL 3.0)
if(NOT OPENSSL_FOUND)
  s3lect_missing("OpenSSL 3.0 or newer" libssl-dev)
endif()
add_library(s3lect_dep_ssl INTERFACE)
target_link_libraries(s3lect_dep_ssl INTERFACE OpenSSL::SSL)
add_library(s3lect_dep_crypto INTERFACE)
target_link_libraries(s3lect_dep_crypto INTERFACE OpenSSL::Crypto)

# jsmn is one header with the implementation in it; src/util/json.c is its only user.
add_library(s3lect_dep_jsmn INTERFACE)
find_path(S3LECT_JSMN_DIR jsmn.h)
if(NOT S3LECT_JSMN_DIR AND S3LECT_FETCH_DEPS)
  FetchContent_Declare(s3lect_jsmn GIT_REPOSITORY https://github.com/zserge/jsmn GIT_TAG v1.1.0)
  FetchContent_Populate(s3lect_jsmn)
  set(S3LECT_JSMN_DIR ${s3lect_jsmn_SOURCE_DIR})
endif()
if(NOT S3LECT_JSMN_DIR)
  s3lect_missing("jsmn" libjsmn-dev)
endif()
target_include_directories(s3lect_dep_jsmn SYSTEM INTERFACE ${S3LECT_JSMN_DIR})

# llhttp: a library where the system has one, else compiled from C sources: Debian's node-llhttp
# ships them, and so does llhttp's own release branch.
add_library(s3lect_dep_llhttp INTERFACE)
find_library(S3LECT_LLHTTP_LIB llhttp)
find_path(S3LECT_LLHTTP_DIR llhttp.h PATH_SUFFIXES llhttp PATHS /usr/share/include)
find_path(S3LECT_LLHTTP_SRC llhttp.c PATHS /usr/share/llhttp /usr/share/nodejs/llhttp/src)
if(S3LECT_LLHTTP_LIB AND S3LECT_LLHTTP_DIR)
  target_include_directories(s3lect_dep_llhttp SYSTEM INTERFACE ${S3LECT_LLHTTP_DIR})
  target_link_libraries(s3lect_dep_llhttp INTERFACE ${S3LECT_LLHTTP_LIB})
else()
  if(NOT S3LECT_LLHTTP_SRC AND S3LECT_FETCH_DEPS)
    FetchContent_Declare(s3lect_llhttp GIT_REPOSITORY https://github.com/nodejs/llhttp
      GIT_TAG release/v8.1.1)
    FetchContent_Populate(s3lect_llhttp)
    set(S3LECT_LLHTTP_SRC ${s3lect_llhttp_SOURCE_DIR}/src)
    set(S3LECT_LLHTTP_DIR ${s3lect_llhttp_SOURCE_DIR}/include)
  endif()
  if(NOT S3LECT_LLHTTP_SRC OR NOT S3LECT_LLHTTP_DIR)
    s3lect_missing("llhttp" "node-llhttp (or libllhttp-dev where it exists)")
  endif()
  add_library(s3lect_llhttp OBJECT ${S3LECT_LLHTTP_SRC}/llhttp.c ${S3LECT_LLHTTP_SRC}/api.c
    ${S3LECT_LLHTTP_SRC}/http.c)
  target_include_directories(s3lect_llhttp SYSTEM PRIVATE ${S3LECT_LLHTTP_DIR})
  # llhttp 8 is loose (blanks in header names ...) unless told otherwise; llhttp 9 is always strict.
  target_compile_definitions(s3lect_llhttp PRIVATE LLHTTP_STRICT_MODE=1)
  # Its warnings are nobody's here, least of all those that a build around this one asks for.
  target_compile_options(s3lect_llhttp PRIVATE -w ${S3LECT_SMALL} -ffunction-sections -fdata-sections)
  target_link_libraries(s3lect_llhttp PRIVATE s3lect_hardening)
  set_target_properties(s3lect_llhttp PROPERTIES C_EXTENSIONS ON)
  target_include_directories(s3lect_dep_llhttp SYSTEM INTERFACE ${S3LECT_LLHTTP_DIR})
  set(S3LECT_LLHTTP_OBJECTS $<TARGET_OBJECTS:s3lect_llhttp>)
endif()
