# Code for CPUs that are newer than NINE_ARCH (core/instruction_set.h). The files that compute, those of core/cpu/ and of every cpu/ in kernels/, are
# compiled once more for each instruction set, in a namespace of its name. What they include, vmath and the standard library's templates, is thereby
# compiled for newer CPUs too, and a linker that finds an inline function in several files keeps any one of them. So the objects of one
# instruction set are linked into one, in which every symbol is local but the functions that fill tables with the others: nothing of it
# can take the place of code that has to run on an older CPU, and it shares no inline function with the rest of the program.
# tests/core/instruction_sets.sh looks at the symbols.
set(nine_can_dispatch OFF)
if(NINE_ARCH STREQUAL "x86-64-v3" AND nine_base_isa STREQUAL "avx2" AND NOT NINE_SANITIZE STREQUAL thread AND NOT NINE_FUZZ)
  set(nine_can_dispatch ON)  # a fuzzer's objects register themselves when the program starts
endif()
set(NINE_DISPATCH AUTO CACHE STRING "Code for AVX-512 and AMX, chosen when a program starts (where NINE_ARCH is x86-64-v3): AUTO where this CPU has AVX-512, ON everywhere, OFF")
set_property(CACHE NINE_DISPATCH PROPERTY STRINGS AUTO ON OFF)
set(nine_cpu "")  # what this CPU has, in Linux's words
if(EXISTS /proc/cpuinfo)
  file(STRINGS /proc/cpuinfo nine_cpu REGEX "^flags" LIMIT_COUNT 1)
endif()
set(nine_dispatches OFF)
if(NINE_DISPATCH AND (NOT NINE_DISPATCH STREQUAL "AUTO" OR nine_cpu MATCHES avx512vl))
  set(nine_dispatches ${nine_can_dispatch})
endif()
if(nine_dispatches)
  target_compile_definitions(nine_flags INTERFACE NINE_DISPATCH)
endif()

# What computes, but for the tables that choose and what has loops of its own (head_loops.cpp, once for each list of kernels).
file(GLOB nine_core_loops CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} core/cpu/*.cpp)
list(REMOVE_ITEM nine_core_loops core/cpu/table.cpp)
file(GLOB nine_avx512_bf16_loops CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} core/cpu/avx512_bf16/*.cpp)
file(GLOB nine_amx_loops CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} core/cpu/amx/*.cpp)
file(GLOB nine_head_ops CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} kernels/cpu/*.cpp kernels/*/cpu/*.cpp)
list(REMOVE_ITEM nine_head_ops kernels/cpu/table.cpp kernels/scores/cpu/choose_head_loops.cpp kernels/scores/cpu/head_loops.cpp)

set(nine_avx512_flags -march=x86-64-v4 -mprefer-vector-width=512)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND nine_avx512_flags -fno-gnu-unique)  # such symbols cannot be made local
  if(NINE_SANITIZE)
    list(APPEND nine_avx512_flags "SHELL:--param asan-globals=0")  # they would be registered by the names that are made local
  endif()
endif()

set(nine_avx512_bf16_flags ${nine_avx512_flags} -mavx512bf16)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND nine_avx512_bf16_flags -Wno-uninitialized -Wno-maybe-uninitialized)  # GCC bug 105593, in its own intrinsics
endif()
set(nine_amx_flags ${nine_avx512_bf16_flags} -mamx-tile -mamx-bf16)

# nine_instruction_set_objects(TARGET NAME ISA FILES...): adds FILES, compiled for a newer instruction set, to TARGET as one object.
# The functions install() of those files stay visible.
function(nine_instruction_set_objects target name isa)
  if(NOT nine_dispatches)
    return()
  endif()
  get_target_property(libraries ${target} LINK_LIBRARIES)
  set(objects nine_${name}_${isa})
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
  add_library(${objects} OBJECT ${files})
  target_include_directories(${objects} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  target_link_libraries(${objects} PRIVATE ${libraries})
  target_compile_options(${objects} PRIVATE ${nine_loop_options} ${nine_${isa}_flags})
  target_compile_definitions(${objects} PRIVATE NINE_ISA=${isa})
  set_target_properties(${objects} PROPERTIES NINE_ISA ${isa})
  set(linked ${CMAKE_CURRENT_BINARY_DIR}/${objects}.o)
  add_custom_command(OUTPUT ${linked}
    COMMAND ${CMAKE_CXX_COMPILER} -r -nostdlib -Wl,--force-group-allocation -o ${linked}.all $<TARGET_OBJECTS:${objects}>
    COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=_ZN4nine3cpu*7installE* ${linked}.all ${linked}
    COMMAND ${CMAKE_COMMAND} -E rm ${linked}.all
    DEPENDS ${objects} $<TARGET_OBJECTS:${objects}> COMMAND_EXPAND_LISTS VERBATIM)
  set_source_files_properties(${linked} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(${target} PRIVATE ${linked})
endfunction()
