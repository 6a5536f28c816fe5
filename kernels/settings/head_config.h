// The configuration of an output layer, in one structure: models hold it, training options and
// kernel_inspect fill it in, and the JSON description of a head is made from it. A new option
// of the head is a member here (and one of HeadSettings), its lines in head_config.cpp, and the
// code that uses it: flags and files read the table head_settings().
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/enum_names.h"
#include "kernels/options/head_norms.h"
#include "kernels/options/margin.h"
#include "kernels/options/regularisers.h"
#include "kernels/options/sampled_softmax.h"
#include "kernels/options/smoothing.h"
#include "kernels/settings/head.h"

namespace nine {

namespace ops {
struct HeadBlockOptions;
}

/// Chooses which products of contexts and word vectors a training step keeps for the gradients. N
/// contexts, V words, K components, vectors of d numbers.
enum class HeadMemory : uint8_t {
  /// Keeps the products of one block of contexts with the whole vocabulary: 6NVd operations in a
  /// step, memory for head_block_rows() x K x V numbers.
  blocks,
  /// Keeps no products, and computes all products twice: 8NVd operations, memory for O(N K + V d)
  /// numbers.
  tiles
};
template <>
inline constexpr EnumNames<HeadMemory, 2> kEnumNames<HeadMemory>{
    "head memory", {{{HeadMemory::blocks, "blocks"}, {HeadMemory::tiles, "tiles"}}}};

/// The parts of the loss besides the likelihood, and the memory that the loss may take.
struct HeadLoss {
  LabelSmoothing smoothing = {};
  PriorRegulariser prior = {};  ///< on a mixture's prior
  HeadMemory memory = HeadMemory::blocks;
  Margin margin = {};  ///< on the targets' scores; inner products only
  /// Adds z_loss * (log of the sum of exponentials of the scores)^2 to each row's loss, so that the
  /// scores' normalisers stay near 1. A mixture adds the mean of its components' terms.
  double z_loss = 0;
  /// Training leaves tiles of dL/dz out of the products for dW and dH if every |dL/dz| in the tile,
  /// of a row's own loss, is below this limit; 0: none (docs/heads.md, section 8).
  double skip = 0;
  /// Contexts in a block, whole panels (ops::kHeadPanel); 0: head_block_rows(). Another number
  /// changes the last bits of gradients.
  int64_t block_rows = 0;

  /// Returns the options as the loops over a vocabulary of `words` words take them; no installed
  /// header defines this type. Errors: epsilon outside of [0, 1]; LabelSmoothing::Kind::others with
  /// one word; a z_loss or skip that is negative or not finite.
  ops::HeadBlockOptions for_block(int64_t words) const;
};

/// Describes an output layer. Its sizes (words, width of a context) belong to the model.
struct HeadConfig {
  HeadSpec spec = {};             ///< score functions, mixture, contexts, untied word vectors
  bool bias = false;              ///< one bias for each word
  HeadLoss loss = {};             ///< smoothing, margin and regularisation count in training only
  NormRegulariser norm_reg = {};  ///< on the norms of the word vectors, in training
  NormOptions norms = {};         ///< norms that replace those of the vectors; inner products only
  SampledSoftmax sampled = {};    ///< in training only: the softmax over some words

  /// Returns a warning for each setting that is valid but probably not meant: a margin that rewards
  /// large angles, words that log-unigram gives the norm 0. counts: of each word in the training
  /// targets.
  std::vector<std::string> warnings(std::span<const int64_t> counts) const;
};

/// The settings of a HeadConfig as texts and numbers, as in flags and configuration files.
struct HeadSettings {
  std::string head = "lin";            ///< a head string, see parse_head
  std::string variance;                ///< HeadDefaults::variance
  std::string ball;                    ///< HeadDefaults::ball
  std::string head_context;            ///< HeadDefaults::head_context
  bool untied = false;                 ///< HeadSpec::untied
  bool head_bias = true;               ///< HeadConfig::bias
  double label_smoothing = 0;          ///< LabelSmoothing::epsilon
  std::string smoothing = "uniform";   ///< LabelSmoothing::kind
  double z_loss = 0;                   ///< HeadLoss::z_loss
  double head_skip = 0;                ///< HeadLoss::skip
  int64_t block_rows = 0;              ///< HeadLoss::block_rows; no flag
  std::string pi_reg;                  ///< see prior_regulariser_from_text
  std::string weight_norm_reg;         ///< see norm_regulariser_from_text
  std::string head_memory = "blocks";  ///< HeadMemory
  std::string margin = "none";         ///< see margin_from_text
  std::string word_norm = "none";      ///< see word_norm_from_text
  std::string context_norm = "none";   ///< see context_norm_from_text
  std::string sampled_softmax;         ///< see sampled_softmax_from_text

  /// Returns the head that `head` and the settings beside it describe. UsageError: a wrong head.
  HeadSpec head_spec() const;
  /// Returns the whole configuration. UsageError: a wrong setting.
  HeadConfig head_config() const;
};

/// Says whether a trained model depends on a setting, and where the files of the model show the
/// setting.
enum class SettingUse : uint8_t {
  training,  ///< used in training only; the model does not depend on it
  written,   ///< part of the model; HeadSpec::to_text() contains it
  tensors,   ///< part of the model; the tensors show it
  decoding   ///< part of the model; it has a key of its own in the model's files
};

/// A member of HeadSettings, for code that reads settings by name: trainers' flags, kernel_inspect,
/// files of models.
struct HeadSetting {
  const char* name;  ///< key in configuration files; the flag has dashes for underscores
  std::variant<bool HeadSettings::*, double HeadSettings::*, std::string HeadSettings::*> member;
  std::string help;        ///< text of the help, without a full stop
  const char* words = "";  ///< its name in error messages; empty: no message mentions it
  SettingUse use = SettingUse::training;
  bool inner_products = false;  ///< true: unless the value is "none", all components must be lin
  const char* example = "";     ///< an example of a value, for settings of inner products
  /// Returns the setting's value in a HeadConfig; null: the head string contains it.
  std::variant<bool, double, std::string> (*value)(const HeadConfig& config) = nullptr;
  /// True: an option of the loss in training, which the trainers list under Regularisation. False:
  /// an option of the layer, which they list under Model.
  bool regularises = false;
  std::vector<std::string> choices = {};  ///< the only texts allowed; empty: any
  /// Throws an Error that says what is wrong with a text; may be null.
  void (*check)(const std::string& text) = nullptr;
  double low = -std::numeric_limits<double>::infinity();  ///< bounds of a number, inclusive
  double high = std::numeric_limits<double>::infinity();
  /// True if the setting has an effect, given the other settings; null: it always has. `needs` says
  /// in words what the effect requires.
  bool (*has_effect)(const HeadSettings& settings) = nullptr;
  const char* needs = "";
  const char* unit = "";          ///< placeholder of a value in the help
  const char* default_text = "";  ///< the default in words, if the member's value does not explain
                                  ///< it

  /// Sets the member from a text such as "true", "0.1" or "tanh". Error: what is wrong with it.
  void set(HeadSettings& settings, const std::string& text) const;
  /// Returns the member as a text that set() reads.
  std::string text(const HeadSettings& settings) const;
  /// True if the member differs from its default.
  bool is_given(const HeadSettings& settings) const;
};
/// Returns every member of HeadSettings, in the order of help pages.
std::span<const HeadSetting> head_settings();
/// Returns the settings that need a head of lin alone (inner_products): the margin, then the norms.
std::vector<const HeadSetting*> inner_product_settings();

}  // namespace nine
