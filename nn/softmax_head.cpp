#include "nn/softmax_head.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "autograd/functions.h"
#include "core/ops.h"
#include "kernels/decoding/head_decoder.h"
#include "kernels/ops.h"
#include "kernels/options/margin_correction.h"
#include "kernels/settings/head_misfit.h"

namespace nine {
namespace {

// The words that a bias of -infinity excludes. The first question about a word reads the bias,
// once; most models never need it. The result is not kept for the next call, because an update may
// change the bias before.
class BiasExclusions {
 public:
  explicit BiasExclusions(const Parameter* bias) : bias_(bias) {}
  bool operator()(int64_t word) {
    if (bias_ != nullptr && values_.empty()) values_ = bias_->value().to_vector();
    return word >= 0 && !values_.empty() && values_[static_cast<size_t>(word)] == -INFINITY;
  }

 private:
  const Parameter* bias_;
  std::vector<double> values_;
};

}  // namespace

SoftmaxHead::SoftmaxHead(ParameterSet& set, const std::string& name, const HeadConfig& config,
                         int64_t words, int64_t width, const Init& init, Parameter* tied)
    : name_(name), config_(config), vocabulary_(words), set_(set) {
  const HeadSpec& head = config.spec;
  const int64_t size = head.size();
  const std::string wrong = head.check(width);
  require(wrong.empty(), "head ", head.to_text(), ": ", wrong);
  const std::string too_large_or_small = misfit(config, set.dtype());
  require(too_large_or_small.empty(), "head ", head.to_text(), ": ", too_large_or_small);
  if (tied != nullptr) words_.push_back(tied);
  const int64_t own = (head.untied ? size : 1) - (tied != nullptr ? 1 : 0);
  const Shape shape = head.untied ? Shape{own, words, width} : Shape{words, width};
  if (own > 0) words_.push_back(&set.add(name + ".weight", shape, init));
  if (config.bias) bias_ = &set.add(name + ".bias", {words}, Init::zeros());
  const Init linear = Init::fan_in();
  if (head.mixture) prior_ = &set.add(name + ".prior.weight", {size, width}, linear);
  if (head.contexts) latent_ = &set.add(name + ".latent.weight", {size * width, width}, linear);
  learned_ = learned_numbers(head);
  for (const LearnedNumber& n : learned_) {
    const std::string tensor = concat(name, ".", n.tensor_name());
    numbers_.push_back(&set.add(tensor, {1}, Init::constant(n.stored(n.start))));
    set.need_not_load(tensor);  // a model trained with a fixed number continues from `start`
  }
  norms_ = {config.norms};
  if (config.loss.skip > 0) left_out_ = Tensor({4}, DType::float64, set.device());
  if (config.loss.margin || norms_) stats_.emplace();
  require(config.sampled.size <= words, "sampled softmax ", to_text(config.sampled),
          ": the vocabulary has only ", words, " words; draw at most ", words);
  if (config.sampled) {
    for (Parameter* p : words_) p->touched.emplace();
    if (bias_ != nullptr) bias_->touched.emplace();
  }
  for (const HeadBuffer& buffer : head_buffers()) {
    set.ignore_on_load(name + buffer.name);  // a file may hold buffers that this model does not use
    if (!buffer.is_of(config)) continue;
    const bool of_words = &buffer == &head_buffers().front();
    (of_words ? counts_ : running_) = set.add_buffer(name + buffer.name, {of_words ? words : size});
  }
  norms_.running = running_;
}

// Makes ratios and sampler again if the counts may have changed.
HeadNorms SoftmaxHead::norms() const {
  if (!norms_.word && !config_.sampled) return norms_;
  const std::lock_guard lock(counts_mutex_);
  if (loads_ == set_.loads()) return norms_;
  std::vector<double> counts(static_cast<size_t>(vocabulary_), 1.0);
  if (counts_) {
    counts = counts_.to_vector();
    require(std::none_of(counts.begin(), counts.end(), [](double c) { return c < 0; }),
            "the tensor '", name_, ".counts' has a negative count");
    require(std::any_of(counts.begin(), counts.end(), [](double c) { return c > 0; }),
            config_.sampled ? concat("sampled softmax ", to_text(config_.sampled))
                            : concat("word norm ", to_text(norms_.word)),
            " follows the words' counts in the training text, but the model has no counts: its "
            "weights need a tensor '",
            name_, ".counts' of shape (", vocabulary_, ") that is not all 0");
  }
  if (config_.sampled) sampler_.emplace(config_.sampled, counts);
  norms_.follow(counts, set_.device());
  loads_ = set_.loads();
  return norms_;
}

void SoftmaxHead::set_counts(std::span<const int64_t> counts) const {
  if (!counts_) return;
  require(static_cast<int64_t>(counts.size()) == vocabulary_, "[SoftmaxHead] ", counts.size(),
          " counts for ", vocabulary_, " words");
  const Tensor values({vocabulary_}, DType::float64);
  std::transform(counts.begin(), counts.end(), values.data<double>(),
                 [](int64_t c) { return static_cast<double>(c); });
  ops::copy(values, counts_);
  loads_ = -1;
}

void SoftmaxHead::put_weights(HeadWeights& weights, Tape& tape) const {
  const auto on = [&](Parameter* p) { return p != nullptr ? tape.parameter(*p) : Var(); };
  weights.w.clear();
  for (Parameter* p : words_) weights.w.push_back(tape.parameter(*p));
  weights.bias = on(bias_);
  weights.prior = on(prior_);
  weights.latent = on(latent_);
  weights.numbers.clear();
  for (Parameter* p : numbers_) weights.numbers.push_back(tape.parameter(*p));
  weights.norms = norms();
  weights.norms.training = tape.recording();
}

HeadWeights SoftmaxHead::weights(Tape& tape) const {
  HeadWeights weights;
  put_weights(weights, tape);
  return weights;
}

HeadWeights SoftmaxHead::evaluation_weights(Tape& tape) const {
  HeadWeights weights = this->weights(tape);
  weights.norms.training = false;
  return weights;
}

HeadValues SoftmaxHead::values() const {
  const auto of = [](const Parameter* p) { return p != nullptr ? p->value().view() : View{}; };
  HeadValues values{
      .bias = of(bias_), .prior = of(prior_), .latent = of(latent_), .norms = norms()};
  for (const Parameter* p : words_) values.w.push_back(of(p));
  return values;
}

HeadSpec SoftmaxHead::present_spec() const {
  std::vector<double> values;
  for (size_t i = 0; i < numbers_.size(); ++i)
    values.push_back(learned_[i].value(numbers_[i]->value().to_vector().front()));
  return with_numbers(config_.spec, values);
}

std::vector<std::pair<std::string, double>> SoftmaxHead::number_values() const {
  const HeadSpec spec = present_spec();
  std::vector<std::pair<std::string, double>> all;
  for (const LearnedNumber& n : learned_) {
    const Score& score = spec.components[static_cast<size_t>(n.component)];
    all.emplace_back(
        concat(spec.mixture ? concat(n.component, ".") : "", kernel_info(score).name, ".", n.name),
        score.number(n.number));
  }
  return all;
}

SoftmaxLoss SoftmaxHead::loss(const Var& hidden, const Tensor& targets, double row_weight,
                              const Tensor& factors) const {
  Tape& tape = hidden.tape();
  SoftmaxRows rows;
  if (factors) rows.factor = tape.on_device(factors).reshaped({factors.elements()});
  if (stats_ && tape.recording()) stats_->add_norms(hidden.value(), targets.to(kCpu));
  if (stats_ && !tape.recording() && stats_->counts_angles())
    stats_->add_angles(hidden.value(), targets.to(kCpu), words_.front()->value());
  if (tape.recording()) rows.left_out = left_out_;
  if (config_.sampled && tape.recording()) return sampled_loss(hidden, targets, row_weight, rows);
  if (!tape.recording())
    return kernel_softmax(config_.spec, hidden, weights(tape), tape.on_device(targets), row_weight,
                          {.memory = config_.loss.memory}, rows);
  put_weights(training_weights_, tape);
  return kernel_softmax(config_.spec, hidden, training_weights_, tape.on_device(targets),
                        row_weight, config_.loss, rows);
}

// Computes the softmax over gathered rows of the weights: over the drawn words and the targets,
// with the offsets -log E_v.
SoftmaxLoss SoftmaxHead::sampled_loss(const Var& hidden, const Tensor& targets, double row_weight,
                                      const SoftmaxRows& rows) const {
  Tape& tape = hidden.tape();
  const HeadWeights all = weights(tape);
  const Tensor on_host = targets.to(kCpu);
  const SampledWords sample = sampler_->sample(
      tape.random_key(name_ + ".sample"),
      {on_host.data<int32_t>(), static_cast<size_t>(on_host.elements())}, all.norms.first_word);
  const auto count = static_cast<int64_t>(sample.words.size());
  const auto gathered = [&](const Var& table, int64_t copies) {
    Tensor ids({copies * count}, DType::int32);
    for (int64_t k = 0; k < copies; ++k)
      for (int64_t i = 0; i < count; ++i)
        ids.data<int32_t>()[k * count + i] =
            static_cast<int32_t>(k * vocabulary_ + sample.words[static_cast<size_t>(i)]);
    return embedding(table, tape.on_device(ids));
  };  // avoids reshape(), whose gradient would be as large as the table
  HeadWeights some{
      .prior = all.prior, .latent = all.latent, .numbers = all.numbers, .norms = all.norms};
  for (const Var& w : all.w) some.w.push_back(gathered(w, w.shape().rows() / vocabulary_));
  if (all.bias) some.bias = reshape(gathered(all.bias, 1), {count});
  std::vector<double> offsets = sample.log_weights;
  const auto on_tape = [&](const std::vector<double>& values, DType type) {
    const Tensor exact = Tensor::from(values, {count}), rounded({count}, type);
    ops::copy(exact, rounded);
    return rounded.to(set_.device());
  };
  some.target_offset = on_tape(offsets, hidden.dtype());
  for (size_t i = 0; i < offsets.size(); ++i)
    if (!sample.drawn[i]) offsets[i] = kLeftOut;
  some.offset = on_tape(offsets, hidden.dtype());
  if (all.norms.word) {
    const std::vector<double> ratios = all.norms.ratios.to_vector();
    std::vector<double> own;
    for (const int32_t v : sample.words) own.push_back(ratios[static_cast<size_t>(v)]);
    some.norms.ratios = on_tape(own, DType::float64);
    if (all.norms.first_word >= 0)
      some.norms.first_word =
          std::lower_bound(sample.words.begin(), sample.words.end(), all.norms.first_word) -
          sample.words.begin();
  }
  const Tensor places = Tensor::from(sample.targets, {std::ssize(sample.targets)});
  return kernel_softmax(config_.spec, hidden, some, tape.on_device(places), row_weight,
                        config_.loss, rows);
}

SoftmaxHead::WordNorms SoftmaxHead::word_norms() const {
  const HeadNorms given = norms();
  const View all = words_.front()->value();
  const Tensor own({vocabulary_}, DType::float64, set_.device());
  ops::row_norms(all.reshaped({all.rows(), all.cols()}).row_range(0, vocabulary_), own);
  WordNorms out{.own = own.to_vector(), .given = {}};
  if (!given.word) return out;
  const double unit = given.first_word >= 0 ? out.own[static_cast<size_t>(given.first_word)] : 1;
  out.given = given.ratios.to_vector();
  out.given.resize(static_cast<size_t>(vocabulary_));
  for (double& f : out.given) f *= unit;
  return out;
}

Var SoftmaxHead::loss(const Var& hidden, const Tensor& targets) const {
  const int64_t rows = count_targets(targets);
  require(rows > 0, "[SoftmaxHead] no row has a target: all ", targets.elements(), " are -1");
  return loss(hidden, targets, 1 / static_cast<double>(rows)).loss;
}

Tensor SoftmaxHead::log_probabilities(const Var& hidden) const {
  Tensor log_p = nine::log_probabilities(config_.spec, hidden, evaluation_weights(hidden.tape()));
  const std::span all(log_p.data<double>(), static_cast<size_t>(log_p.elements()));
  BiasExclusions excluded(bias_);
  for (size_t i = 0; i < all.size(); ++i)
    if (!std::isfinite(all[i]))
      require(all[i] < 0 && excluded(static_cast<int64_t>(i) % vocabulary_), "[SoftmaxHead] row ",
              static_cast<int64_t>(i) / vocabulary_, ": ", kNoLogP);
  return log_p;
}

void SoftmaxHead::require_log_p(std::span<const int32_t> words, std::span<const double> nats,
                                std::string_view what) const {
  BiasExclusions excluded(bias_);
  for (size_t i = 0; i < nats.size(); ++i)
    require(std::isfinite(nats[i]) || (nats[i] > 0 && excluded(words[i])), what, ": ", kNoLogP);
}

Tensor SoftmaxHead::log_probabilities_undoing(const Var& hidden, double margin) const {
  const HeadNorms given = norms();
  require(!config_.spec.mixture && config_.spec.components.front().is_lin(),
          "a margin can be undone in closed form for a single lin, not for ",
          config_.spec.mixture ? "a mixture" : config_.spec.to_text());
  require(!config_.spec.contexts || given.context,
          "a margin cannot be undone if the contexts tanh keep their own norms");
  const auto norms_of = [](const View& x) {
    const Tensor norms({x.rows()}, DType::float64, x.device);
    ops::row_norms(x, norms);
    return norms.to_vector();
  };
  // F of each word and G of each row.
  std::vector<double> word = norms_of(words_.front()->value()),
                      row = norms_of(hidden.value().view().reshaped(
                          {hidden.shape().rows(), hidden.shape().cols()}));
  if (given.word) {
    const double unit = given.first_word >= 0 ? word[static_cast<size_t>(given.first_word)] : 1;
    word = given.ratios.to_vector();
    for (double& f : word) f *= unit;
  }
  if (given.context) std::ranges::fill(row, given.sizes(config_.spec.size()).front());
  Tensor log_p = log_probabilities(hidden);
  std::vector<double> sizes(word.size());
  for (size_t r = 0; r < row.size(); ++r) {
    for (size_t v = 0; v < word.size(); ++v) sizes[v] = margin * word[v] * row[r];
    undo_cos_margin({log_p.data<double>() + r * word.size(), word.size()}, sizes);
  }
  return log_p;
}

WordScores SoftmaxHead::top_words(const Var& hidden, int64_t k) const {
  return nine::top_words(config_.spec, hidden, evaluation_weights(hidden.tape()), k);
}

Var SoftmaxHead::norm_regulariser(Tape& tape, double share) const {
  if (config_.norm_reg.strength <= 0 || !tape.recording()) return {};
  return scale(norm_penalty(weights(tape).w, config_.norm_reg), share);
}

void SoftmaxHead::set_norms_by_frequency(std::span<const int64_t> counts, double scale) const {
  require(static_cast<int64_t>(counts.size()) == vocabulary_,
          "[SoftmaxHead] initial norms: ", counts.size(), " counts for ", vocabulary_, " words");
  for (const Parameter* p : words_) {
    const Tensor& value = p->value();
    const Tensor doubles(value.shape(), DType::float64), rounded(value.shape(), value.dtype());
    ops::copy(value, rounded);  // copies, because the values may be on a GPU
    ops::copy(rounded, doubles);
    const int64_t size = doubles.shape().cols();
    for (int64_t v = 0; v < doubles.shape().rows(); ++v) {
      double* row = doubles.data<double>() + v * size;
      double square = 0;
      for (int64_t k = 0; k < size; ++k) square += row[k] * row[k];
      if (square == 0) continue;
      const int64_t count = counts[static_cast<size_t>(v % vocabulary_)];
      const double factor =
          scale * std::log(static_cast<double>(std::max<int64_t>(2, count))) / std::sqrt(square);
      for (int64_t k = 0; k < size; ++k) row[k] *= factor;
    }
    ops::copy(doubles, rounded);
    ops::copy(rounded, value);
  }
}

void SoftmaxHead::set_bias_by_frequency(std::span<const int64_t> counts) const {
  require(bias_ != nullptr, "[SoftmaxHead] no initial bias can be set: the head has no bias");
  require(static_cast<int64_t>(counts.size()) == vocabulary_,
          "[SoftmaxHead] initial bias: ", counts.size(), " counts for ", vocabulary_, " words");
  const Tensor doubles({vocabulary_}, DType::float64),
      rounded({vocabulary_}, bias_->value().dtype());
  double all = 0;
  for (const int64_t c : counts) all += static_cast<double>(std::max<int64_t>(1, c));
  for (size_t v = 0; v < counts.size(); ++v)
    doubles.data<double>()[v] =
        std::log(static_cast<double>(std::max<int64_t>(1, counts[v])) / all);
  ops::copy(doubles, rounded);
  ops::copy(rounded, bias_->value());
}

std::string tie_text(const HeadSpec& head, const std::string& embedding) {
  return concat(head.untied ? "the first of " : "", "head.weight=", embedding);
}

std::span<const HeadBuffer> head_buffers() {
  using Kind = ContextNorm::Kind;
  static constexpr std::array<HeadBuffer, 3> kBuffers{
      {{".counts",
        [](const HeadConfig& c) {
          return c.norms.word.needs_counts() || static_cast<bool>(c.sampled);
        }},
       {".context_max", [](const HeadConfig& c) { return c.norms.context.kind == Kind::max; }},
       {".context_max_ema",
        [](const HeadConfig& c) { return c.norms.context.kind == Kind::max_ema; }}}};
  return kBuffers;
}

}  // namespace nine
