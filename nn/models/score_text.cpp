#include "nn/models/score_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "autograd/functions.h"
#include "core/interrupt.h"
#include "core/shared_parts.h"
#include "data/lm_batches.h"
#include "kernels/ops.h"
#include "nn/models/segment_reader.h"

namespace nine {

namespace {

// Returns the columns that each rank evaluates. Ranks beyond the number of columns have no column.
ColumnRange columns_of(int rank, int size, int64_t columns) {
  const int64_t ranks = std::min<int64_t>(size, columns), r = std::min<int64_t>(rank, ranks);
  const int64_t first = r * columns / ranks, end = std::min(ranks, r + 1) * columns / ranks;
  return {first, end - first};
}

// Computes -log p of each target with a margin undone, for a few rows of the vocabulary at a time.
std::vector<double> nats_undoing(const LanguageNetwork& model, const Var& hidden,
                                 const Tensor& targets, double margin) {
  const int64_t rows = targets.elements(), words = model.vocab();
  const int32_t* target = targets.data<int32_t>();
  std::vector<double> nats(static_cast<size_t>(rows));
  for (int64_t first = 0; first < rows; first += ops::kHeadPanel) {
    const int64_t part = std::min(ops::kHeadPanel, rows - first);
    const Tensor log_p = model.log_probabilities_undoing(row_range(hidden, first, part), margin);
    for (int64_t r = 0; r < part; ++r)
      if (target[first + r] >= 0)
        nats[static_cast<size_t>(first + r)] = -log_p.data<double>()[r * words + target[first + r]];
  }
  return nats;
}

// A rank's results for its columns: the nats of each position, row by row, 0 for padding; and the
// sums of a mixture's weights of each column.
struct ColumnResults {
  std::vector<double> nats;
  std::vector<MixtureWeightStats> weights;
};

ColumnResults evaluate_columns(const LanguageNetwork& model, Tape& tape, const Corpus& text,
                               int64_t columns, int64_t segment, ColumnRange own,
                               double undo_margin, Remainder remainder) {
  ColumnResults out;
  for (int64_t c = 0; c < own.count; ++c)
    out.weights.push_back(MixtureWeightStats::of(model.head_config().spec));
  if (own.count == 0) return out;
  EvalSegments segments(text, columns, segment, own, remainder);
  SegmentReader reader(model, own.count);
  for (LmBatch batch; segments.next(batch);) {
    check_interrupt();
    tape.reset();
    const Var hidden = reader.read(tape, batch.input, batch.rows);
    const Tensor targets = Tensor::from(batch.target, {batch.rows, batch.cols});
    const bool undo = undo_margin > 0;
    SoftmaxLoss loss;
    if (!undo) loss = model.loss(hidden, targets, 1.0);
    const std::vector<double> nats =
        undo ? nats_undoing(model, hidden, targets, undo_margin) : loss.nll.value().to_vector();
    out.nats.insert(out.nats.end(), nats.begin(), nats.end());
    for (size_t c = 0; loss.prior && c < out.weights.size(); ++c)
      out.weights[c].add(loss.prior.value(), targets, static_cast<int64_t>(c), own.count);
  }
  tape.reset();
  return out;
}

// Gathers the columns of all ranks in every process.
ColumnResults gathered(Communicator& communicator, const ColumnResults& own, int64_t columns,
                       int64_t rows, const MixtureWeightStats& empty) {
  const int size = communicator.size();
  const int64_t sums = empty.sums() ? empty.sums().elements() : 0, per_column = rows + sums,
                most = (columns + std::min<int64_t>(size, columns) - 1) /
                       std::min<int64_t>(size, columns);
  std::vector<double> all(static_cast<size_t>(size * most * per_column));
  const auto part = [&](int rank, int64_t c) {
    return all.data() + (rank * most + c) * per_column;
  };
  const int64_t count = std::ssize(own.weights);
  for (int64_t c = 0; c < count; ++c) {
    double* to = part(communicator.rank(), c);
    for (int64_t r = 0; r < rows; ++r) *to++ = own.nats[static_cast<size_t>(r * count + c)];
    if (sums > 0) std::copy_n(own.weights[static_cast<size_t>(c)].sums().data<double>(), sums, to);
  }
  communicator.all_gather(all.data(), most * per_column * static_cast<int64_t>(sizeof(double)));
  ColumnResults out;
  out.nats.resize(static_cast<size_t>(rows * columns));
  for (int rank = 0; rank < size; ++rank) {
    const ColumnRange range = columns_of(rank, size, columns);
    for (int64_t c = 0; c < range.count; ++c) {
      const double* from = part(rank, c);
      for (int64_t r = 0; r < rows; ++r)
        out.nats[static_cast<size_t>(r * columns + range.first + c)] = *from++;
      MixtureWeightStats weights = empty.zeros();
      if (sums > 0) std::copy_n(from, sums, weights.sums().data<double>());
      out.weights.push_back(weights);
    }
  }
  return out;
}

}  // namespace

Evaluation evaluate_carried(const LanguageNetwork& model, Tape& tape, const Corpus& text,
                            int64_t columns, int64_t segment, std::vector<double>* token_nats,
                            Communicator& communicator, double undo_margin, Remainder remainder) {
  const NoGrad guard(tape);
  segment = SegmentReader::later_rows(model, segment);
  const TextColumns layout =
      EvalSegments(text, columns, segment, {0, columns}, remainder).columns();
  const int64_t rows = layout.rows();
  const bool shared = communicator.size() > 1;
  Evaluation result{.tokens = layout.tokens()};
  result.mixture_weights = MixtureWeightStats::of(model.head_config().spec);
  const ColumnRange own = shared ? columns_of(communicator.rank(), communicator.size(), columns)
                                 : ColumnRange{0, columns};
  ColumnResults found =
      evaluate_columns(model, tape, text, columns, segment, own, undo_margin, remainder);
  if (shared) found = gathered(communicator, found, columns, rows, result.mixture_weights);
  const int64_t at_once = segment * columns;
  for (int64_t begin = 0; begin < rows * columns; begin += at_once)
    result.nats +=
        std::accumulate(found.nats.begin() + begin,
                        found.nats.begin() + std::min(begin + at_once, rows * columns), 0.0);
  for (const MixtureWeightStats& column : found.weights) result.mixture_weights.add(column);
  if (token_nats == nullptr) return result;
  token_nats->assign(static_cast<size_t>(text.tokens()), std::numeric_limits<double>::quiet_NaN());
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < layout.length(c); ++r)
      (*token_nats)[static_cast<size_t>(layout.begin(c) + r)] =
          found.nats[static_cast<size_t>(r * columns + c)];
  return result;
}

