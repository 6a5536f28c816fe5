// lm_score --margin-correction: the margin to undo, and whether it can be undone.
#pragma once

#include <string>

namespace nine::app {

/// Returns the size of the cosine margin with which the checkpoint's model was trained. Prints a
/// warning if the correction is not exact, because F or G were learned. Errors: another margin or
/// no margin; a mixture; label smoothing; no bias; no config.json.
double margin_to_undo(const std::string& checkpoint);

}  // namespace nine::app
