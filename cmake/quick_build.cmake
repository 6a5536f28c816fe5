# Quick builds: heavy headers are parsed once (precompiled), and small files of one folder are compiled together (unity).
# Only where speed of the result is not the matter: a file with numbers in its loops is compiled alone, so that its
# machine code, and with it the last bit of a sum, does not depend on its neighbours.
option(NINE_UNITY "Compile small files of a folder together (off: each alone, as clang-tidy wants it)" ON)

# nine_unity(TARGET BYTES FILES...): compiles FILES, all of one folder, in groups of about BYTES of source.
function(nine_unity target bytes)
  if(NOT NINE_UNITY)
    return()
  endif()
  set(group 0)
  set(sum 0)
  foreach(file ${ARGN})
    file(SIZE ${file} size)
    if(sum GREATER 0)
      math(EXPR with "${sum} + ${size}")
      if(with GREATER bytes)
        math(EXPR group "${group} + 1")
        set(sum 0)
      endif()
    endif()
    math(EXPR sum "${sum} + ${size}")
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(folder ${folder} NAME)
    set_source_files_properties(${file} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${folder}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