namespace {

// Sentences first ... first + cols - 1 as columns, padded to `rows` rows.
struct PaddedSentences {
  std::vector<int32_t> input, target;
  PaddedSentences(const Corpus& text, int64_t first, int64_t cols, int64_t rows)
      : input(static_cast<size_t>(rows * cols), LmBatch::kPaddingInput),
        target(input.size(), LmBatch::kPaddingTarget) {
    const auto at = [cols](size_t t, int64_t c) {
      return t * static_cast<size_t>(cols) + static_cast<size_t>(c);
    };
    for (int64_t c = 0; c < cols; ++c) {
      const auto sentence = text.sentence(first + c);
      for (size_t t = 0; t < sentence.size(); ++t) {
        target[at(t, c)] = sentence[t];
        if (t + 1 < sentence.size()) input[at(t + 1, c)] = sentence[t];
      }
    }
  }
};

}  // namespace

std::vector<SentenceRange> sentence_batches(const LanguageNetwork& model, const Corpus& text,
                                            int64_t batch_tokens, SentenceRange range) {
  require(batch_tokens >= 1, "batch tokens ", batch_tokens, " must be at least 1");
  const int64_t last = range.end < 0 ? text.sentences() : range.end;
  std::vector<SentenceRange> batches;
  for (int64_t first = range.first, end = first; first < last; first = end) {
    // Takes neighbours in the text, as many as fit, so that results come in order and need not be
    // kept.
    for (int64_t rows = 0; end < last; ++end) {
      rows = std::max(rows, text.length(end));
      const bool too_long = model.window() > 0 && rows > model.window();
      if (end > first && (too_long || rows * (end - first + 1) > batch_tokens)) break;
    }
    batches.push_back({first, end, range.before});
  }
  return batches;
}

