#include "nn/models/shared_beginnings.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "autograd/functions.h"
#include "core/interrupt.h"
#include "data/vocabulary.h"
#include "nn/models/language_network.h"
#include "nn/models/score_text.h"

namespace nine {
namespace {

using Ids = std::span<const int32_t>;

// Returns the rows of x with these numbers; x itself if these are all of its rows in order.
Var rows_of(const Var& x, const std::vector<int32_t>& rows) {
  bool all = std::ssize(rows) == x.shape().rows();
  for (size_t r = 0; all && r < rows.size(); ++r) all = rows[r] == static_cast<int32_t>(r);
  return all ? x : embedding(x, x.tape().on_device(Tensor::from(rows, {std::ssize(rows)})));
}

// The beginnings of a batch of sentences, as a tree. A prediction is a beginning with the token
// behind it.
class BeginningTree {
 public:
  int64_t predictions() const { return predictions_; }

  // Adds a sentence whose first `known` tokens are those of the sentence before it.
  void add(Ids sentence, size_t known) {
    path_.resize(known);
    for (size_t length = known; length < sentence.size(); ++length) {
      if (length == levels_.size()) levels_.emplace_back();
      const int32_t beginning = length == 0 ? 0 : after(levels_[length - 1], path_[length - 1]);
      Level& level = levels_[length];
      path_.push_back(level.tokens.size());
      level.tokens.push_back(sentence[length]);
      level.beginnings.push_back(beginning);
      level.after.push_back(kNone);
      ++predictions_;
    }
    paths_.push_back(path_);
  }

  // Computes the nats of each prediction, level by level.
  void compute(const LanguageNetwork& network, Tape& tape) {
    if (levels_.empty()) return;
    const NoGrad guard(tape);
    tape.reset();
    std::vector<LstmState> state = network.start_state(tape, 1);
    std::vector<int32_t> read{Specials::kLanguageModel.end}, targets;  // </s> begins a sentence
    std::vector<Var> contexts;
    for (Level& level : levels_) {
      const Var hidden = network.encode(tape, Tensor::from(read, {1, std::ssize(read)}), state);
      contexts.push_back(rows_of(hidden, level.beginnings));
      level.first = targets.size();
      targets.insert(targets.end(), level.tokens.begin(), level.tokens.end());
      read.clear();
      std::vector<int32_t> from;
      for (const size_t prediction : level.longer) {
        read.push_back(level.tokens[prediction]);
        from.push_back(level.beginnings[prediction]);
      }
      if (read.empty()) break;
      for (LstmState& layer : state) layer = {rows_of(layer.h, from), rows_of(layer.c, from)};
    }
    nats_ = network.loss(concat_rows(contexts), Tensor::from(targets, {std::ssize(targets)}), 1.0)
                .nll.value()
                .to_vector();
    tape.reset();
  }
  // The nats of the token behind the first `length` tokens of a sentence, in the order of add().
  double nats(size_t sentence, size_t length) const {
    return nats_[levels_[length].first + paths_[sentence][length]];
  }

 private:
  static constexpr int32_t kNone = -1;
  // The predictions behind the beginnings of one length.
  struct Level {
    std::vector<int32_t> tokens, beginnings;  // beginnings: columns
    std::vector<int32_t> after;  // the column of the beginning that includes the token; kNone
    std::vector<size_t> longer;  // predictions whose tokens are read, by the column after them
    size_t first = 0;            // the number of predictions in the levels before
  };
  // Returns the column of the beginning that ends with a prediction's token.
  static int32_t after(Level& level, size_t prediction) {
    int32_t& column = level.after[prediction];
    if (column == kNone) {
      column = static_cast<int32_t>(level.longer.size());
      level.longer.push_back(prediction);
    }
    return column;
  }

  std::vector<Level> levels_;               // by the length of the beginnings
  std::vector<std::vector<size_t>> paths_;  // of each sentence, its prediction in each level
  std::vector<size_t> path_;                // of the last sentence
  std::vector<double> nats_;
  int64_t predictions_ = 0;
};

size_t shared_length(Ids a, Ids b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

int64_t score_shared_beginnings(const LanguageModel& model, const Corpus& text,
                                const ScoringOptions& options,
                                const std::function<void(std::span<const double>)>& callback,
                                const std::function<void(int64_t)>& progress) {
  const LanguageNetwork& network = model.network();
  bool shares = network.window() == 0 && !options.carry_state && options.window == 0 &&
                options.undo_margin == 0;
  for (int64_t s = 0; shares && s < text.sentences(); ++s)
    shares = text.length(s) <= options.batch_tokens;
  if (!shares) {
    int64_t done = 0;
    score_text(model, text, options, [&](std::span<const double> nats) {
      callback(nats);
      done += std::ssize(nats);
      if (progress) progress(done);
    });
    return text.tokens();
  }
  std::vector<int64_t> order(static_cast<size_t>(text.sentences()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](int64_t a, int64_t b) {
    const Ids x = text.sentence(a), y = text.sentence(b);
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
  });
  Arena arena("score", model.device());
  Tape tape(arena);
  std::vector<double> all(static_cast<size_t>(text.tokens()));
  int64_t predictions = 0, done = 0;
  for (size_t first = 0, end = 0; first < order.size(); first = end) {
    check_interrupt();
    BeginningTree tree;
    for (; end < order.size(); ++end) {
      const Ids sentence = text.sentence(order[end]);
      const size_t known =
          end == first ? 0 : shared_length(sentence, text.sentence(order[end - 1]));
      const auto more = static_cast<int64_t>(sentence.size() - known);
      if (end > first && tree.predictions() + more > options.batch_tokens) break;
      tree.add(sentence, known);
    }
    try {
      tree.compute(network, tape);
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& e) {  // whose row is one of the tree
      fail("sentence ", options.first_sentence + order[first] + 1,
           end - first > 1 ? concat(" or one of ", end - first - 1, " computed with it")
                           : std::string(),
           ": ", e.what());
    }
    predictions += tree.predictions();
    for (size_t i = first; i < end; ++i) {
      const auto length = static_cast<size_t>(text.length(order[i]));
      const std::span<double> own = std::span(all).subspan(text.begin(order[i]), length);
      for (size_t t = 0; t < length; ++t) own[t] = tree.nats(i - first, t);
      done += std::ssize(own);
    }
    if (progress) progress(done);
  }
  for (int64_t s = 0; s < text.sentences(); ++s) {
    const auto own =
        std::span<const double>(all).subspan(text.begin(s), static_cast<size_t>(text.length(s)));
    network.head().require_log_p(text.sentence(s), own,
                                 concat("sentence ", options.first_sentence + s + 1));
    callback(own);
  }
  return predictions;
}

}  // namespace nine
