# find_package(PCRE2): the target PCRE2::8BIT, regular expressions over UTF-8. An installed copy has this file too (NineConfig.cmake).
find_path(PCRE2_INCLUDE pcre2.h)
find_library(PCRE2_LIBRARY pcre2-8)
mark_as_advanced(PCRE2_INCLUDE PCRE2_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PCRE2 REQUIRED_VARS PCRE2_LIBRARY PCRE2_INCLUDE
                                  REASON_FAILURE_MESSAGE "install libpcre2-dev (among Nine's sources, cmake/install_deps.sh does)")
if(PCRE2_FOUND AND NOT TARGET PCRE2::8BIT)
  add_library(PCRE2::8BIT UNKNOWN IMPORTED)
  set_target_properties(PCRE2::8BIT PROPERTIES IMPORTED_LOCATION "${PCRE2_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${PCRE2_INCLUDE}"
                                               INTERFACE_COMPILE_DEFINITIONS PCRE2_CODE_UNIT_WIDTH=8)
endif()
