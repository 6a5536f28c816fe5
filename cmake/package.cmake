# `make package` (docs/install.md): a .deb and a tarball of what cmake --install lays out, with the programs' manual pages and bash
# completions, which NINE_PACKAGE=ON makes by running the programs that were built.
option(NINE_PACKAGE "Make manual pages (help2man) and bash completions, and install them" OFF)
set(NINE_MAINTAINER "The Nine authors <nine@localhost>" CACHE STRING "Maintainer of the Debian package: a name and an address")

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME nine)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME nine-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_stage.cmake)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "deep-learning engine whose output layer is a kernel softmax")
set(CPACK_PACKAGE_DESCRIPTION
    "Trains LSTM language models and Transformers on the CPU. The output layer
scores words by a kernel, one of ten, or by a mixture of them.
Programs: lm_train, lm_score and lm_rescore (language models), mt_train and
mt_translate (translation), bpe (subwords), kernel_inspect (the numbers and
gradients of a head), nine_convert (models of other programs), nine_report
(reports of runs), nine_serve (models over HTTP).
The C++ library is static: find_package(Nine) finds it.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${NINE_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# What programs that use the library are built with; the programs need none of it.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake, g++, zlib1g-dev, libzstd-dev, libpcre2-dev")
if(NINE_WITH_XSMM)
  string(APPEND CPACK_DEBIAN_PACKAGE_SUGGESTS ", libxsmm-dev")
endif()
if(NINE_WITH_UTF8PROC)
  string(APPEND CPACK_DEBIAN_PACKAGE_SUGGESTS ", libutf8proc-dev")
endif()
if(nine_has_mpi)
  string(APPEND CPACK_DEBIAN_PACKAGE_SUGGESTS ", openmpi-bin")
endif()
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
include(CPack)

if(NOT NINE_PACKAGE)
  return()
endif()
find_program(NINE_HELP2MAN help2man)
if(NOT NINE_HELP2MAN)
  message(FATAL_ERROR "NINE_PACKAGE=ON: help2man is missing; cmake/install_deps.sh package installs it")
endif()
set(made ${PROJECT_BINARY_DIR}/package)
set(outputs "")

# nine_man_page(PROGRAM [COMMAND])
function(nine_man_page program)
  list(JOIN ARGV - name)
  set(page ${made}/man1/${name}.1)
  add_custom_command(
    OUTPUT ${page}.gz
    COMMAND ${PROJECT_SOURCE_DIR}/cmake/man_page.sh ${made}/man1 $<TARGET_FILE:${program}> ${ARGN}
    COMMAND gzip -9nf ${page}
    DEPENDS ${program} ${PROJECT_SOURCE_DIR}/cmake/man_page.sh VERBATIM)
  set(outputs ${outputs} ${page}.gz PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY ${made}/completions)
foreach(program ${nine_programs})
  nine_man_page(${program})
  add_custom_command(OUTPUT ${made}/completions/${program} COMMAND ${program} --completion bash > ${made}/completions/${program}
                     DEPENDS ${program} VERBATIM)
  list(APPEND outputs ${made}/completions/${program})
endforeach()
foreach(command learn apply undo vocab convert)
  nine_man_page(bpe ${command})
endforeach()

# Debian's own changelog, of one entry that leads to ours.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH where it is set
file(CONFIGURE OUTPUT ${made}/changelog CONTENT "nine (@PROJECT_VERSION@) unstable; urgency=medium

  * What changed: /usr/share/doc/nine/CHANGELOG.md.gz

 -- @NINE_MAINTAINER@  @date@
" @ONLY)
foreach(file ${made}/changelog ${PROJECT_SOURCE_DIR}/CHANGELOG.md)
  get_filename_component(name ${file} NAME)
  add_custom_command(OUTPUT ${made}/${name}.gz COMMAND gzip -9nc ${file} > ${made}/${name}.gz DEPENDS ${file} VERBATIM)
  list(APPEND outputs ${made}/${name}.gz)
  install(FILES ${made}/${name}.gz DESTINATION share/doc/nine)
endforeach()
add_custom_target(package_files ALL DEPENDS ${outputs})
install(FILES ${PROJECT_SOURCE_DIR}/cmake/copyright DESTINATION share/doc/nine)
install(DIRECTORY ${made}/man1 DESTINATION share/man)
install(DIRECTORY ${made}/completions DESTINATION share/bash-completion)
