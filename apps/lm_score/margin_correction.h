// lm_score --margin-correction: the margin to undo, and whether it can be undone.
#pragma once

#include <string>

namespace nine::app {

/// The size of the cosine margin that the checkpoint's model was trained with. Prints a warning
/// where the correction is not exact, because gradients reached F or G. Error: another margin or
/// none, a mixture, label smoothing, no bias, no config.json.
double margin_to_undo(const std::string& checkpoint);

}  // namespace nine::app
