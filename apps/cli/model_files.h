// The files of trained models: those that a program must not overwrite, and models that are one.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/text_io.h"

namespace nine::app {

/// Adds to `inputs`, which check_outputs() protects, the files of the run or checkpoint in the
/// directory `path`, and the files of the checkpoint that is opened by this name. Errors call these
/// files `flag`.
void add_model_files(std::vector<NamedFile>& inputs, const char* flag, const std::string& path);

/// Throws a UsageError if two of the models are one: the model would count twice.
void refuse_same_models(const char* flag, const std::vector<std::string>& models);

}  // namespace nine::app
