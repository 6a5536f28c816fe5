#include "nn/models/word_mixture.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <numbers>

#include "core/error.h"
#include "core/interrupt.h"
#include "data/corpus.h"
#include "data/ngram_model.h"
#include "data/text.h"
#include "nn/models/model_directory.h"
#include "nn/models/score_text.h"
#include "nn/models/shared_beginnings.h"

namespace nine {
namespace {

using LineProgress = std::function<void(int64_t, int64_t)>;

// One model's scores of all tokens, and which of them it knows.
struct Part {
  std::vector<double> log_p;
  std::vector<bool> known;
};

Part score_ngrams(const std::string& path, std::span<const std::string> lines,
                  const LineProgress& progress, int64_t all) {
  const NGramModel model = NGramModel::read(path);
  Part part;
  part.log_p.reserve(static_cast<size_t>(all));
  for (const std::string& line : lines) {
    check_interrupt();
    NGramModel::State state = model.sentence_begin();
    for_each_word(line, [&](std::string_view word) {
      const int32_t id = model.find(word);
      const bool known = id != NGramModel::kNone && id != model.unknown();
      part.known.push_back(known);
      part.log_p.push_back(model.advance(state, known ? id : model.unknown()) * std::numbers::ln10);
    });
    part.known.push_back(true);
    part.log_p.push_back(model.advance(state, model.end()) * std::numbers::ln10);
    if (progress) progress(std::ssize(part.log_p), all);
  }
  return part;
}

Part score_words(const std::string& path, std::span<const std::string> lines,
                 const ScoringOptions& options, Device device, const LineProgress& progress) {
  const LanguageModel model = LanguageModel::load(path, device);
  const Corpus text = corpus_of(model, lines, options.carry_state);
  Part part;
  for (const int32_t id : text.flat()) part.known.push_back(id != model.unknown());
  score_shared_beginnings(
      model, text, options,
      [&](std::span<const double> nats) {
        for (const double n : nats) part.log_p.push_back(-n);
      },
      [&](int64_t done) {
        if (progress) progress(done, text.tokens());
      });
  return part;
}

}  // namespace

bool is_ngram_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) && !std::filesystem::is_directory(path, ignored);
}

MixtureScores score_mixture(const std::vector<std::string>& models,
                            std::span<const std::string> lines, const MixtureScoring& how,
                            const std::function<void(size_t, int64_t, int64_t)>& progress) {
  require(!models.empty(), "[score_mixture] there is no model to score with");
  require(how.undo_margin.empty() || how.undo_margin.size() == models.size(), "[score_mixture] ",
          how.undo_margin.size(), " margins for ", models.size(), " models");
  // Throws for a wrong name now, not after the work of the models before it.
  for (const std::string& model : models) {
    if (is_ngram_file(model)) continue;
    model_directory(model, kDictionaryFile);
    require(!reads_raw_text(model), model,
            " reads raw text: its tokens are parts of words, and a mixture adds the probabilities "
            "of words");
  }
  MixtureScores scores;
  for (const std::string& line : lines) {
    size_t words = 1;
    for_each_word(line, [&](std::string_view) { ++words; });
    scores.ends.push_back((scores.ends.empty() ? 0 : scores.ends.back()) + words);
  }
  const size_t tokens = scores.ends.empty() ? 0 : scores.ends.back();
  std::vector<std::vector<bool>> known;
  for (size_t m = 0; m < models.size(); ++m) {
    LineProgress own;
    if (progress) own = [&, m](int64_t done, int64_t all) { progress(m, done, all); };
    ScoringOptions options = how.options;
    if (!how.undo_margin.empty()) options.undo_margin = how.undo_margin[m];
    Part part = is_ngram_file(models[m])
                    ? score_ngrams(models[m], lines, own, static_cast<int64_t>(tokens))
                    : score_words(models[m], lines, options, how.device, own);
    require(part.log_p.size() == tokens && part.known.size() == tokens, "[score_mixture] ",
            models[m], " has ", part.log_p.size(), " scores for ", tokens, " tokens");
    scores.log_p.push_back(std::move(part.log_p));
    known.push_back(std::move(part.known));
  }
  scores.lacking.assign(models.size(), 0);
  for (size_t t = 0; t < tokens; ++t) {
    size_t knowing = 0;
    for (const std::vector<bool>& own : known) knowing += own[t] ? 1 : 0;
    scores.known_to_all.push_back(knowing == models.size());
    if (knowing == 0) ++scores.unknown;
    for (size_t m = 0; knowing > 0 && m < models.size(); ++m)
      if (!known[m][t]) {
        scores.log_p[m][t] = -std::numeric_limits<double>::infinity();
        ++scores.lacking[m];
      }
  }
  return scores;
}

}  // namespace nine
