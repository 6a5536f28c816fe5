#include "nn/models/beam_search.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "core/memory_reserve.h"
#include "core/threads.h"
#include "nn/models/incremental_transformer.h"
#include "nn/models/transformer.h"

namespace nine {
namespace {

using Ids = BeamSearch::Ids;

// A partial translation. This struct holds its last word; the workspace's tables hold the earlier
// words, in the row of the prefix's slot.
struct Prefix {
  int32_t word;
  double log_prob;
};

// An extension of a sentence's prefix by a word.
struct Candidate {
  int64_t prefix;
  int32_t word;
  double log_prob;
};

// A sentence that is being translated.
struct Search {
  int32_t sentence;  // within its batch
  std::vector<Prefix> prefixes;
  Translation finished = {};
  bool top_finished = false;
  bool done = false;
};

// Keeps the best `count` extensions, best first. Drops extensions with probability 0.
void keep_best(std::vector<Candidate>& candidates, int64_t count) {
  std::erase_if(candidates, [](const Candidate& c) { return !std::isfinite(c.log_prob); });
  const auto better = [](const Candidate& a, const Candidate& b) {
    if (a.log_prob != b.log_prob) return a.log_prob > b.log_prob;
    return a.prefix != b.prefix ? a.prefix < b.prefix : a.word < b.word;
  };
  const int64_t kept = std::min(count, static_cast<int64_t>(candidates.size()));
  std::partial_sort(candidates.begin(), candidates.begin() + kept, candidates.end(), better);
  candidates.resize(static_cast<size_t>(kept));
}

}  // namespace

class BeamSearch::Engine {
 public:
  virtual ~Engine() = default;
  virtual const TransformerConfig& config() const = 0;
  /// Translates a batch of sources (with </s>). Results have the order of the sources.
  virtual std::vector<Translation> translate(std::span<const Ids> sources,
                                             const SearchOptions& options) const = 0;
  virtual std::vector<std::vector<double>> score(std::span<const Ids> sources,
                                                 std::span<const Ids> targets) const = 0;
  int32_t end = 2;
};

namespace {

template <class T>
class EngineOf final : public BeamSearch::Engine {
 public:
  explicit EngineOf(const Transformer& model) : model_(model) {}

  const TransformerConfig& config() const override { return model_.config(); }
  std::vector<Translation> translate(std::span<const Ids> sources,
                                     const SearchOptions& options) const override;
  std::vector<std::vector<double>> score(std::span<const Ids> sources,
                                         std::span<const Ids> targets) const override;

 private:
  // A batch's memory, which later batches reuse. Tables have a row for each slot, sentence * slots
  // + prefix.
  struct Workspace {
    explicit Workspace(const IncrementalTransformer<T>& model) : batch(model) {}
    typename IncrementalTransformer<T>::Batch batch;
    typename HeadDecoder<T>::Memory memory;
    typename HeadDecoder<T>::Answer answer;
    std::vector<typename IncrementalTransformer<T>::Row> rows;
    int64_t slots = 0;   // per sentence
    int64_t stride = 0;  // steps that fit in a row of a table
    // (all slots, stride): each prefix's words before the last one, and the slots in which they
    // were decoded.
    std::vector<int32_t> words, ancestors;
    // One sentence's rows of these tables, in the order of the next step.
    std::vector<int32_t> moved;
    // [step][slot]: the attention weights of the source's words.
    std::vector<std::vector<std::vector<float>>> attention;
    std::vector<Candidate> candidates;

    int64_t slot(const Search& s, int64_t prefix) const { return s.sentence * slots + prefix; }
    void start(std::span<const Ids> sources, int64_t beams, int64_t steps, bool keep_attention);
    void keep_attention(int64_t step);
  };
  class Lease;

  void extend(Search& search, int64_t step, int64_t first_row, int64_t k,
              const SearchOptions& options, Workspace& w) const;
  Hypothesis hypothesis(const Search& search, const Candidate& c, int64_t step,
                        const SearchOptions& options, const Workspace& w) const;

