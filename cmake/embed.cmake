# Text files built into a program, so that it reads nothing when it runs.
#
#   nine_embed(TARGET FILE CONSTANT HEADER)
#
# adds a generated source file to TARGET that defines the std::string_view CONSTANT, which HEADER declares in namespace nine::app or in the
# one that CONSTANT names, with FILE's bytes. FILE is relative to the current folder; changing it rebuilds.
if(CMAKE_SCRIPT_MODE_FILE)  # the command that writes the source file: cmake -D FILE= -D CONSTANT= -D HEADER= -D OUTPUT= -P embed.cmake
  file(READ "${FILE}" text)
  string(FIND "${text}" ")embedded\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${FILE} contains the characters that end a raw string here: )embedded\"")
  endif()
  if(NOT CONSTANT MATCHES ::)
    string(PREPEND CONSTANT nine::app::)
  endif()
  file(WRITE "${OUTPUT}" "// Generated from ${FILE} by cmake/embed.cmake.\n#include \"${HEADER}\"\n\n"
                         "constinit const std::string_view ${CONSTANT} = R\"embedded(${text})embedded\";\n")
  return()
endif()

set(nine_embed_script ${CMAKE_CURRENT_LIST_FILE})
function(nine_embed target file constant header)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded/${file}.cpp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -D FILE=${source} -D CONSTANT=${constant} -D HEADER=${header} -D OUTPUT=${output} -P ${nine_embed_script}
    DEPENDS ${source} ${nine_embed_script}
    COMMENT "Embedding ${file}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
