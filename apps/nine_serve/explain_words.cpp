#include "apps/nine_serve/explain_words.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/inspect/score_at.h"
#include "apps/nine_serve/api_error.h"
#include "apps/nine_serve/request_fields.h"
#include "apps/nine_serve/text_steps.h"
#include "core/interrupt.h"
#include "data/tokenizers/model_tokenizer.h"
#include "kernels/decoding/decoder_norms.h"
#include "kernels/decoding/head_decoder.h"

namespace nine::app {
namespace {

constexpr int64_t kMostExplained = 64;   // tokens
constexpr double kMostOperations = 4e9;  // of scores in double, which take seconds

using Doubles = std::vector<double>;

Doubles row_of(const View& matrix, int64_t row) {
  Doubles out(static_cast<size_t>(matrix.cols()));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t at = row * matrix.ld + static_cast<int64_t>(i);
    out[i] = matrix.dtype == DType::float64 ? matrix.as<double>()[at] : matrix.as<float>()[at];
  }
  return out;
}

double dot(const Doubles& a, const Doubles& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double log_sum_exp(const Doubles& x) {
  const double most = *std::ranges::max_element(x);
  if (!std::isfinite(most)) return most;
  double sum = 0;
  for (const double value : x) sum += std::exp(value - most);
  return most + std::log(sum);
}

// The head of a model as vectors of double, which have the norms of evaluation.
class PlainHead {
 public:
  explicit PlainHead(const SoftmaxHead& head)
      : spec_(head.present_spec()),
        values_(head.values()),
        norms_(values_.norms, spec_),
        words_(head.words()) {
    const bool untied = values_.w.size() > 1 || (values_.w.front().shape.rank() == 3);
    for (int64_t k = 0; k < spec_.size(); ++k) {
      const View& table = values_.w[std::min(values_.w.size() - 1, static_cast<size_t>(k))];
      vectors_.emplace_back();
      if (k > 0 && !untied) continue;
      for (int64_t v = 0; v < words_; ++v) vectors_.back().push_back(row_of(table, v));
      if (!norms_.words()) continue;
      const Tensor scales = norms_.word_scales(table);
      for (int64_t v = 0; v < words_; ++v)
        for (double& x : vectors_.back()[static_cast<size_t>(v)]) x *= scales.data<double>()[2 * v];
    }
    shared_ = !untied;
    if (values_.bias)
      for (int64_t v = 0; v < words_; ++v)
        bias_.push_back(row_of(values_.bias.reshaped({words_, 1}), v).front());
  }

  const HeadSpec& spec() const { return spec_; }
  const Doubles& vector(size_t k, int64_t word) const {
    return vectors_[shared_ ? 0 : k][static_cast<size_t>(word)];
  }
  Doubles context(size_t k, const Doubles& h) const {
    Doubles out = h;
    for (size_t i = 0; i < h.size() && spec_.contexts; ++i)
      out[i] = std::tanh(dot(row_of(values_.latent, static_cast<int64_t>(k * h.size() + i)), h));
    if (norms_.contexts()) norms_.set_norm(static_cast<int64_t>(k), out.data(), std::ssize(out));
    return out;
  }
  // log of the prior of each component.
  Doubles log_prior(const Doubles& h) const {
    Doubles scores(static_cast<size_t>(spec_.size()), 0);
    if (spec_.mixture)
      for (size_t k = 0; k < scores.size(); ++k)
        scores[k] = dot(row_of(values_.prior, static_cast<int64_t>(k)), h);
    const double all = log_sum_exp(scores);
    for (double& score : scores) score -= all;
    return scores;
  }
  double bias(int64_t word) const { return bias_.empty() ? 0 : bias_[static_cast<size_t>(word)]; }
  double score(size_t k, int64_t word, const Doubles& context) const {
    return score_at(spec_.components[k], vector(k, word), context).value + bias(word);
  }

 private:
  HeadSpec spec_;
  HeadValues values_;
  DecoderNorms norms_;
  int64_t words_;
  bool shared_ = true;
  std::vector<std::vector<Doubles>> vectors_;  // of each component, or of the first alone
  Doubles bias_;
};

}  // namespace

ExplainCall::ExplainCall(ModelPointer served, ExplainRequest request, const Limits& limits)
    : Call(std::move(served)),
      request_(std::move(request)),
      ids_(model->ids(request_.text, "text")) {
  TokenCounts counts;
  model->count(ids_, counts);
  model->require_known(counts, limits.max_unknown, "text");
  if (!model->reads_raw_text()) ids_.push_back(Specials::kLanguageModel.end);
  const LanguageNetwork& network = model->language().network();
  require_field(std::ssize(ids_) <= std::min(limits.prompt_tokens, kMostExplained), "text",
                "the text has ", ids_.size(), " tokens, and at most ",
                std::min(limits.prompt_tokens, kMostExplained), " can be explained");
  require_field(network.device() == kCpu, "model",
                "the derivation reads the weights on a CPU: start the server with --device cpu");
  const HeadConfig& config = network.head_config();
  const double operations =
      static_cast<double>(ids_.size()) *
      static_cast<double>(network.vocab() * network.width() * config.spec.size());
  require_field(operations < kMostOperations, "text", "a vocabulary of ", network.vocab(),
                " words, ", network.width(), " numbers each, with ", config.spec.size(),
                " components and ", ids_.size(),
                " tokens takes too long to derive: their product must be below ", kMostOperations,
                ", so give fewer words");
  work = [this] { explain(); };
}

void ExplainCall::explain() {
  const LanguageNetwork& network = model->language().network();
  const PlainHead head(network.head());
  Arena arena("explain", network.device());
  Tape tape(arena);
  const NoGrad guard(tape);
  const std::unique_ptr<StepDecoder> decoder = network.decoder();
  decoder->start(1);
  Json positions = Json::array();
  for (size_t t = 0; t < ids_.size(); ++t) {
    check_interrupt();
    tape.reset();
    const DecoderRow read{0, t == 0 ? Specials::kLanguageModel.end : ids_[t - 1]};
    const Var hidden = decoder->step(tape, {&read, 1});
    const Doubles h = hidden.value().to_vector();
    const Tensor engine = network.log_probabilities(hidden);
    const std::span<const double> engine_log_p(engine.data<double>(),
                                               static_cast<size_t>(engine.elements()));
    const Doubles log_prior = head.log_prior(h);
    std::vector<Doubles> contexts;
    Doubles log_z;
    for (size_t k = 0; k < log_prior.size(); ++k) {
      contexts.push_back(head.context(k, h));
      Doubles scores;
      for (int64_t v = 0; v < network.vocab(); ++v) {
        if (v % 256 == 0) check_interrupt();
        scores.push_back(head.score(k, v, contexts[k]));
      }
      log_z.push_back(log_sum_exp(scores));
    }
    std::vector<int32_t> words{ids_[t]};
    for (const int32_t word : token_log_p(engine_log_p, ids_[t], request_.top + 1).top)
      if (word != ids_[t] && std::ssize(words) <= request_.top) words.push_back(word);
    Json explained = Json::array();
    for (const int32_t word : words) {
      Json components = Json::array();
      Doubles terms;
      for (size_t k = 0; k < log_z.size(); ++k) {
        const Doubles& w = head.vector(k, word);
        const double score = head.score(k, word, contexts[k]), z = dot(w, contexts[k]);
        terms.push_back(log_prior[k] + score - log_z[k]);
        components.push_back({{"kernel", to_text(head.spec().components[k])},
                              {"z", json_number(z)},
                              {"q", json_number(dot(w, w) + dot(contexts[k], contexts[k]) - 2 * z)},
                              {"bias", json_number(head.bias(word))},
                              {"S", json_number(score)},
                              {"log_z", json_number(log_z[k])},
                              {"prior", json_number(std::exp(log_prior[k]))},
                              {"p", json_number(std::exp(score - log_z[k]))}});
      }
      explained.push_back({{"word", model->spelled(word, t == 0)},
                           {"log_p", json_number(log_sum_exp(terms))},
                           {"engine_log_p", json_number(engine_log_p[static_cast<size_t>(word)])},
                           {"components", std::move(components)}});
    }
    positions.push_back(
        {{"word", model->spelled(ids_[t], t == 0)}, {"words", std::move(explained)}});
  }
  tape.reset();
  answer_ =
      json_text({{"model", model->name()},
                 {"head", head.spec().to_text()},
                 {"formula", "log p = log sum_k prior_k exp(S_k - log_z_k)"},
                 {"symbols",
                  {{"z", "the product of the word's vector and the context, with their norms"},
                   {"q", "the squared distance of the two"},
                   {"S", "the kernel's score, with the bias"},
                   {"log_z", "log of the sum of exp(S) over the vocabulary"}}},
                 {"positions", std::move(positions)}});
}

}  // namespace nine::app
