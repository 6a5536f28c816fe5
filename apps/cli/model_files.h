// The files of trained models: those that a program must not overwrite, and models that are the
// same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/text_io.h"

namespace nine::app {

/// Adds to `inputs`, which check_outputs() protects, the files of the run or checkpoint in the
/// directory `path`, and the files of the checkpoint that is opened by this name. Errors call these
/// files `flag`.
void add_model_files(std::vector<NamedFile>& inputs, const char* flag, const std::string& path);

/// Two models that are one, the earlier name first.
struct SameModels {
  std::string before, again;
};
/// Returns the first two of the models that are one: a directory under two names, or files of
/// weights or n-gram models that are equal byte by byte. A model that cannot be opened is left to
/// the code that opens it.
std::optional<SameModels> find_same_models(const std::vector<std::string>& models);

/// Throws a UsageError if two of the models are one: the model would count twice.
void refuse_same_models(const char* flag, const std::vector<std::string>& models);

}  // namespace nine::app
