# Quick builds: heavy headers are parsed once (precompiled), and small files of one folder are compiled together (unity).
# What computes with floating point in its loops (core, cuda, autograd, kernels) is compiled file by file: its machine code, and
# with it the last bit of a sum, then does not depend on its neighbours.
option(NINE_UNITY "Compile small files of a folder together; off: each alone, as clang-tidy needs it" ON)

# nine_unity(TARGET BYTES [EXCEPT PATTERN]): compiles TARGET's files in groups, each of one folder and of at most about BYTES of
# source, but those whose path matches PATTERN.
function(nine_unity target bytes)
  if(NOT NINE_UNITY)
    return()
  endif()
  cmake_parse_arguments(arg "" EXCEPT "" ${ARGN})
  get_target_property(files ${target} SOURCES)
  list(FILTER files INCLUDE REGEX "[.]cpp$")  # not the objects of another target
  if(arg_EXCEPT)
    list(FILTER files EXCLUDE REGEX ${arg_EXCEPT})
  endif()
  list(SORT files)
  set(group 0)
  set(sum 0)
  set(last "")
  foreach(file ${files})
    file(SIZE ${file} size)
    get_filename_component(folder ${file} DIRECTORY)
    math(EXPR sum "${sum} + ${size}")
    if(sum GREATER bytes OR NOT folder STREQUAL last)
      math(EXPR group "${group} + 1")
      set(sum ${size})
      set(last ${folder})
    endif()
    get_filename_component(name ${folder} NAME)
    set_source_files_properties(${file} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${name}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# Parsed once for each target: what most files include, and JSON where most files read or write it.
set(nine_usual_headers <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <map> <memory> <optional> <span> <string>
                       <string_view> <type_traits> <utility> <vector>)
set(nine_json_headers <filesystem> <fstream> <nlohmann/json.hpp> <sstream> <variant>)

# nine_precompile(TARGET HEADERS...) parses HEADERS once for all files of TARGET; nine_precompile(TARGET REUSE_FROM OTHER) uses OTHER's, which has
# to be compiled at the same level of optimization (GCC 12 crashes otherwise).
function(nine_precompile target)
  if(ARGV1 STREQUAL "REUSE_FROM")
    target_precompile_headers(${target} ${ARGN})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The standard library silences false alarms of these two in its own headers (GCC bug 105651); precompiling loses that.
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
  endif()
endfunction()

# Code without loops of arithmetic (options, runs, logs, what calls ops): -O1 compiles it in two thirds of the time. Single sums keep their
# digits: GCC fuses products and sums (FMA) from -fexpensive-optimizations on.
if(NINE_SANITIZE)
  set(nine_light_flags "")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(nine_light_flags -O1 -fexpensive-optimizations)
else()
  set(nine_light_flags -O1)
endif()
function(nine_light_optimization target)
  target_compile_options(${target} PRIVATE ${nine_light_flags})
endfunction()
# nine_light_files(TARGET FILES...) compiles these files of TARGET so, as the object library TARGET_light.
function(nine_light_files target)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
  get_target_property(others ${target} SOURCES)
  list(REMOVE_ITEM others ${files})
  set_target_properties(${target} PROPERTIES SOURCES "${others}")
  add_library(${target}_light OBJECT ${files})
  get_target_property(libraries ${target} LINK_LIBRARIES)
  target_link_libraries(${target}_light PRIVATE ${libraries})
  target_include_directories(${target}_light PRIVATE ${PROJECT_SOURCE_DIR})
  nine_light_optimization(${target}_light)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_light>)
endfunction()
