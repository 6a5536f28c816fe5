#include "nn/models/beam_search.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "autograd/packed_weights.h"
#include "core/memory_reserve.h"
#include "core/op_table.h"
#include "core/threads.h"
#include "nn/decoding_head.h"
#include "nn/models/translation_decoder.h"

namespace nine {
namespace {

using Ids = BeamSearch::Ids;

}  // namespace

// A model prepared for decoding.
class BeamSearch::Engine {
 public:
  Engine(const Transformer& model, int32_t end_word, Device device)
      : end(end_word),
        copy_(model.device() == device ? nullptr : std::make_unique<ModelCopy>(model, device)),
        model_(copy_ ? copy_->model : model),
        head_(model_.head()) {
    model_.pack(packed_);
  }

  const TransformerConfig& config() const { return model_.config(); }
  Device device() const { return model_.device(); }
  /// Translates a batch of sources (with </s>). Results have the order of the sources.
  std::vector<Translation> translate(std::span<const Ids> sources,
                                     const SearchOptions& options) const;
  std::vector<std::vector<double>> score(std::span<const Ids> sources,
                                         std::span<const Ids> targets) const;
  const int32_t end;

 private:
  // A partial translation. The decoder has read it up to its last word, which is here.
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
  // A model's copy on another device.
  struct ModelCopy {
    ModelCopy(const Transformer& of, Device device)
        : set({.dtype = of.dtype(), .gradients = false, .device = device}),
          model(set, of.config()) {
      Safetensors weights;
      for (const NamedView& part : of.parameters().state()) {
        const Tensor value(part.view.shape, part.view.dtype);
        ops::copy(part.view, value);
        weights.tensors.emplace(part.name, value);
      }
      set.load(weights);
      model.use_positions(of.positions().to(kCpu));
    }
    ParameterSet set;
    Transformer model;
  };
  // A batch's memory, which later batches reuse. Slot sentence * beams + prefix reads a prefix.
  struct Workspace {
    // Takes half of what is left, so that caches and other threads have memory too.
    explicit Workspace(const Engine& engine)
        : arena("translate", engine.device(),
                op_table(engine.device()).available(engine.device().index) / 2),
          tape(arena),
          guard(tape),
          decoder(engine.model_, engine.packed_) {}
    Arena arena;
    Tape tape;
    NoGrad guard;
    TranslationDecoder decoder;
    DecodingHead::Memory memory;
    WordScores best;
    std::vector<DecoderRow> rows;
    std::vector<int32_t> order;  // the slot that each slot continues
    int64_t beams = 0;           // slots of a sentence
    // The attention weights of each row that the decoder has read.
    std::vector<std::vector<float>> attention;
    std::vector<Candidate> candidates;

    size_t slot(const Search& s, int64_t prefix) const {
      return static_cast<size_t>(s.sentence * beams + prefix);
    }
    void start(std::span<const Ids> sources, int64_t slots_of_each, bool keep_attention) {
      decoder.encode(tape, sources);
      beams = slots_of_each;
      decoder.start(std::ssize(sources) * beams);
      decoder.keep_attention(keep_attention);
      attention.clear();
    }
    Var step() {
      tape.reset();
      return decoder.step(tape, rows);
    }
  };
  class Lease;

  static void keep_best(std::vector<Candidate>& candidates, int64_t count);
  void extend(Search& search, int64_t step, int64_t first_row, int64_t k,
              const SearchOptions& options, Workspace& w) const;
  Hypothesis hypothesis(const Search& search, const Candidate& c, const SearchOptions& options,
                        const Workspace& w) const;
  int64_t most_words(const SearchOptions& options) const {
    return std::min(options.max_length, config().max_length);
  }

  const std::unique_ptr<ModelCopy> copy_;
  const Transformer& model_;
  PackedWeights packed_;
  DecodingHead head_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

// Takes a free workspace for the translation of one batch and returns it at the end.
class BeamSearch::Engine::Lease {
 public:
  explicit Lease(const Engine& engine) : engine_(engine) {
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
    if (!own_) own_ = std::make_unique<Workspace>(engine_);
    return *own_;
  }

