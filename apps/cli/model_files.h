// The files of a trained model that a program must not write over.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/text_io.h"

namespace nine::app {

/// Adds to `inputs`, which check_outputs() protects, the files of the run or checkpoint in the
/// directory `path`, and those of the checkpoint that is opened by that name. `flag` names them in
/// errors.
void add_model_files(std::vector<NamedFile>& inputs, const char* flag, const std::string& path);

}  // namespace nine::app
