// A warmed-up training step asks the system for no memory, and keeps within what was counted.
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "checks/values.h"
#include "core/ops.h"
#include "kernels/loss/kernel_softmax.h"
#include "nn/models/lstm_language_model.h"
#include "nn/models/transformer_language_model.h"
#include "nn/training/language_model_task.h"
#include "nn/training/optimizer.h"
#include "nn/training/train_step.h"
#include "nn/training/translation_task.h"
#include "tests/support/random_tensors.h"
#include "tests/support/support.h"

// Every operator new of this program is counted: a warmed-up step must not call it.
namespace {
std::atomic<int64_t> g_news{0};
}  // namespace
#if !defined(NINE_SANITIZE_ADDRESS) && !defined(NINE_SANITIZE_THREAD)  // which bring their own
namespace {
void* counted(size_t bytes, size_t alignment) {
  ++g_news;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, bytes > 0 ? bytes : alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
}  // namespace
void* operator new(size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new[](size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(size_t bytes, std::align_val_t a) {
  return counted(bytes, static_cast<size_t>(a));
}
void* operator new[](size_t bytes, std::align_val_t a) {
  return counted(bytes, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }
#endif

namespace nine::tests::test_step_memory {

using namespace nine::checks;

namespace {

// A language model in small: embedding, dropout, two LSTM layers, kernel softmax, clipped Adam, all
// float32.
class SmallModel {
 public:
  explicit SmallModel(const std::string& head = "lin")
      : head_(parse_head(head)), pool_("step"), tape_(pool_) {
    constexpr int64_t kV = 70, kD = 24, kH = 40;
    for (const Shape& s : {Shape{kV, kD}, Shape{4 * kH, kD}, Shape{4 * kH, kH}, Shape{4 * kH},
                           Shape{4 * kH}, Shape{4 * kH, kH}, Shape{4 * kH, kH}, Shape{4 * kH},
                           Shape{4 * kH}, Shape{kV, kH}, Shape{kV}})
      add(s);
    for (Tensor* slab : {&value_, &grad_, &first_, &second_})
      *slab = Tensor({size_}, DType::float32);
    for (size_t i = 0; i < parameters_.size(); ++i) {
      parameters_[i].set_memory(part(value_, i), part(grad_, i));
      ops::copy(random_tensor(shapes_[i], i, DType::float32, -0.1, 0.1), parameters_[i].value());
    }
    ids_ = tensor_of(random_indices({{{kSteps, kBatch}, 0, kV}}, 1)[0], {kSteps, kBatch});
    targets_ = tensor_of(random_indices({{{kSteps * kBatch}, 0, kV}}, 2)[0], {kSteps * kBatch});
    state_ = Tensor({kBatch, kH}, DType::float32);
    norm_ = Tensor({}, DType::float64);
  }

  // `recipes`: with label smoothing, word and locked dropout, AR and TAR (docs/recipes.md).
  double step(uint32_t number, bool recipes = false) {
    tape_.set_random_key({.step = number});
    const auto p = [&](size_t i) { return tape_.parameter(parameters_[i]); };
    Var x = dropout(embedding(p(0), ids_), 0.1, "dropout.embedding");
    x = reshape(x, {kSteps * kBatch, x.shape().cols()});
    if (recipes)
      x = dropout(dropout_words(x, ids_, 0.02, "dropout.words"), 0.02, "dropout.locked", kBatch);
    const Var state = tape_.constant(state_);
    x = lstm(x, {p(1), p(2), p(3), p(4)}, {state, state}).y;
    x = dropout(x, 0.1, "dropout.1");
    x = lstm(x, {p(5), p(6), p(7), p(8)}, {state, state}).y;
    weights_.w.assign(1, p(9));
    weights_.bias = p(10);
    const SoftmaxLoss out =
        kernel_softmax(head_, x, weights_, targets_, 1.0 / static_cast<double>(kSteps * kBatch),
                       {.smoothing = {.epsilon = recipes ? 0.1 : 0.0}});
    const double loss = *out.loss.value().data<double>();
    const int64_t later = (kSteps - 1) * kBatch;
    if (recipes) {
      const Var slowness = sum_squares(sub(row_range(x, kBatch, later), row_range(x, 0, later)));
      tape_.backward(
          nine::add(out.loss, nine::add(scale(sum_squares(x), 1e-4), scale(slowness, 1e-4))));
    } else {
      tape_.backward(out.loss);
    }
    tape_.reset();
    ops::sum_squares(grad_, norm_);
    ops::adam(value_, grad_, first_, second_, {norm_, 1.0},
              {.lr = 0.01, .t = static_cast<int64_t>(number)});
    for (Parameter& q : parameters_) q.has_grad = false;
    return loss;
  }
  const Arena& pool() const { return pool_; }

 private:
  static constexpr int64_t kSteps = 6, kBatch = 9;

  void add(const Shape& s) {
    shapes_.push_back(s);
    offsets_.push_back(size_);
    size_ += (s.elements() + 15) / 16 * 16;
    parameters_.emplace_back();
  }
  Tensor part(const Tensor& slab, size_t i) const {
    return slab.with(View(slab.data<float>() + offsets_[i], shapes_[i]));
  }

  std::vector<Shape> shapes_;
  std::vector<int64_t> offsets_;
  int64_t size_ = 0;
  std::vector<Parameter> parameters_;
  Tensor value_, grad_, first_, second_, ids_, targets_, state_, norm_;
  HeadSpec head_;
  HeadWeights weights_;
  Arena pool_;
  Tape tape_;
};

// How often operator new is called by four steps of a translation model after two.
int64_t news_of_steps(ParameterSet& set, const Transformer& model, int64_t pairs, int64_t length,
                      Arena& pool) {
  const Tensor ids = tensor_of(random_indices({{{pairs, length}, 2, 30}}, 1)[0], {pairs, length});
  const TranslationBatch batch = TranslationBatch::of_padded(ids, ids, ids, 1);
  TranslationSource data(model, [&](TranslationBatch& next) {
    next = batch;
    return true;
  });
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(set, {});
  TrainStep step(set, *optimizer, pool, {});
  for (int64_t i = 1; i <= 2; ++i) step.run(data, i, 1e-4);
  const int64_t before = g_news;
  for (int64_t i = 3; i <= 6; ++i) step.run(data, i, 1e-4);
  return g_news - before;
}

}  // namespace

TEST_CASE("step: a warmed-up one calls operator new never, and the pool does not grow over 50") {
  SmallModel model;
  const double start = model.step(1);
  CHECK(start == doctest::Approx(std::log(70.0)).epsilon(0.02));
  model.step(2);
  const int64_t before = g_news;
  const size_t peak = model.pool().peak_bytes();
  double loss = 0;
  for (uint32_t i = 3; i <= 52; ++i) loss = model.step(i);
  CHECK(g_news - before == 0);
  CHECK(model.pool().peak_bytes() == peak);
  CHECK(loss < 0.7 * start);  // it learns 54 words by heart
  SmallModel with;
  for (uint32_t i = 1; i <= 2; ++i) with.step(i, true);
  const int64_t warm = g_news;
  for (uint32_t i = 3; i <= 20; ++i) with.step(i, true);
  CHECK(g_news - warm == 0);
  SmallModel formula("expr:{s*tanh(z/s)+c}:s=30");
  for (uint32_t i = 1; i <= 2; ++i) formula.step(i);
  const int64_t warm_formula = g_news;
  for (uint32_t i = 3; i <= 20; ++i) formula.step(i);
  CHECK(g_news - warm_formula == 0);
#if !defined(NINE_SANITIZE_ADDRESS) && !defined(NINE_SANITIZE_THREAD)
  // An allocation is counted.
  const int64_t now = g_news;
  const auto one = std::make_unique<int>(1);
  CHECK(g_news - now == *one);
#endif
}

TEST_CASE("step: a warmed-up one of a Transformer language model calls operator new never") {
  std::vector<std::string> lines;
  for (int i = 0; i < 200; ++i) lines.push_back(concat("w", i % 7, " w", i % 11, " w", i % 13));
  const Vocabulary vocabulary =
      Vocabulary::build(count_words_of_lines(lines), Specials::kLanguageModel);
  const Corpus text = Corpus::of_lines(lines, vocabulary);
  for (const Positions positions : {Positions::learned, Positions::sinusoidal, Positions::rotary}) {
    ParameterSet set;
    const TransformerLanguageModel model(
        set,
        {.vocab = vocabulary.size(),
         .hidden = 16,
         .ffn = 24,
         .heads = 2,
         .window = 8,
         .style = {.activation = Activation::gelu, .positions = positions, .norm = NormOrder::pre},
         .dropout_words = 0.1,
         .dropout_output = 0.1,
         .activation_reg = 1,
         .temporal_activation_reg = 1});
    LanguageModelTask task(model, text, nullptr, {.batch = 5, .bptt = 8});
    Arena pool("step");
    const std::unique_ptr<Optimizer> optimizer = make_optimizer(set, {});
    TrainStep step(set, *optimizer, pool, {.clip = 1});
    for (int64_t i = 1; i <= 2; ++i) step.run(task, i, 1e-3);
    const int64_t before = g_news;
    for (int64_t i = 3; i <= 9; ++i) step.run(task, i, 1e-3);
    CHECK(g_news - before == 0);
  }
}

TEST_CASE("step: an epoch's shorter last segment takes no memory of its own") {
  std::vector<std::string> lines;
  for (int i = 0; i < 30; ++i) lines.push_back(concat("w", i % 7, " w", i % 11, " w", i % 13));
  const Vocabulary vocabulary =
      Vocabulary::build(count_words_of_lines(lines), Specials::kLanguageModel);
  const Corpus text = Corpus::of_lines(lines, vocabulary);
  ParameterSet set;
  const LstmLanguageModel model(set, {.vocab = vocabulary.size(), .embed = 8, .hidden = 8});
  LanguageModelTask task(model, text, nullptr, {.batch = 7, .bptt = 8});
  Arena pool("step");
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(set, {});
  TrainStep step(set, *optimizer, pool, {});
  int64_t updates = 0, before = 0;
  std::vector<int64_t> rows;
  rows.reserve(100);
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    if (epoch == 2) before = g_news;
    task.start_epoch(epoch);
    while (!task.epoch_finished()) {
      step.run(task, ++updates, 1e-3);
      rows.push_back(task.input(0).shape()[0]);
    }
  }
  CHECK(g_news - before == 0);
  CHECK(rows[1] == 8);
  CHECK(rows[2] == 2);  // 120 tokens: one column of 18 rows, six of 17
  CHECK(updates == 12);
}

TEST_CASE(
    "step: a warmed-up one of a Transformer calls operator new never, and keeps within the "
    "activations that were counted") {
  constexpr int64_t kPairs = 12, kSteps = 20, kDim = 64, kLayers = 4;
  ParameterSet set;
  const Transformer model(set, {.src_vocab = 30,
                                .tgt_vocab = 30,
                                .encoder_layers = kLayers,
                                .decoder_layers = kLayers,
                                .dim = kDim,
                                .ffn = 2 * kDim});
  Arena pool("step");
  CHECK(news_of_steps(set, model, kPairs, kSteps, pool) == 0);
  // Widths a row and layer (docs/performance-explained.md): 10 in the encoder, 16 in the decoder.
  // Embeddings, the head's block and gradients under way, which do not grow with the layers, came
  // to 25 here.
  const size_t width = kPairs * kSteps * kDim * sizeof(float);
  CHECK(pool.peak_bytes() <= (26 * kLayers + 27) * width);
}

TEST_CASE("step: a warmed-up one with learned numbers of the head calls operator new never") {
  ParameterSet set;
  const Transformer model(
      set, {.src_vocab = 30,
            .tgt_vocab = 30,
            .encoder_layers = 1,
            .decoder_layers = 1,
            .dim = 32,
            .ffn = 64,
            .head = {.spec = parse_head("mix:rbf:gamma=learn:scale=learn,mog:variance=learn:1,"
                                        "expr:{s*tanh(z/s)}:s=learn:3")}});
  Arena pool("step");
  CHECK(news_of_steps(set, model, 4, 8, pool) == 0);
  CHECK(model.head().number_values().size() == 4);
}

TEST_CASE("step: operators with numbers call operator new never") {
  Arena pool("step");
  Tape tape(pool);
  Parameter p = random_parameter({6, 5}, 1, DType::float32),
            row = random_parameter({5}, 2, DType::float32);
  const Tensor targets = Tensor::from<int32_t>({0, -1, 2, 3, 4, 0}, {6});
  const auto step = [&] {
    const Var x = tape.parameter(p), w = tape.parameter(row);
    const Var y = 1 / (1 + exp(-(w * x + 0.5))) - (x - 2) / 3 + 4 * gelu(2 - x) * 0.1;
    tape.backward(cross_entropy(y / (w * w + 1) - w / y, targets));
    tape.reset();
  };
  step();
  step();
  const int64_t before = g_news;
  for (int i = 0; i < 10; ++i) step();
  CHECK(g_news - before == 0);
}

}  // namespace nine::tests::test_step_memory