void encode_sentences(const LanguageNetwork& model, Tape& tape, const Corpus& text,
                      int64_t batch_tokens,
                      const std::function<void(const EncodedSentences&)>& callback,
                      SentenceRange range) {
  const NoGrad guard(tape);
  for (const auto& [first, end, before] : sentence_batches(model, text, batch_tokens, range)) {
    int64_t rows = 0;
    for (int64_t s = first; s < end; ++s) rows = std::max(rows, text.length(s));
    const int64_t cols = end - first;
    const PaddedSentences batch(text, first, cols, rows);
    SegmentReader reader(model, cols);
    // There is one segment, unless a single sentence is longer than a batch or than the model's
    // window.
    for (int64_t begin = 0, part = 0; begin < rows; begin += part) {
      part = std::min(reader.next_rows(batch_tokens), rows - begin);
      const auto own = [&](const std::vector<int32_t>& all) {
        return std::span(all).subspan(static_cast<size_t>(begin * cols),
                                      static_cast<size_t>(part * cols));
      };
      check_interrupt();
      tape.reset();
      const Var hidden = reader.read(tape, own(batch.input), part);
      const std::span<const int32_t> targets = own(batch.target);
      callback({first, cols, before, begin, part, hidden,
                Tensor::from(std::vector<int32_t>(targets.begin(), targets.end()), {part, cols})});
    }
  }
  tape.reset();
}

namespace {

// Does what score_sentences does, and adds a mixture's weights to `weights`, if set.
void score_batches(const LanguageNetwork& model, Tape& tape, const Corpus& text,
                   int64_t batch_tokens,
                   const std::function<void(int64_t, std::span<const double>)>& callback,
                   double undo_margin, SentenceRange range, MixtureWeightStats* weights) {
  std::vector<double> own;
  const auto nats_of = [&](const EncodedSentences& batch) {
    return batch.naming_sentences([&] {
      if (undo_margin > 0) return nats_undoing(model, batch.hidden, batch.targets, undo_margin);
      const SoftmaxLoss loss = model.loss(batch.hidden, batch.targets, 1.0);
      if (weights != nullptr && loss.prior) weights->add(loss.prior.value(), batch.targets);
      return loss.nll.value().to_vector();
    });
  };
  const auto take = [&](const EncodedSentences& batch) {
    const std::vector<double> nats = nats_of(batch);
    for (int64_t c = 0; c < batch.count; ++c) {
      const int64_t length = text.length(batch.first + c);
      if (batch.begin == 0) own.clear();
      for (int64_t t = 0; t < std::min(batch.rows, length - batch.begin); ++t)
        own.push_back(nats[static_cast<size_t>(t * batch.count + c)]);
      if (std::ssize(own) == length) callback(batch.first + c, own);
    }
  };
  encode_sentences(model, tape, text, batch_tokens, take, range);
}

}  // namespace

void score_sentences(const LanguageNetwork& model, Tape& tape, const Corpus& text,
                     int64_t batch_tokens,
                     const std::function<void(int64_t, std::span<const double>)>& callback,
                     double undo_margin, SentenceRange range) {
  score_batches(model, tape, text, batch_tokens, callback, undo_margin, range, nullptr);
}

Evaluation evaluate_sentences(const LanguageNetwork& model, Tape& tape, const Corpus& text,
                              Communicator& communicator, int64_t batch_tokens) {
  Evaluation result;
  result.mixture_weights = MixtureWeightStats::of(model.head_config().spec);
  const std::vector<SentenceRange> batches = sentence_batches(model, text, batch_tokens);
  // Each batch has its own sums, so that the number of processes does not change the result.
  const auto make = [&](int64_t i) {
    std::vector<double> nats, sums;
    MixtureWeightStats weights = result.mixture_weights.zeros();
    score_batches(
        model, tape, text, batch_tokens,
        [&](int64_t, std::span<const double> own) {
          nats.insert(nats.end(), own.begin(), own.end());
        },
        0, batches[static_cast<size_t>(i)], &weights);
    if (weights.sums()) sums = weights.sums().to_vector();
    ByteWriter out;
    out.put(nats);
    out.put(sums);
    return out.take();
  };
  for_shared_parts(communicator, std::ssize(batches), make, [&](std::string_view found) {
    ByteReader in(found);
    for (const double nats : in.list<double>()) {
      result.nats += nats;
      ++result.tokens;
    }
    const std::vector<double> sums = in.list<double>();
    if (sums.empty()) return;
    const MixtureWeightStats weights = result.mixture_weights.zeros();
    std::copy(sums.begin(), sums.end(), weights.sums().data<double>());
    result.mixture_weights.add(weights);
  });
  return result;
}

