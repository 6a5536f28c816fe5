// Reads translation models that Marian trained (https://marian-nmt.github.io).
#pragma once

#include <filesystem>
#include <vector>

#include "nn/models/foreign_translation.h"

namespace nine {

/// Reads a model of the type `transformer` from its .npz. Settings are those of special:model.yml
/// in it, which fix the names and forms of the tensors:
///
///  - matrices are transposed, and queries, keys and values are three matrices;
///  - the decoder starts from zeros, so that the target's row of </s> is 0 and the head has a table
///    of its own;
///  - gelu is x sigmoid(1.702 x), which is silu after linear1 is multiplied by 1.702 and linear2
///    divided by it;
///  - positions are sinusoids with the exponents i / (d/2 - 1), or the table Wpos.
///
/// `vocabularies`: the .yml or .spm of source and target; empty: those that special:model.yml
/// names, beside the model. Marian has no <s> and no <pad>: a bias of -infinity excludes them.
/// Errors name the file: those of read_npz; a setting that Nine does not have; a tensor that is
/// missing or left over; a vocabulary of other words than the tensors have.
ForeignTranslation read_marian(const std::filesystem::path& file,
                               const std::vector<std::string>& vocabularies = {});

}  // namespace nine
