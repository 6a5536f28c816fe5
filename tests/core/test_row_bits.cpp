// What validation shared out among processes rests on: a column of text gets the same bits
// whichever columns are computed beside it.
#include <doctest/doctest.h>

#include "core/gemm.h"
#include "core/random.h"
#include "core/threads.h"
#include "nn/models/lstm_language_model.h"
#include "tests/support/bf16_mode.h"
#include "tests/support/support.h"

namespace nine::tests::test_row_bits {
namespace {

constexpr int64_t kColumns = 10, kWords = 300;
constexpr const char* kHeads[] = {"lin", "log", "rbf", "mix:3*lin", "mix:log,pow,rbf"};

LstmLanguageModelConfig config_of(const char* head, int64_t hidden) {
  LstmLanguageModelConfig config{.vocab = kWords, .embed = hidden, .hidden = hidden, .layers = 2};
  config.head.spec = parse_head(head);
  return config;
}

// Nats of each position of columns [first, first + count) of a text of `rows` rows.
std::vector<std::vector<double>> nats_of_columns(const LstmLanguageModel& model,
                                                 const std::vector<int32_t>& text, int64_t rows,
                                                 int64_t first, int64_t count) {
  std::vector<int32_t> input, target;
  for (int64_t t = 0; t < rows; ++t)
    for (int64_t c = first; c < first + count; ++c) {
      input.push_back(text[static_cast<size_t>(t * kColumns + c)]);
      target.push_back(text[static_cast<size_t>((t + 1) * kColumns + c)]);
    }
  Arena arena("row bits");
  Tape tape(arena);
  const NoGrad no_grad(tape);
  std::vector<LstmState> state;
  const CarriedState carried = model.new_state(count);
  carried.on(tape, state);
  const Var hidden = model.encode(tape, Tensor::from(input, {rows, count}), state);
  const SoftmaxLoss out = model.loss(hidden, Tensor::from(target, {rows, count}), 1);
  const std::vector<double> nats = out.nll.value().to_vector();
  std::vector<std::vector<double>> columns(static_cast<size_t>(count));
  for (size_t i = 0; i < nats.size(); ++i)
    columns[i % static_cast<size_t>(count)].push_back(nats[i]);
  return columns;
}

void check_columns(const LstmLanguageModelConfig& config, DType type) {
  CAPTURE(config.head.spec.to_text());
  CAPTURE(config.hidden);
  ParameterSet set({.dtype = type, .seed = 3, .gradients = false});
  const LstmLanguageModel model(set, config);
  for (const int64_t rows : {1, 30}) {
    CAPTURE(rows);
    RandomStream random({.seed = 5});
    std::vector<int32_t> text;
    for (int64_t i = 0; i < (rows + 1) * kColumns; ++i)
      text.push_back(static_cast<int32_t>(random.below(kWords)));
    const auto whole = nats_of_columns(model, text, rows, 0, kColumns);
    for (const int64_t count : {1, 3})
      for (int64_t first = 0; first + count <= kColumns; first += 4) {
        CAPTURE(count);
        CAPTURE(first);
        const auto part = nats_of_columns(model, text, rows, first, count);
        for (int64_t c = 0; c < count; ++c)
          CHECK(part[static_cast<size_t>(c)] == whole[static_cast<size_t>(first + c)]);
      }
  }
}

}  // namespace

TEST_CASE("row bits: a column's nats do not depend on the columns beside it") {
  const tests::Restore restore;
  for (const GemmBackend backend : tests::built_backends()) {
    set_gemm_backend(backend);
    CAPTURE(to_text(backend));
    for (const int64_t hidden : {24, 130})
      for (const char* head : kHeads) check_columns(config_of(head, hidden), DType::float32);
    for (const char* head : kHeads) check_columns(config_of(head, 24), DType::float64);
  }
}

TEST_CASE("row bits: with bfloat16 pieces too") {
  const tests::Bf16Mode mode(MatmulPrecision::highest);
  for (const int64_t hidden : {64, 130})
    for (const char* head : {"lin", "rbf", "mix:log,pow"})
      check_columns(config_of(head, hidden), DType::float32);
}

}  // namespace nine::tests::test_row_bits
