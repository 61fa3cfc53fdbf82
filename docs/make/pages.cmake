# The pages that the build makes from the code, in docs/ of the build's folder:
#   api.md, s3lect.3    from the public headers
#   elector-options.md  from s3lect/elector.h and the command's table of options
#   s3lect.1, s3lect-fakes3.1  from s3lect.1.in, s3lect-fakes3.1.in and the commands' --help
# S3LECT_PAGES_DIR names the folder; it is empty where the pages cannot be made.
set(S3LECT_PAGES_DIR "")
find_program(S3LECT_PERL perl)
if(NOT S3LECT_PERL)
  message(STATUS "s3lect: perl is missing: the manual pages and api.md are not made")
  return()
endif()
set(S3LECT_PAGES_DIR ${PROJECT_BINARY_DIR}/docs)
file(MAKE_DIRECTORY ${S3LECT_PAGES_DIR})
set(make_dir ${PROJECT_SOURCE_DIR}/docs/make)

# The headers in the order in which one reads them; a new header follows by name.
set(headers ${PROJECT_SOURCE_DIR}/include/s3lect.h)
foreach(name elector errno store credentials record verify)
  list(APPEND headers ${PROJECT_SOURCE_DIR}/include/s3lect/${name}.h)
endforeach()
file(GLOB all_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/s3lect/*.h)
list(APPEND headers ${all_headers})
list(REMOVE_DUPLICATES headers)


function(s3lect_add_page page script) # ARGUMENT... DEPENDS FILE...
  cmake_parse_arguments(PARSE_ARGV 2 page "" "" DEPENDS)
  add_custom_command(OUTPUT ${S3LECT_PAGES_DIR}/${page}
    COMMAND ${S3LECT_PERL} ${make_dir}/${script} -o ${S3LECT_PAGES_DIR}/${page}
      ${page_UNPARSED_ARGUMENTS}
    DEPENDS ${make_dir}/${script} ${make_dir}/Pages.pm ${page_DEPENDS} VERBATIM)
endfunction()
s3lect_add_page(api.md headers.pl api ${headers} DEPENDS ${headers})
s3lect_add_page(s3lect.3 headers.pl man ${headers} DEPENDS ${headers})
s3lect_add_page(elector-options.md options.pl page ${PROJECT_SOURCE_DIR} DEPENDS
  ${PROJECT_SOURCE_DIR}/include/s3lect/elector.h ${PROJECT_SOURCE_DIR}/src/cli/options_table.c)
set(pages ${S3LECT_PAGES_DIR}/api.md ${S3LECT_PAGES_DIR}/elector-options.md
  ${S3LECT_PAGES_DIR}/s3lect.3)
foreach(command s3lect s3lect-fakes3)
  string(REGEX REPLACE "^s3lect$" s3lect_cli target ${command})
  if(TARGET ${target})
    s3lect_add_page(${command}.1 commands.pl $<TARGET_FILE:${target}> ${make_dir}/${command}.1.in
      DEPENDS ${target} ${make_dir}/${command}.1.in)
    list(APPEND pages ${S3LECT_PAGES_DIR}/${command}.1)
  endif()
endforeach()
add_custom_target(s3lect_pages ALL DEPENDS ${pages})