namespace {

// Returns the nats of each token, read in windows (ScoringOptions::window).
std::vector<double> window_nats(const LanguageNetwork& model, Tape& tape, const Corpus& text,
                                const ScoringOptions& options, Communicator& communicator) {
  const int64_t window = options.window, tokens = text.tokens(),
                windows = (tokens + window - 1) / window,
                at_once = std::max<int64_t>(1, options.batch_tokens / window);
  require(model.window() == 0 || window <= model.window(), "windows of ", window,
          " tokens are longer than the model's, which has ", model.window(), " positions");
  const std::span<const int32_t> flat = text.flat();
  const auto make = [&](int64_t part) {
    const NoGrad guard(tape);
    const int64_t first = part * at_once, cols = std::min(at_once, windows - first),
                  rows = std::min(window, tokens - first * window);
    const auto token = [&](int64_t t, int64_t c) { return (first + c) * window + t; };
    std::vector<int32_t> input(static_cast<size_t>(rows * cols), LmBatch::kPaddingInput),
        target(input.size(), LmBatch::kPaddingTarget);
    for (int64_t t = 0; t < rows; ++t)
      for (int64_t c = 0; c < cols && token(t, c) < tokens; ++c) {
        const auto from = static_cast<size_t>(token(t, c)), to = static_cast<size_t>(t * cols + c);
        input[to] = from > 0 ? flat[from - 1] : Specials::kLanguageModel.end;
        target[to] = flat[from];
      }
    check_interrupt();
    tape.reset();
    std::vector<LstmState> state = model.start_state(tape, cols);
    const Var hidden = model.encode(tape, Tensor::from(input, {rows, cols}), state);
    const Tensor targets = Tensor::from(target, {rows, cols});
    const std::vector<double> nats = options.undo_margin > 0
                                         ? nats_undoing(model, hidden, targets, options.undo_margin)
                                         : model.loss(hidden, targets, 1.0).nll.value().to_vector();
    std::vector<double> in_order;
    for (int64_t c = 0; c < cols; ++c)
      for (int64_t t = 0; t < rows && token(t, c) < tokens; ++t)
        in_order.push_back(nats[static_cast<size_t>(t * cols + c)]);
    ByteWriter out;
    out.put(in_order);
    return out.take();
  };
  std::vector<double> all;
  for_shared_parts(communicator, (windows + at_once - 1) / at_once, make,
                   [&](std::string_view found) {
                     const std::vector<double> nats = ByteReader(found).list<double>();
                     all.insert(all.end(), nats.begin(), nats.end());
                   });
  return all;
}

}  // namespace

void score_text(const LanguageModel& model, const Corpus& text, const ScoringOptions& options,
                const std::function<void(std::span<const double>)>& callback,
                Communicator& communicator) {
  Arena arena("score", model.device());
  Tape tape(arena);
  const auto check = [&](int64_t sentence, std::span<const double> nats) {
    model.network().head().require_log_p(
        text.sentence(sentence), nats, concat("sentence ", options.first_sentence + sentence + 1));
  };
  require(options.window >= 0 && (options.window == 0 || !options.carry_state),
          "[score_text] windows do not carry a state");
  if (!options.carry_state && options.window == 0) {
    const std::vector<SentenceRange> batches = sentence_batches(
        model.network(), text, options.batch_tokens, {.before = options.first_sentence});
    const auto make = [&](int64_t i) {
      ByteWriter out;
      score_sentences(
          model.network(), tape, text, options.batch_tokens,
          [&](int64_t, std::span<const double> nats) { out.put(nats); }, options.undo_margin,
          batches[static_cast<size_t>(i)]);
      return out.take();
    };
    int64_t sentence = 0;
    for_shared_parts(communicator, std::ssize(batches), make, [&](std::string_view result) {
      for (ByteReader in(result); !in.empty();) {
        const std::vector<double> nats = in.list<double>();
        check(sentence++, nats);
        callback(nats);
      }
    });
    return;
  }
  std::vector<double> nats;
  if (options.window > 0)
    nats = window_nats(model.network(), tape, text, options, communicator);
  else
    evaluate_carried(model.network(), tape, text, 10, 100, &nats, communicator,
                     options.undo_margin);
  size_t at = 0;
  for (int64_t s = 0; s < text.sentences(); at += static_cast<size_t>(text.length(s++))) {
    const auto own = std::span<const double>(nats).subspan(at, static_cast<size_t>(text.length(s)));
    check(s, own);
    callback(own);
  }
}

}  // namespace nine
