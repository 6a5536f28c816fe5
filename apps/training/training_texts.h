// What is said of the texts of a training before it begins: files that are no texts, and texts that
// are one text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace nine::app {

/// Throws an Error that names the first file of a flag that begins like no text: a dictionary,
/// JSON, an n-best list, HTML or XML, or standard input, which training would read twice.
/// Pipes and devices are not looked at. Errors, too: those of reading the file's first lines.
void require_texts(std::string_view flag, const std::vector<std::string>& files);

/// Throws an Error for a text without a word: validation on blank lines would measure </s> alone.
/// `tokens` counts the </s> of each of the `sentences`.
void require_words(std::string_view flag, const std::vector<std::string>& files, int64_t tokens,
                   int64_t sentences);

/// Returns sentences about texts that are one text, under whatever names, and about the two sides
/// of a text that are one: figures on a text that was trained on, or that the best model was chosen
/// by, say little about others. `config`: of the options, with the files of each text. `identity`:
/// the checksums of RunInputs. Where a text has several files, each is compared too; that reads the
/// files once more.
std::vector<std::string> same_texts(const Json& config, const Json& identity);

}  // namespace nine::app
