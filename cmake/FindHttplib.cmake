# find_package(Httplib): the target Httplib::httplib, cpp-httplib as Debian packs it: a header and a library, which were compiled with OpenSSL,
# zlib and brotli. The header must be read with the same definitions, because they change its classes.
find_path(HTTPLIB_INCLUDE httplib.h)
find_library(HTTPLIB_LIBRARY cpp-httplib)
mark_as_advanced(HTTPLIB_INCLUDE HTTPLIB_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Httplib REQUIRED_VARS HTTPLIB_LIBRARY HTTPLIB_INCLUDE
                                  REASON_FAILURE_MESSAGE "install libcpp-httplib-dev (among Nine's sources, cmake/install_deps.sh does)")
if(Httplib_FOUND AND NOT TARGET Httplib::httplib)
  add_library(Httplib::httplib UNKNOWN IMPORTED)
  set_target_properties(Httplib::httplib PROPERTIES IMPORTED_LOCATION "${HTTPLIB_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${HTTPLIB_INCLUDE}"
                        INTERFACE_COMPILE_DEFINITIONS "CPPHTTPLIB_OPENSSL_SUPPORT;CPPHTTPLIB_ZLIB_SUPPORT;CPPHTTPLIB_BROTLI_SUPPORT")
endif()
