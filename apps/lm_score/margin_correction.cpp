#include "apps/lm_score/margin_correction.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/error.h"
#include "core/json.h"
#include "nn/models/model_description.h"
#include "nn/models/model_directory.h"

namespace nine::app {

double margin_to_undo(const std::string& checkpoint) {
  const auto directory = model_directory(checkpoint, kDictionaryFile);
  const Json config = model_config(directory);
  const HeadConfig head = head_settings_of(config, true).head_config();
  const Margin& margin = head.loss.margin;
  require(config.contains("margin") && margin.kind == Margin::Kind::cos && margin.size > 0,
          "--margin-correction undoes a margin cos:M of training, but ", checkpoint,
          config.contains("margin") ? concat(" was trained with the margin ", to_text(margin))
                                    : " has no config.json that names a margin",
          "; leave it out");
  require(!head.spec.mixture, "--margin-correction is exact for a single lin, but ", checkpoint,
          " has the mixture ", head.spec.to_text(), "; leave it out");
  const double smoothing = head.loss.smoothing.epsilon;
  require(smoothing == 0, "--margin-correction is for training without label smoothing, but ",
          checkpoint, " was trained with ", smoothing, "; leave it out");
  require(head.bias, "--margin-correction needs a head with a bias, but ", checkpoint,
          " has a head without a bias; leave it out");
  const auto& [word, context] = std::tie(head.norms.word, head.norms.context);
  require(!head.spec.contexts || context,
          "--margin-correction cannot use the unknown norms of the contexts tanh of ", checkpoint,
          "; leave it out");
  const bool learned = !word || word.through || !context || context.through;
  if (learned)
    std::fprintf(stderr,
                 "warning: the correction is exact only if the norms F and G are not learned; this "
                 "model learned %s\n",
                 !word || word.through ? "F, the norms of words (--word-norm)"
                                       : "G, the norms of contexts (--context-norm)");
  return margin.size;
}

}  // namespace nine::app
