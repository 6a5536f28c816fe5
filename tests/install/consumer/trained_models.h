// What lm_score and mt_translate print, from the library alone.
#pragma once

#include <string>

/// `lm_score --checkpoint DIR --input FILE`, with `--tokens` or `--generate --seed 5` where asked.
void print_scores(const std::string& directory, const std::string& file, bool tokens);
void print_continuations(const std::string& directory, const std::string& file);
/// `lm_score --checkpoint DIR --input FILE --top COUNT`.
void print_top_words(const std::string& directory, const std::string& file, int count);
/// `mt_translate --checkpoint DIR --input FILE`.
void print_translations(const std::string& directory, const std::string& file);
/// `mt_translate --checkpoint DIR --input SOURCES --score-given TARGETS`.
void print_translation_scores(const std::string& directory, const std::string& sources,
                              const std::string& targets);
