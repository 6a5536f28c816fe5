# Quick builds (docs/architecture.md has the measurements): two levels of optimization, small files compiled together, the usual headers
# parsed once.
option(NINE_UNITY "Compile small files of a folder together; off: each alone, as clang-tidy needs it" ON)

# The level of most code: half the time of -O3. GCC makes FMAs of products and sums from -fexpensive-optimizations on, so that inline
# functions have the digits of -O3. A sanitizer's build has one level, and line numbers for its stacks.
set(CMAKE_CXX_FLAGS_RELEASE "-O1")
set(nine_loop_options "")
if(NINE_SANITIZE)
  string(APPEND CMAKE_CXX_FLAGS_RELEASE " -g1")
else()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    string(APPEND CMAKE_CXX_FLAGS_RELEASE " -fexpensive-optimizations")
  endif()
  set(nine_loop_options $<$<CONFIG:Release>:-O3>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A larger heap before the compiler collects its garbage: a tenth of its time.
  string(APPEND CMAKE_CXX_FLAGS_RELEASE " --param ggc-min-expand=400 --param ggc-min-heapsize=500000")
endif()
# The files with loops of arithmetic or of text: -O3. Each is compiled alone, so that its machine code, and with it the last bit of a sum,
# does not depend on its neighbours.
set(nine_loops "/cpu/" "core/(bf16_|crc32c|eigen_tile|gemm|half|packed_linear)"
               "kernels/(decoding/head_|options/(margin_correction|sampled_softmax))"
               "data/(bpe|lower_case|string_table|text|tokenize_13a|unicode|word_counts)"
               "data/tokenizers/(bpe_model|merge_table|piece_end|pipeline|pre_tokenizer|split_pattern|token_text|train_tokenizer|unigram_model)" "apps/report/(pca|tsne)")
list(JOIN nine_loops "|" nine_loops)
set(nine_group_bytes 96000)  # of source that is compiled together

# What most files include, and JSON, which most files of nn and the programs read or write.
set(nine_usual_headers <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <map> <memory> <optional> <span> <string>
                       <string_view> <type_traits> <utility> <vector>)
set(nine_json_headers <filesystem> <fstream> <nlohmann/json.hpp> <sstream> <variant>)

# nine_alone(FILE OPTIONS...): FILE, relative to the top folder, is compiled alone with OPTIONS added.
function(nine_alone file)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/${file} APPEND PROPERTY COMPILE_OPTIONS ${ARGN})
  set_source_files_properties(${PROJECT_SOURCE_DIR}/${file} PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# nine_precompile(TARGET HEADERS...) parses HEADERS once for all files of TARGET. nine_precompile(TARGET REUSE_FROM OTHER) uses those of
# OTHER, whose level of optimization has to be the same (GCC 12 crashes otherwise).
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

# nine_unity(TARGET FILES...) compiles these files of TARGET in groups of one folder.
function(nine_unity target)
  set(group 0)
  set(sum 0)
  set(last "")
  foreach(file ${ARGN})
    file(SIZE ${file} size)
    get_filename_component(folder ${file} DIRECTORY)
    math(EXPR sum "${sum} + ${size}")
    if(sum GREATER nine_group_bytes OR NOT folder STREQUAL last)
      math(EXPR group "${group} + 1")
      set(sum ${size})
      set(last ${folder})
    endif()
    get_filename_component(name ${folder} NAME)
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${name}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${NINE_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()

# nine_quick(TARGET), after all that is said of TARGET, whose files are whole paths: its loops become a target of their own, the other
# files are compiled in groups, and both have the usual headers parsed once.
function(nine_quick target)
  get_target_property(files ${target} SOURCES)
  list(SORT files)
  string(REGEX REPLACE "([][+.*()^$?|])" "\\\\\\1" root "${PROJECT_SOURCE_DIR}")  # it may have characters of expressions
  string(REGEX REPLACE "([][+.*()^$?|])" "\\\\\\1" build "${PROJECT_BINARY_DIR}")
  set(loops ${files})
  list(FILTER loops INCLUDE REGEX "^${root}/.*(${nine_loops}).*[.]cpp$")
  set(others ${files})
  list(FILTER others INCLUDE REGEX "^${root}/.*[.]cpp$")  # not generated, nor the objects of another target
  list(FILTER others EXCLUDE REGEX "^${build}/")
  list(REMOVE_ITEM others ${loops})
  nine_unity(${target} ${others})
  nine_precompile(${target} REUSE_FROM nine_headers)
  if(loops)
    list(REMOVE_ITEM files ${loops})
    set_target_properties(${target} PROPERTIES SOURCES "${files}")
    get_target_property(libraries ${target} LINK_LIBRARIES)
    add_library(${target}_loops OBJECT ${loops})
    target_link_libraries(${target}_loops PRIVATE ${libraries})
    target_include_directories(${target}_loops PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
    target_compile_options(${target}_loops PRIVATE ${nine_loop_options})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_loops>)
    nine_precompile(${target}_loops REUSE_FROM nine_loop_headers)
  endif()
endfunction()

# The precompiled headers of the two levels.
function(nine_add_headers)
  foreach(level headers loop_headers)
    add_library(nine_${level} OBJECT ${PROJECT_SOURCE_DIR}/cmake/headers.cpp)
    target_link_libraries(nine_${level} PRIVATE nlohmann_json::nlohmann_json nine_flags)
  endforeach()
  nine_precompile(nine_headers ${nine_usual_headers} ${nine_json_headers})
  target_compile_options(nine_loop_headers PRIVATE ${nine_loop_options})
  nine_precompile(nine_loop_headers ${nine_usual_headers})
endfunction()
