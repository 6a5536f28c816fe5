// Reads translation models that fairseq trained (https://github.com/facebookresearch/fairseq).
#pragma once

#include <filesystem>

#include "nn/models/foreign_translation.h"

namespace nine {

/// The file that experiments/baselines/fairseq_checkpoint.py writes beside a model's tensors: the
/// arguments of the model.
inline constexpr const char* kFairseqFile = "fairseq.json";

/// Reads a directory that experiments/baselines/fairseq_checkpoint.py wrote: a `transformer` with
/// fairseq's names in model.safetensors, fairseq.json, src.dict.txt and tgt.dict.txt. fairseq's
/// special words are Nine's. Its positions begin at <pad> + 1, and its sinusoids are
/// spread_sinusoids. Errors name fairseq.json: an argument that Nine does not have; a tensor that
/// is missing or left over.
ForeignTranslation read_fairseq(const std::filesystem::path& directory);

}  // namespace nine
