// All that is chosen about an output layer, in one structure: models hold it, training options and
// kernel_inspect fill it in, and what is written about a head in JSON comes from it. A new option
// of the head is a member here (and one of HeadSettings), a line each in head_config.cpp, its flag
// in apps/training/train_options.cpp, and the code that uses it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/enum_names.h"
#include "kernels/head.h"
#include "kernels/regularisers.h"
#include "kernels/smoothing.h"

namespace nine {

/// How the scores of a training step are held.
enum class HeadMemory : uint8_t {
  blocks,  ///< a block of rows against the whole vocabulary is kept for the gradients: 6NVd
           ///< operations, head_block_rows() x K x V numbers
  tiles    ///< nothing is kept, scores are computed again for the gradients: 8NVd operations,
           ///< O(N K + V d) numbers
};
template <>
inline constexpr EnumNames<HeadMemory, 2> kEnumNames<HeadMemory>{
    "head memory", {{{HeadMemory::blocks, "blocks"}, {HeadMemory::tiles, "tiles"}}}};

/// What the loss consists of besides the likelihood, and how it is computed.
struct HeadLoss {
  LabelSmoothing smoothing = {};
  PriorRegulariser prior = {};  ///< on a mixture's prior
  HeadMemory memory = HeadMemory::blocks;
};

/// An output layer. Its sizes (words, width of a context) belong to the model.
struct HeadConfig {
  HeadSpec spec = {};             ///< score functions, mixture, contexts, untied word vectors
  bool bias = false;              ///< one bias for each word
  HeadLoss loss = {};             ///< smoothing and regularisation count in training only
  NormRegulariser norm_reg = {};  ///< on the norms of the word vectors, in training
};

/// The same as texts and numbers, as flags and configuration files give it.
struct HeadSettings {
  std::string head = "lin";  ///< docs/heads.md
  std::string variance;      ///< see HeadDefaults, as the next two
  std::string ball;
  std::string head_context;
  bool untied = false;
  bool head_bias = true;
  double label_smoothing = 0;         ///< LabelSmoothing::epsilon
  std::string smoothing = "uniform";  ///< LabelSmoothing::kind
  std::string pi_reg;                 ///< see prior_regulariser_from_text
  std::string weight_norm_reg;        ///< see norm_regulariser_from_text
  std::string head_memory = "blocks";

  /// `head` with what the settings beside it fill in; UsageError.
  HeadSpec head_spec() const;
  /// All of it; UsageError.
  HeadConfig head_config() const;
};

/// A configuration with everything resolved, under the names of HeadSettings.
nlohmann::ordered_json to_json(const HeadConfig& config);

}  // namespace nine