  IncrementalTransformer<T> model_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

// Takes a free workspace for the translation of one batch and returns it at the end.
template <class T>
class EngineOf<T>::Lease {
 public:
  explicit Lease(const EngineOf& engine) : engine_(engine) {
    const std::lock_guard lock(engine_.mutex_);
    if (!engine_.idle_.empty()) {
      own_ = std::move(engine_.idle_.back());
      engine_.idle_.pop_back();
    }
  }
  ~Lease() {
    if (!own_) return;
    const std::lock_guard lock(engine_.mutex_);
    engine_.idle_.push_back(std::move(own_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Workspace& get() {
    if (!own_) own_ = std::make_unique<Workspace>(engine_.model_);
    return *own_;
  }

 private:
  const EngineOf& engine_;
  std::unique_ptr<Workspace> own_;
};

template <class T>
void EngineOf<T>::Workspace::start(std::span<const Ids> sources, int64_t beams, int64_t steps,
                                   bool keep_attention) {
  batch.encode(sources, beams);
  batch.keep_attention(keep_attention);
  slots = beams;
  stride = steps;
  const size_t all = sources.size() * static_cast<size_t>(slots * stride);
  words.resize(std::max(words.size(), all));
  ancestors.resize(std::max(ancestors.size(), all));
}

template <class T>
void EngineOf<T>::Workspace::keep_attention(int64_t step) {
  if (static_cast<int64_t>(attention.size()) <= step)
    attention.resize(static_cast<size_t>(step) + 1);
  auto& kept = attention[static_cast<size_t>(step)];
  for (size_t r = 0; r < rows.size(); ++r) {
    const auto slot = static_cast<size_t>(rows[r].slot);
    if (kept.size() <= slot) kept.resize(slot + 1);
    const std::span<const float> weights = batch.attention(static_cast<int64_t>(r));
    kept[slot].assign(weights.begin(), weights.end());
  }
}

// Returns the hypothesis of a finished candidate.
template <class T>
Hypothesis EngineOf<T>::hypothesis(const Search& search, const Candidate& c, int64_t step,
                                   const SearchOptions& options, const Workspace& w) const {
  const int64_t slot = w.slot(search, c.prefix);
  const int32_t *words = w.words.data() + slot * w.stride,
                *ancestors = w.ancestors.data() + slot * w.stride;
  Hypothesis h{
      .words = Ids(words, words + step), .log_prob = c.log_prob, .complete = c.word == end};
  if (!h.complete) h.words.push_back(c.word);
  const auto length = static_cast<int64_t>(h.words.size());
  h.score = c.log_prob / std::pow(static_cast<double>(length + (options.count_end && h.complete)),
                                  options.length_penalty);
  for (int64_t i = 0; i < length && options.attention; ++i) {
    const std::vector<float>& weights =
        w.attention[static_cast<size_t>(i)][static_cast<size_t>(i < step ? ancestors[i] : slot)];
    h.attention.insert(h.attention.end(), weights.begin(), weights.end());
  }
  return h;
}

template <class T>
void EngineOf<T>::extend(Search& search, int64_t step, int64_t first_row, int64_t k,
                         const SearchOptions& options, Workspace& w) const {
  std::vector<Candidate>& candidates = w.candidates;
  candidates.clear();
  for (size_t p = 0; p < search.prefixes.size(); ++p)
    for (int64_t i = 0; i < k; ++i) {
      const auto at = static_cast<size_t>((first_row + static_cast<int64_t>(p)) * k + i);
      if (w.answer.words[at] == options.excluded) continue;
      candidates.push_back({static_cast<int64_t>(p), w.answer.words[at],
                            search.prefixes[p].log_prob + w.answer.log_probs[at]});
    }
  keep_best(candidates, 2 * options.beam);

  const bool last = step + 1 == w.stride;
  const auto first_spare = std::min(candidates.size(), static_cast<size_t>(options.beam));
  size_t spare = first_spare;
  const auto next_spare = [&] {
    while (spare < candidates.size() && candidates[spare].word == end) ++spare;
    return spare < candidates.size() ? &candidates[spare++] : nullptr;
  };
  search.prefixes.clear();
  w.moved.clear();
  for (size_t i = 0; i < first_spare; ++i) {
    const Candidate* c = &candidates[i];
    if (c->word == end || last) {
      search.top_finished = search.top_finished || i == 0;
      search.finished.push_back(hypothesis(search, *c, step, options, w));
      c = last ? nullptr : next_spare();
      if (c == nullptr) continue;
    }
    const int64_t slot = w.slot(search, c->prefix);
    for (const auto& [table, added] :
         {std::pair(&w.words, c->word), std::pair(&w.ancestors, static_cast<int32_t>(slot))}) {
      const auto begin = table->begin() + slot * w.stride;
      w.moved.insert(w.moved.end(), begin, begin + step);
      w.moved.push_back(added);
    }
    search.prefixes.push_back({c->word, c->log_prob});
  }
  const auto from = w.moved.begin();
  for (int64_t p = 0, length = step + 1; p < static_cast<int64_t>(search.prefixes.size()); ++p) {
    std::copy_n(from + 2 * p * length, length, w.words.begin() + w.slot(search, p) * w.stride);
    std::copy_n(from + (2 * p + 1) * length, length,
                w.ancestors.begin() + w.slot(search, p) * w.stride);
  }
  const auto found = static_cast<int64_t>(search.finished.size());
  const bool enough = options.length_penalty == 0 ? search.top_finished && found >= options.n_best
                                                  : found >= options.beam;
  search.done = last || enough || search.prefixes.empty();
}

template <class T>
std::vector<Translation> EngineOf<T>::translate(std::span<const Ids> sources,
                                                const SearchOptions& options) const {
  Lease lease(*this);
  Workspace& w = lease.get();
  w.start(sources, options.beam, std::min(options.max_length, config().max_length),
          options.attention);
  std::vector<Search> alive;
  for (size_t s = 0; s < sources.size(); ++s)
    alive.push_back({static_cast<int32_t>(s), {{end, 0}}});
  std::vector<Translation> found(sources.size());
  for (int64_t step = 0; !alive.empty(); ++step) {
    require_memory();
    w.rows.clear();
    for (const Search& s : alive)
      for (size_t p = 0; p < s.prefixes.size(); ++p)
        w.rows.push_back({s.sentence, static_cast<int32_t>(w.slot(s, static_cast<int64_t>(p))),
                          s.prefixes[p].word});
    const T* hidden = w.batch.step(step, w.rows, w.ancestors.data(), w.stride);
    if (options.attention) w.keep_attention(step);
    const int32_t excluded = step == 0 ? end : -1;
    const int64_t wanted = 2 * options.beam + (options.excluded >= 0),
                  k = std::min(wanted, model_.head().words() - (excluded >= 0));
    model_.head()(
        {.h = hidden, .rows = static_cast<int64_t>(w.rows.size()), .k = k, .excluded = excluded},
        w.memory, w.answer);
    int64_t row = 0;
    for (Search& s : alive) {
      const auto rows = static_cast<int64_t>(s.prefixes.size());
      extend(s, step, row, k, options, w);
      row += rows;
      if (!s.done) continue;
      require(!s.finished.empty(),
              "[BeamSearch] a sentence has no translation whose probability is a number above 0: "
              "the model's weights are not finite, or far too large");
      std::stable_sort(s.finished.begin(), s.finished.end(),
                       [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
      if (static_cast<int64_t>(s.finished.size()) > options.n_best)
        s.finished.resize(static_cast<size_t>(options.n_best));
      found[static_cast<size_t>(s.sentence)] = std::move(s.finished);
    }
    std::erase_if(alive, [](const Search& s) { return s.done; });
  }
  return found;
}

template <class T>
std::vector<std::vector<double>> EngineOf<T>::score(std::span<const Ids> sources,
                                                    std::span<const Ids> targets) const {
  Lease lease(*this);
  Workspace& w = lease.get();
  size_t longest = 0;
  for (const Ids& t : targets) longest = std::max(longest, t.size());
  w.start(sources, 1, static_cast<int64_t>(longest) + 1, false);
  for (size_t s = 0; s < sources.size(); ++s)
    std::fill_n(w.ancestors.begin() + static_cast<int64_t>(s) * w.stride, w.stride,
                static_cast<int32_t>(s));
  std::vector<std::vector<double>> out(sources.size());
  Ids step_targets;
  for (size_t step = 0; step <= longest; ++step) {
    require_memory();
    w.rows.clear();
    step_targets.clear();
    for (size_t s = 0; s < targets.size(); ++s) {
      const Ids& target = targets[s];
      if (step > target.size()) continue;
      const auto slot = static_cast<int32_t>(s);
      w.rows.push_back({slot, slot, step == 0 ? end : target[step - 1]});
      step_targets.push_back(step < target.size() ? target[step] : end);
    }
    const T* hidden =
        w.batch.step(static_cast<int64_t>(step), w.rows, w.ancestors.data(), w.stride);
    model_.head()(
        {.h = hidden, .rows = static_cast<int64_t>(w.rows.size()), .targets = step_targets},
        w.memory, w.answer);
    for (size_t r = 0; r < w.rows.size(); ++r)
      out[static_cast<size_t>(w.rows[r].sentence)].push_back(w.answer.log_probs[r]);
  }
  return out;
}

// Runs f on batches of the sentences in `order`, longest first, several batches in parallel. Makes
// smaller batches if there are fewer batches than threads. Calls `progress` with the number of
// finished sentences, counted from `done`.
template <class F>
void for_batches(std::span<const size_t> order, int64_t batch, const BeamSearch::Progress& progress,
                 int64_t done, F&& f) {
  const auto all = static_cast<int64_t>(order.size());
  const int64_t size = std::max<int64_t>(1, std::min(batch, (all + threads() - 1) / threads()));
  std::mutex mutex;
  const auto run = [&](int64_t begin, int64_t end) {
    f(order.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    if (!progress) return;
    const std::lock_guard lock(mutex);
    progress(done += end - begin);
  };
  if (all <= size) {
    if (all > 0) run(0, all);  // one batch: the threads share its products
    return;
  }
  parallel_ranges(all, size, run);
}

std::vector<size_t> longest_first(std::span<const Ids> sources) {
  std::vector<size_t> order;
  for (size_t i = 0; i < sources.size(); ++i)
    if (!sources[i].empty()) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sources[a].size() > sources[b].size(); });
  return order;
}

}  // namespace

BeamSearch::BeamSearch(const Transformer& model, int32_t end) {
  if (model.dtype() == DType::float64) {
    engine_ = std::make_unique<EngineOf<double>>(model);
  } else {
    engine_ = std::make_unique<EngineOf<float>>(model);
  }
  require(end >= 0 && end < model.config().tgt_vocab && end < model.config().src_vocab,
          "[BeamSearch] </s> is word ", end, ", outside of a dictionary");
  engine_->end = end;
}
BeamSearch::~BeamSearch() = default;
BeamSearch::BeamSearch(BeamSearch&&) noexcept = default;
BeamSearch& BeamSearch::operator=(BeamSearch&&) noexcept = default;

int64_t BeamSearch::max_words() const { return engine_->config().max_length - 1; }

void BeamSearch::check_lengths(std::span<const Ids> all) const {
  for (size_t i = 0; i < all.size(); ++i)
    require(static_cast<int64_t>(all[i].size()) <= max_words(), "[BeamSearch] sentence ", i + 1,
            " has ", all[i].size(), " words, but the model has positions for ", max_words(),
            ": cut it into several");
}

std::vector<Ids> BeamSearch::with_end(std::span<const Ids> all,
                                      std::span<const size_t> part) const {
  std::vector<Ids> out;
  for (const size_t i : part) {
    out.push_back(all[i]);
    out.back().push_back(engine_->end);
  }
  return out;
}

std::vector<Translation> BeamSearch::translate(std::span<const Ids> sources,
                                               const SearchOptions& options,
                                               const Progress& progress) const {
  const SearchOptions& o = options;
  require(o.beam >= 1 && o.n_best >= 1 && o.n_best <= o.beam, "[BeamSearch] beam ", o.beam,
          " and n-best ", o.n_best, ": both must be at least 1, and n-best at most the beam");
  require(o.max_length >= 1 && o.batch >= 1, "[BeamSearch] max length ", o.max_length,
          " and batch ", o.batch, ": both must be at least 1");
  require(o.excluded < engine_->config().tgt_vocab && o.excluded != engine_->end,
          "[BeamSearch] the excluded word is ", o.excluded,
          ": it must be a word of the target dictionary other than </s>");
  require(std::isfinite(o.length_penalty),
          "[BeamSearch] the length penalty must be finite, but is ", o.length_penalty);
  check_lengths(sources);
  std::vector<Translation> out(sources.size(), Translation(1));
  const std::vector<size_t> order = longest_first(sources);
  const auto empty = static_cast<int64_t>(sources.size() - order.size());
  for_batches(order, o.batch, progress, empty, [&](std::span<const size_t> part) {
    std::vector<Translation> found = engine_->translate(with_end(sources, part), o);
    for (size_t i = 0; i < part.size(); ++i) out[part[i]] = std::move(found[i]);
  });
  return out;
}

std::vector<std::vector<double>> BeamSearch::score(std::span<const Ids> sources,
                                                   std::span<const Ids> targets, int64_t batch,
                                                   const Progress& progress) const {
  require(sources.size() == targets.size(), "[BeamSearch] ", sources.size(), " sources and ",
          targets.size(), " translations");
  check_lengths(sources);
  check_lengths(targets);
  std::vector<std::vector<double>> out(sources.size());
  std::vector<size_t> order(sources.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return targets[a].size() > targets[b].size(); });
  for_batches(order, batch, progress, 0, [&](std::span<const size_t> part) {
    std::vector<Ids> given;
    for (const size_t i : part) given.push_back(targets[i]);
    std::vector<std::vector<double>> found = engine_->score(with_end(sources, part), given);
    for (size_t i = 0; i < part.size(); ++i) out[part[i]] = std::move(found[i]);
  });
  return out;
}

}  // namespace nine
