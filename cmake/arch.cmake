# nine_flags: what every source of ours is compiled with.
add_library(nine_flags INTERFACE)
target_compile_options(nine_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(nine_flags INTERFACE -Wno-restrict)  # GCC bug 105651: false alarms in std::string's operator+
endif()
target_compile_options(nine_flags INTERFACE -Wno-missing-field-initializers)  # designated initialisers leave defaults on purpose
if(NINE_WERROR)
  target_compile_options(nine_flags INTERFACE -Werror)
endif()
target_compile_definitions(nine_flags INTERFACE EIGEN_DONT_PARALLELIZE)  # core/threads.h shares out the work
# No errno and no trapping arithmetic: lets loops over exp, log and friends be vectorised. Results stay IEEE: no -ffast-math.
target_compile_options(nine_flags INTERFACE -fno-math-errno -fno-trapping-math)
# The property NINE_ISA is set on targets that are compiled for a newer CPU (instruction_sets.cmake).
target_compile_options(nine_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:NINE_ISA>,>:-march=${NINE_ARCH}>)

# The instructions that the build uses everywhere, as the compiler itself defines them, so that a program
# started on a CPU without them can report it (core/instruction_set.h).
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=${NINE_ARCH} -dM -E -x c++ /dev/null
                OUTPUT_VARIABLE nine_macros RESULT_VARIABLE nine_bad_arch ERROR_QUIET)
if(nine_bad_arch)
  message(FATAL_ERROR "NINE_ARCH=${NINE_ARCH}: ${CMAKE_CXX_COMPILER} has no such -march; try native or x86-64-v3")
endif()
if(nine_macros MATCHES "__AVX512VL__")
  set(nine_base_isa avx512)
  # GCC 12 does not know Zen 4 and would keep to 256 bits on it.
  target_compile_options(nine_flags INTERFACE -mprefer-vector-width=512)
elseif(nine_macros MATCHES "__AVX2__" AND nine_macros MATCHES "__FMA__")
  set(nine_base_isa avx2)
else()
  set(nine_base_isa generic)
endif()
set(nine_arch_name ${NINE_ARCH})
if(NINE_ARCH STREQUAL native)
  set(nine_arch_name ${CMAKE_SYSTEM_PROCESSOR})
endif()
if(NINE_SANITIZE STREQUAL "address")
  set(nine_sanitizers -fsanitize=address,undefined)
  # Undefined behaviour traps, and AddressSanitizer says at which line (`make sanitize` asks it to). Without the texts of each check the code
  # is half as large, and compiles in a sixth less time.
  add_compile_options(-fsanitize-undefined-trap-on-error)
elseif(NINE_SANITIZE STREQUAL "thread")
  set(nine_sanitizers -fsanitize=thread)
elseif(NINE_SANITIZE)
  message(FATAL_ERROR "NINE_SANITIZE=${NINE_SANITIZE}: give address or thread")
endif()
if(NINE_SANITIZE)
  # Programs that link our libraries need the runtimes too, hence options for the whole tree.
  add_compile_options(${nine_sanitizers} -fno-omit-frame-pointer)
  add_link_options(${nine_sanitizers})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(nine_flags INTERFACE -Wno-maybe-uninitialized)  # false alarms in <regex>: GCC's manual warns of them here
  endif()
endif()

set(nine_built_for "")
foreach(pair sse4.2=__SSE4_2__ avx=__AVX__ avx2=__AVX2__ fma=__FMA__ f16c=__F16C__ bmi2=__BMI2__ avx512f=__AVX512F__ avx512bw=__AVX512BW__
             avx512cd=__AVX512CD__ avx512dq=__AVX512DQ__ avx512vl=__AVX512VL__ avx512vbmi=__AVX512VBMI__ avx512bf16=__AVX512BF16__)
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 name)
  list(GET pair 1 macro)
  if(nine_macros MATCHES "${macro} ")
    list(APPEND nine_built_for ${name})
  endif()
endforeach()
list(JOIN nine_built_for " " nine_built_for)
