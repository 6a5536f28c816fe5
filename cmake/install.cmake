# cmake --install BUILD --prefix PREFIX lays out
#   bin/                    the programs
#   lib/libnine_*.a         one library a folder, evaluation, and pages and inspect of apps/
#   include/nine/FOLDER/    the public headers (public_headers.cmake); programs include them as here: #include "core/tensor.h"
#   lib/nine/               with CUDA: its runtime, which nine_cuda links
#   lib/cmake/Nine/         for find_package(Nine): targets Nine::nine (all), Nine::core, Nine::autograd, ...
# --component library leaves out the programs; the target `library` builds the rest.
include(CMakePackageConfigHelpers)
set(nine_libraries core cuda autograd kernels kernels_cuda data data_tokenizers nn evaluation pages inspect)
set(nine_package lib/cmake/Nine)

add_custom_target(library)
foreach(name ${nine_libraries})
  install(TARGETS nine_${name} EXPORT NineTargets ARCHIVE DESTINATION lib COMPONENT library)
  add_dependencies(library nine_${name})
endforeach()
include(cmake/public_headers.cmake)
foreach(header ${nine_public_headers} ${nine_inspect_headers})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION include/nine/${folder} COMPONENT library)
endforeach()
install(TARGETS nine EXPORT NineTargets COMPONENT library)

if(nine_has_cuda)
  get_filename_component(nine_cudart_real "${NINE_CUDART}" REALPATH)
  install(FILES ${nine_cudart_real} DESTINATION lib/nine RENAME libcudart_static.a COMPONENT library)
endif()
install(EXPORT NineTargets NAMESPACE Nine:: DESTINATION ${nine_package} COMPONENT library)
configure_package_config_file(cmake/NineConfig.cmake.in ${PROJECT_BINARY_DIR}/NineConfig.cmake INSTALL_DESTINATION ${nine_package}
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/NineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/NineConfig.cmake ${PROJECT_BINARY_DIR}/NineConfigVersion.cmake cmake/FindPCRE2.cmake
        DESTINATION ${nine_package} COMPONENT library)
