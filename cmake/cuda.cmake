# The CUDA backend, where nvcc is found: nine_cuda and nine_kernels_cuda then have cuda/*.cu and kernels/cuda/*.cu instead of stubs.
# nvcc is called by custom commands, so that the project's language, linker and flags stay those of C++. The CUDA runtime is linked in,
# and cuBLAS is opened at the first product: one program runs on machines with a GPU and without.
option(NINE_CUDA "Build the CUDA backend when nvcc is found" ON)
set(NINE_CUDA_ARCHS "80;90" CACHE STRING "GPUs to build for; the last one also as PTX for later ones")

if(NINE_CUDA AND NOT NINE_SANITIZE)
  find_program(NINE_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  if(NINE_NVCC)
    get_filename_component(nine_nvcc_real "${NINE_NVCC}" REALPATH)
    get_filename_component(nine_cuda_home "${nine_nvcc_real}/../.." ABSOLUTE)
    find_library(NINE_CUDART cudart_static HINTS ${nine_cuda_home} PATHS /usr/local/cuda PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib)
    find_path(NINE_CUBLAS_HEADERS cublas_v2.h HINTS ${nine_cuda_home} PATHS /usr/local/cuda PATH_SUFFIXES include targets/x86_64-linux/include)
  endif()
endif()
if(NINE_NVCC AND NINE_CUDART AND NINE_CUBLAS_HEADERS AND NINE_CUDA AND NOT NINE_SANITIZE)
  set(nine_has_cuda ON)
  message(STATUS "CUDA: ${NINE_NVCC}, GPUs ${NINE_CUDA_ARCHS}")
else()
  set(nine_has_cuda OFF)
  message(STATUS "CUDA: not built (nvcc, libcudart_static.a and cublas_v2.h are needed; NINE_CUDA=${NINE_CUDA})")
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
  get_filename_component(libraries "${NINE_CUDART}" DIRECTORY)
  # The host's part with the flags of core: an inline function must not have two forms in one program.
  set(flags -std=c++20 -O3 --expt-relaxed-constexpr -diag-suppress 1675 ${codes} -I${PROJECT_SOURCE_DIR} -I${NINE_CUBLAS_HEADERS}
            "-DNINE_CUDA_LIBRARIES=\"${libraries}\"" -Xcompiler -march=${NINE_ARCH},-fno-math-errno,-fno-trapping-math)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cu)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${folder}/${name}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${NINE_NVCC} ${flags} -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d COMMENT "Building CUDA object ${folder}/${name}.o" VERBATIM)
    target_sources(${library} PRIVATE ${object})
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${folder})
endfunction()
