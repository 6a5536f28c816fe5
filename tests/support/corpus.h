// Real text for tests: files of the folder that the environment variable DATA names.
#pragma once

#include <string>

namespace nine::tests {

/// The path of DATA/`name` (experiments/data.md says what lies there), such as
/// "captions/train.en". Empty when DATA is unset or the file is missing, with a message that the
/// caller is skipped.
std::string corpus_file(const std::string& name);

}  // namespace nine::tests