 private:
  const Engine& engine_;
  std::unique_ptr<Workspace> own_;
};

// Keeps the best `count` extensions, best first. Drops extensions with probability 0.
void BeamSearch::Engine::keep_best(std::vector<Candidate>& candidates, int64_t count) {
  std::erase_if(candidates, [](const Candidate& c) { return !std::isfinite(c.log_prob); });
  const auto better = [](const Candidate& a, const Candidate& b) {
    if (a.log_prob != b.log_prob) return a.log_prob > b.log_prob;
    return a.prefix != b.prefix ? a.prefix < b.prefix : a.word < b.word;
  };
  const int64_t kept = std::min(count, static_cast<int64_t>(candidates.size()));
  std::partial_sort(candidates.begin(), candidates.begin() + kept, candidates.end(), better);
  candidates.resize(static_cast<size_t>(kept));
}

// Returns the hypothesis of a finished candidate. Its prefix has read </s> and its words but the
// candidate's.
Hypothesis BeamSearch::Engine::hypothesis(const Search& search, const Candidate& c,
                                          const SearchOptions& options, const Workspace& w) const {
  const ReadWords& read = w.decoder.read();
  const auto slot = static_cast<int64_t>(w.slot(search, c.prefix));
  const std::span<const int32_t> words = read.words(slot).subspan(1), rows = read.rows(slot);
  Hypothesis h{
      .words = Ids(words.begin(), words.end()), .log_prob = c.log_prob, .complete = c.word == end};
  if (!h.complete) h.words.push_back(c.word);
  const size_t length = h.words.size();
  h.score =
      c.log_prob / std::pow(static_cast<double>(length) + (options.count_end && h.complete ? 1 : 0),
                            options.length_penalty);
  for (size_t i = 0; i < length && options.attention; ++i) {
    const std::vector<float>& weights = w.attention[static_cast<size_t>(rows[i])];
    h.attention.insert(h.attention.end(), weights.begin(), weights.end());
  }
  return h;
}

void BeamSearch::Engine::extend(Search& search, int64_t step, int64_t first_row, int64_t k,
                                const SearchOptions& options, Workspace& w) const {
  std::vector<Candidate>& candidates = w.candidates;
  candidates.clear();
  for (size_t p = 0; p < search.prefixes.size(); ++p)
    for (int64_t i = 0; i < k; ++i) {
      const auto at = static_cast<size_t>((first_row + static_cast<int64_t>(p)) * k + i);
      if (w.best.words[at] == options.excluded) continue;
      candidates.push_back({static_cast<int64_t>(p), w.best.words[at],
                            search.prefixes[p].log_prob + w.best.log_probs[at]});
    }
  keep_best(candidates, 2 * options.beam);

  const bool last = step + 1 == most_words(options);
  const auto first_spare = std::min(candidates.size(), static_cast<size_t>(options.beam));
  size_t spare = first_spare;
  const auto next_spare = [&] {
    while (spare < candidates.size() && candidates[spare].word == end) ++spare;
    return spare < candidates.size() ? &candidates[spare++] : nullptr;
  };
  search.prefixes.clear();
  for (size_t i = 0; i < first_spare; ++i) {
    const Candidate* c = &candidates[i];
    if (c->word == end || last) {
      search.top_finished = search.top_finished || i == 0;
      search.finished.push_back(hypothesis(search, *c, options, w));
      c = last ? nullptr : next_spare();
      if (c == nullptr) continue;
    }
    w.order[w.slot(search, std::ssize(search.prefixes))] =
        static_cast<int32_t>(w.slot(search, c->prefix));
    search.prefixes.push_back({c->word, c->log_prob});
  }
  const auto found = static_cast<int64_t>(search.finished.size());
  const bool enough = options.length_penalty == 0 ? search.top_finished && found >= options.n_best
                                                  : found >= options.beam;
  search.done = last || enough || search.prefixes.empty();
}

std::vector<Translation> BeamSearch::Engine::translate(std::span<const Ids> sources,
                                                       const SearchOptions& options) const {
  Lease lease(*this);
  Workspace& w = lease.get();
  w.start(sources, options.beam, options.attention);
  std::vector<Search> alive;
  for (size_t s = 0; s < sources.size(); ++s)
    alive.push_back({static_cast<int32_t>(s), {{end, 0}}});
  std::vector<Translation> found(sources.size());
  for (int64_t step = 0; !alive.empty(); ++step) {
    require_memory();
    w.rows.clear();
    for (const Search& s : alive)
      for (int64_t p = 0; p < std::ssize(s.prefixes); ++p)
        w.rows.push_back(
            {static_cast<int32_t>(w.slot(s, p)), s.prefixes[static_cast<size_t>(p)].word});
    const Var hidden = w.step();
    for (int64_t r = 0; r < std::ssize(w.rows) && options.attention; ++r) {
      const std::span<const float> weights = w.decoder.attention(r);
      w.attention.emplace_back(weights.begin(), weights.end());
    }
    const int32_t excluded = step == 0 ? end : -1;
    const int64_t wanted = 2 * options.beam + (options.excluded >= 0),
                  k = std::min(wanted, head_.words() - (excluded >= 0));
    head_.best_words(hidden, k, excluded, w.memory, w.best);
    w.order.assign(sources.size() * static_cast<size_t>(w.beams), -1);
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
    w.decoder.reorder(w.order);
  }
  return found;
}

std::vector<std::vector<double>> BeamSearch::Engine::score(std::span<const Ids> sources,
                                                           std::span<const Ids> targets) const {
  Lease lease(*this);
  Workspace& w = lease.get();
  size_t longest = 0;
  for (const Ids& t : targets) longest = std::max(longest, t.size());
  w.start(sources, 1, false);
  std::vector<std::vector<double>> out(sources.size());
  Ids step_targets;
  for (size_t step = 0; step <= longest; ++step) {
    require_memory();
    w.rows.clear();
    step_targets.clear();
    for (size_t s = 0; s < targets.size(); ++s) {
      const Ids& target = targets[s];
      if (step > target.size()) continue;
      w.rows.push_back({static_cast<int32_t>(s), step == 0 ? end : target[step - 1]});
      step_targets.push_back(step < target.size() ? target[step] : end);
    }
    const std::vector<double> log_p = head_.log_probs(w.step(), step_targets, w.memory);
    for (size_t r = 0; r < w.rows.size(); ++r)
      out[static_cast<size_t>(w.rows[r].slot)].push_back(log_p[r]);
  }
  return out;
}

namespace {

// Runs f on batches of the sentences in `order`, longest first, on the CPU several batches in
// parallel. Makes smaller batches if there are fewer batches than threads. Calls `progress` with
// the number of finished sentences, counted from `done`.
template <class F>
void for_batches(Device device, std::span<const size_t> order, int64_t batch,
                 const BeamSearch::Progress& progress, int64_t done, F&& f) {
  const auto all = static_cast<int64_t>(order.size());
  const bool parallel = device.kind == DeviceKind::cpu;
  const int64_t parts = parallel ? threads() : 1,
                size = std::max<int64_t>(1, std::min(batch, (all + parts - 1) / parts));
  std::mutex mutex;
  const auto run = [&](int64_t begin, int64_t end) {
    f(order.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    if (!progress) return;
    const std::lock_guard lock(mutex);
    progress(done += end - begin);
  };
  if (all <= size || !parallel) {  // the threads share a batch's products
    for (int64_t first = 0; first < all; first += size) run(first, std::min(all, first + size));
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

BeamSearch::BeamSearch(const Transformer& model, int32_t end, Device device)
    : engine_(std::make_unique<Engine>(model, end, device)) {
  require(end >= 0 && end < model.config().tgt_vocab && end < model.config().src_vocab,
          "[BeamSearch] </s> is word ", end, ", outside of a dictionary");
}
BeamSearch::~BeamSearch() = default;
BeamSearch::BeamSearch(BeamSearch&&) noexcept = default;
BeamSearch& BeamSearch::operator=(BeamSearch&&) noexcept = default;

int64_t BeamSearch::max_words() const { return engine_->config().max_length - 1; }

void BeamSearch::check_sentences(std::span<const Ids> all, int64_t words) const {
  for (size_t i = 0; i < all.size(); ++i) {
    require(static_cast<int64_t>(all[i].size()) <= max_words(), "[BeamSearch] sentence ", i + 1,
            " has ", all[i].size(), " words, but the model has positions for ", max_words(),
            ": cut it into several");
    for (const int32_t word : all[i])
      require(word >= 0 && word < words, "[BeamSearch] word ", word,
              " is outside of the dictionary of ", words);
  }
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
  check_sentences(sources, engine_->config().src_vocab);
  std::vector<Translation> out(sources.size(), Translation(1));
  const std::vector<size_t> order = longest_first(sources);
  const auto empty = static_cast<int64_t>(sources.size() - order.size());
  for_batches(engine_->device(), order, o.batch, progress, empty,
              [&](std::span<const size_t> part) {
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
  check_sentences(sources, engine_->config().src_vocab);
  check_sentences(targets, engine_->config().tgt_vocab);
  std::vector<std::vector<double>> out(sources.size());
  std::vector<size_t> order(sources.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return targets[a].size() > targets[b].size(); });
  for_batches(engine_->device(), order, batch, progress, 0, [&](std::span<const size_t> part) {
    std::vector<Ids> given;
    for (const size_t i : part) given.push_back(targets[i]);
    std::vector<std::vector<double>> found = engine_->score(with_end(sources, part), given);
    for (size_t i = 0; i < part.size(); ++i) out[part[i]] = std::move(found[i]);
  });
  return out;
}

}  // namespace nine
