// The files of a trained model that a program must not overwrite.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/text_io.h"

namespace nine::app {

/// Adds to `inputs`, which check_outputs() protects, the files of the run or checkpoint in the
/// directory `path`, and the files of the checkpoint that is opened by this name. Errors call these
/// files `flag`.
void add_model_files(std::vector<NamedFile>& inputs, const char* flag, const std::string& path);

}  // namespace nine::app
