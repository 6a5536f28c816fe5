# nine_flags: what every source of ours is compiled with.
add_library(nine_flags INTERFACE)
target_compile_options(nine_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor)
if(NINE_WERROR)
  target_compile_options(nine_flags INTERFACE -Werror)
endif()
# No errno and no trapping arithmetic: lets loops over exp, log and friends be vectorised. Results stay IEEE: no -ffast-math.
target_compile_options(nine_flags INTERFACE -march=${NINE_ARCH} -fno-math-errno -fno-trapping-math)

# The instruction sets that the build relies on, asked of the compiler itself, so that a program started on
# a CPU without them can say so (core/cpu_info.h).
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=${NINE_ARCH} -dM -E -x c++ /dev/null
                OUTPUT_VARIABLE nine_macros RESULT_VARIABLE nine_bad_arch ERROR_QUIET)
if(nine_bad_arch)
  message(FATAL_ERROR "NINE_ARCH=${NINE_ARCH}: ${CMAKE_CXX_COMPILER} knows no such -march; try native or x86-64-v3")
endif()
if(nine_macros MATCHES "__AVX512F__")
  # GCC 12 does not know Zen 4 and would keep to 256 bits on it.
  target_compile_options(nine_flags INTERFACE -mprefer-vector-width=512)
endif()
