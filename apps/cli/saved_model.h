// The files of a trained model that a program must not write over.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/text_io.h"

namespace nine::app {

/// Adds the files of a run, or of a model, and of a run's best checkpoint to check_outputs()'s
/// inputs: a program that reads them must not write over them.
void add_model_files(std::vector<NamedFile>& inputs, const char* flag, const std::string& path);

}  // namespace nine::app
