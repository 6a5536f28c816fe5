# utf8proc (Debian: libutf8proc-dev): Unicode's normal forms, for tokenizers that normalise text. Without it such a tokenizer is an error.
find_path(UTF8PROC_INCLUDE utf8proc.h)
find_library(UTF8PROC_LIBRARY utf8proc)
mark_as_advanced(UTF8PROC_INCLUDE UTF8PROC_LIBRARY)
nine_alone(data/tokenizers/unicode_forms.cpp "")
if(UTF8PROC_INCLUDE AND UTF8PROC_LIBRARY)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/data/tokenizers/unicode_forms.cpp APPEND PROPERTY COMPILE_DEFINITIONS NINE_WITH_UTF8PROC)
  target_include_directories(nine_data_tokenizers SYSTEM PRIVATE ${UTF8PROC_INCLUDE})
  # An installed copy looks for it anew (NineConfig.cmake).
  target_link_libraries(nine_data_tokenizers PRIVATE $<BUILD_INTERFACE:${UTF8PROC_LIBRARY}> $<INSTALL_INTERFACE:Nine::utf8proc>)
  set(NINE_WITH_UTF8PROC ON)
else()
  message(STATUS "Tokenizers: no normal forms (utf8proc not found; Debian has it in libutf8proc-dev)")
endif()
