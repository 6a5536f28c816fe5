# The CUDA backend, where nvcc is found: nine_cuda and nine_kernels_cuda then have cuda/*.cu and kernels/cuda/*.cu instead of stubs.
# nvcc is called by custom commands, so that the project's language, linker and flags stay those of C++. The CUDA runtime is linked in,
# and cuBLAS is opened at the first product: one program runs on machines with a GPU and without.
option(NINE_CUDA "Build the CUDA backend when nvcc is found" ON)
set(NINE_CUDA_ARCHS "80;90" CACHE STRING "GPUs to build for; the last one also as PTX for later ones")
set(NINE_CUDA_PATHS "" CACHE STRING "Folders to look into for CUDA first, those of pip's wheels for example: .../site-packages/nvidia/cu13")
set(nine_least_cuda 12.0)  # cublasGemmEx_64

set(nine_no_cuda "nvcc, libcudart_static.a and cublas_v2.h are needed; NINE_CUDA=${NINE_CUDA}")
if(NINE_CUDA AND NOT NINE_SANITIZE)
  find_program(NINE_NVCC nvcc HINTS ${NINE_CUDA_PATHS} ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
endif()
if(NINE_NVCC AND NINE_CUDA AND NOT NINE_SANITIZE)
  execute_process(COMMAND ${NINE_NVCC} --version OUTPUT_VARIABLE nine_nvcc_version ERROR_QUIET)
  string(REGEX MATCH "release ([0-9.]+)" nine_nvcc_version "${nine_nvcc_version}")
  set(nine_nvcc_version "${CMAKE_MATCH_1}")
  get_filename_component(nine_nvcc_real "${NINE_NVCC}" REALPATH)
  get_filename_component(nine_cuda_home "${nine_nvcc_real}/../.." ABSOLUTE)
  # A toolkit of pip's wheels has no cuBLAS by itself: nvidia-cublas lies in the same folder, before CUDA 13 in one beside it.
  set(nine_cuda_hints ${NINE_CUDA_PATHS} ${nine_cuda_home})
  set(nine_cublas_hints ${nine_cuda_hints} ${nine_cuda_home}/../cublas)
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(Python3_FOUND)
    execute_process(COMMAND ${Python3_EXECUTABLE} -c "import nvidia; print(';'.join(nvidia.__path__), end='')"
                    OUTPUT_VARIABLE nine_wheels ERROR_QUIET)
    foreach(folder ${nine_wheels})
      string(REGEX MATCH "^[0-9]+" major "${nine_nvcc_version}")
      list(APPEND nine_cublas_hints ${folder}/cu${major} ${folder}/cublas)
    endforeach()
  endif()
  find_library(NINE_CUDART cudart_static HINTS ${nine_cuda_hints} ${nine_cuda_home}/../cuda_runtime PATHS /usr/local/cuda
               PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib)
  find_path(NINE_CUBLAS_HEADERS cublas_v2.h HINTS ${nine_cublas_hints} PATHS /usr/local/cuda PATH_SUFFIXES include targets/x86_64-linux/include)
  # Opened when it is needed: only where it lies is of interest.
  find_library(NINE_CUBLAS NAMES libcublas.so.13 libcublas.so.12 cublas HINTS ${nine_cublas_hints} PATHS /usr/local/cuda
               PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib)
  if(nine_nvcc_version VERSION_LESS nine_least_cuda)
    set(nine_no_cuda "${NINE_NVCC} is of CUDA ${nine_nvcc_version}, and ${nine_least_cuda} or newer is needed: set NINE_CUDA_PATHS or CUDA_HOME to one")
    message(WARNING "CUDA: ${nine_no_cuda}; -DNINE_CUDA=OFF builds without it and without this warning")
  elseif(NINE_CUDART AND NINE_CUBLAS_HEADERS)
    set(nine_no_cuda "")
  endif()
endif()
if(nine_no_cuda STREQUAL "")
  set(nine_has_cuda ON)
  # The host's part by the compiler of everything else, if nvcc takes it.
  execute_process(COMMAND ${NINE_NVCC} -ccbin ${CMAKE_CXX_COMPILER} -x cu -E /dev/null OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE nine_refused)
  set(nine_ccbin "")
  if(nine_refused EQUAL 0)
    set(nine_ccbin -ccbin ${CMAKE_CXX_COMPILER})
  endif()
  message(STATUS "CUDA: ${NINE_NVCC} (${nine_nvcc_version}), GPUs ${NINE_CUDA_ARCHS}, cuBLAS ${NINE_CUBLAS_HEADERS} and ${NINE_CUBLAS}")
  if(nine_ccbin STREQUAL "")
    message(STATUS "CUDA: nvcc does not take ${CMAKE_CXX_COMPILER} and uses a compiler of its own choice")
  endif()
else()
  set(nine_has_cuda OFF)
  message(STATUS "CUDA: not built (${nine_no_cuda})")
endif()

# Adds the objects of a folder's .cu files to its library: of cuda to nine_cuda, of kernels/cuda to nine_kernels_cuda.
function(nine_add_cuda_objects folder)
  string(REPLACE / _ library nine_${folder})
  set(codes "")
  foreach(arch ${NINE_CUDA_ARCHS})
    list(APPEND codes -gencode arch=compute_${arch},code=sm_${arch})
    set(last ${arch})
  endforeach()
  list(APPEND codes -gencode arch=compute_${last},code=compute_${last})
  # Where a program looks for libcublas that the system does not find.
  set(libraries "")
  foreach(file ${NINE_CUBLAS} ${NINE_CUDART})
    get_filename_component(there "${file}" DIRECTORY)
    list(APPEND libraries ${there})
  endforeach()
  list(REMOVE_DUPLICATES libraries)
  string(REPLACE ";" ":" libraries "${libraries}")
  # The host's part with the flags of core: an inline function must not have two forms in one program.
  set(flags -std=c++20 -O3 --expt-relaxed-constexpr -diag-suppress 1675 ${nine_ccbin} ${codes} -Xptxas -v -I${PROJECT_SOURCE_DIR}
            -I${NINE_CUBLAS_HEADERS} -Xcompiler -march=${NINE_ARCH},-fno-math-errno,-fno-trapping-math)
  if(NINE_WERROR)
    list(APPEND flags -Werror all-warnings)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cu)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${folder}/${name}.o)
    set(own "")
    if(name STREQUAL blas)
      set(own "-DNINE_CUDA_LIBRARIES=\"${libraries}\"")
    endif()
    add_custom_command(
      OUTPUT ${object} ${object}.ptxas
      COMMAND ${PROJECT_SOURCE_DIR}/cmake/nvcc.sh ${object}.ptxas ${CMAKE_CXX_COMPILER_LAUNCHER} ${NINE_NVCC} ${flags} ${own}
              -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source} ${PROJECT_SOURCE_DIR}/cmake/nvcc.sh DEPFILE ${object}.d COMMENT "Building CUDA object ${folder}/${name}.o" VERBATIM)
    target_sources(${library} PRIVATE ${object})
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${folder})
endfunction()
