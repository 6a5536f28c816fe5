#include "nn/models/beam_search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>
#include <numeric>

#include "autograd/packed_weights.h"
#include "core/interrupt.h"
#include "core/memory_reserve.h"
#include "core/op_table.h"
#include "core/threads.h"
#include "nn/models/next_words.h"
#include "nn/models/translation_decoder.h"

namespace nine {
namespace {

using Ids = BeamSearch::Ids;

}  // namespace

// Models prepared for decoding.
class BeamSearch::Engine {
 public:
  Engine(std::span<const Transformer* const> models, int32_t end_word, Device device)
      : end(end_word), members_(members_of(models, device)), head_(heads_of(members_)) {
    for (const Member& member : members_) {
      const TransformerConfig& c = member.model->config();
      require(c.src_vocab == source_words() && c.tgt_vocab == head_.words(),
              "[BeamSearch] an ensemble's models have the same dictionaries, not ", source_words(),
              " and ", head_.words(), " words in one and ", c.src_vocab, " and ", c.tgt_vocab,
              " in another");
      positions_ = std::min(positions_, c.max_length);
    }
  }

  int64_t source_words() const { return members_.front().model->config().src_vocab; }
  int64_t target_words() const { return head_.words(); }
  /// Returns the most positions that all models have.
  int64_t positions() const { return positions_; }
  Device device() const { return members_.front().model->device(); }

  /// A sentence to translate.
  struct Source {
    Ids words;  // with </s>
    Ids prefix = {};
    int64_t number = 0;  // of its random numbers
  };
  /// Translates a batch, by search or by sampling. Results have the order of the sources.
  std::vector<Translation> translate(std::span<const Source> sources,
                                     const SearchOptions& options) const {
    return options.samples > 0 ? sample(sources, options) : search(sources, options);
  }
  std::vector<std::vector<double>> score(std::span<const Source> sources,
                                         std::span<const Ids> targets) const;
  const int32_t end;

 private:
  // A partial translation. The decoders have read it up to its last word, which is here with its
  // own log p.
  struct Prefix {
    int32_t word = 0;
    double log_prob = 0, own = 0;
  };
  // An extension of the prefix in a slot by a word.
  struct Candidate {
    size_t slot = 0;
    Prefix to;
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
      if (of.positions()) model.use_positions(of.positions().to(kCpu));
    }
    ParameterSet set;
    Transformer model;
  };
  struct Member {
    std::unique_ptr<ModelCopy> copy;
    const Transformer* model;
    PackedWeights packed = {};
  };
  static std::deque<Member> members_of(std::span<const Transformer* const> models, Device device) {
    std::deque<Member> members;
    for (const Transformer* model : models) {
      std::unique_ptr<ModelCopy> copy;
      if (model->device() != device) copy = std::make_unique<ModelCopy>(*model, device);
      const Transformer* used = copy ? &copy->model : model;
      members.push_back({std::move(copy), used});
      used->pack(members.back().packed);
    }
    return members;
  }
  static DecodingHead heads_of(const std::deque<Member>& members) {
    std::vector<const SoftmaxHead*> heads;
    for (const Member& member : members) heads.push_back(&member.model->head());
    return DecodingHead(heads);
  }
  // A batch's memory, which later batches reuse. Slot sentence * beams + prefix reads a prefix.
  struct Workspace {
    // Takes a part of what is left, so that caches and other threads' workspaces have memory too.
    explicit Workspace(const Engine& engine)
        : arena("translate", engine.device(),
                op_table(engine.device()).available(engine.device().index) /
                    static_cast<size_t>(2 + 2 * threads())),
          tape(arena),
          guard(tape) {
      for (const Member& member : engine.members_)
        decoders.emplace_back(*member.model, member.packed);
    }
    Arena arena;
    Tape tape;
    NoGrad guard;
    std::deque<TranslationDecoder> decoders;  // one for each model
    DecodingHead::Memory memory;
    WordScores best;
    std::vector<DecoderRow> rows;
    std::vector<Var> contexts;   // of each model
    std::vector<int32_t> order;  // the slot that each slot continues
    int64_t beams = 0;           // slots of a sentence
    bool keep_attention = false;
    // Of each row that the decoders have read: log p of its word, and its attention weights.
    std::vector<double> own;
    std::vector<std::vector<float>> attention;
    std::vector<double> forced;  // log p of each row's next word, if the caller has given it
    std::vector<Candidate> candidates;

    const ReadWords& read() const { return decoders.front().read(); }
    size_t slot(int32_t sentence, int64_t prefix) const {
      return static_cast<size_t>(sentence * beams + prefix);
    }
    void start(std::span<const Source> sources, int64_t slots_of_each, bool attend) {
      std::vector<Ids> words;
      for (const Source& source : sources) words.push_back(source.words);
      beams = slots_of_each;
      keep_attention = attend;
      for (TranslationDecoder& decoder : decoders) {
        decoder.encode(tape, words);
        decoder.start(std::ssize(sources) * beams);
        decoder.keep_attention(attend);
      }
      own.clear();
      attention.clear();
      start_rows();
    }
    void start_rows() {
      rows.clear();
      order.assign(static_cast<size_t>(read().slots()), -1);
    }
    void add_row(size_t in_slot, const Prefix& prefix) {
      rows.push_back({static_cast<int32_t>(in_slot), prefix.word});
      own.push_back(prefix.own);
    }
    void step();
    // Fills `forced` for rows whose source's prefix goes on at this step.
    void force(const DecodingHead& head, std::span<const Source> sources, int64_t step,
               int32_t end);
  };
  class Lease;

  std::vector<Translation> search(std::span<const Source> sources,
                                  const SearchOptions& options) const;
  std::vector<Translation> sample(std::span<const Source> sources,
                                  const SearchOptions& options) const;
  static void keep_best(std::vector<Candidate>& candidates, int64_t count);
  void extend(Search& search, const Source& source, int64_t step, int64_t first_row, int64_t k,
              const SearchOptions& options, Workspace& w) const;
  Hypothesis hypothesis(const Candidate& c, const SearchOptions& options, const Workspace& w) const;
  int64_t most_words(const SearchOptions& options) const {
    return std::min(options.max_length, positions_);
  }

  std::deque<Member> members_;
  DecodingHead head_;
  int64_t positions_ = std::numeric_limits<int64_t>::max();
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

// Lets the decoders read the rows. Attention is the mean over the models.
void BeamSearch::Engine::Workspace::step() {
  check_interrupt();
  require_memory();
  tape.reset();
  contexts.clear();
  for (TranslationDecoder& decoder : decoders) contexts.push_back(decoder.step(tape, rows));
  for (int64_t r = 0; r < std::ssize(rows) && keep_attention; ++r) {
    const std::span<const float> first = decoders.front().attention(r);
    std::vector<float>& mean = attention.emplace_back(first.begin(), first.end());
    for (size_t d = 1; d < decoders.size(); ++d)
      for (size_t i = 0; i < mean.size(); ++i) mean[i] += decoders[d].attention(r)[i];
    for (float& x : mean) x /= static_cast<float>(decoders.size());
  }
}

void BeamSearch::Engine::Workspace::force(const DecodingHead& head, std::span<const Source> sources,
                                          int64_t step, int32_t end) {
  std::vector<int32_t> of, targets;
  for (size_t r = 0; r < rows.size(); ++r) {
    const Ids& prefix = sources[static_cast<size_t>(rows[r].slot / beams)].prefix;
    if (step >= std::ssize(prefix)) continue;
    of.push_back(static_cast<int32_t>(r));
    targets.push_back(prefix[static_cast<size_t>(step)]);
  }
  if (of.empty()) return;
  const Tensor ids = tape.on_device(Tensor::from(of, {std::ssize(of)}));
  std::vector<Var> some;
  for (const Var& all : contexts) some.push_back(embedding(all, ids));
  std::vector<double> log_p = head.log_probs(some, targets, memory);
  if (step == 0) {  // a translation has a word
    const std::vector<double> ends = head.log_probs(some, Ids(of.size(), end), memory);
    for (size_t i = 0; i < of.size(); ++i) log_p[i] -= std::log1p(-std::exp(ends[i]));
  }
  forced.resize(rows.size());
  for (size_t i = 0; i < of.size(); ++i) {
    require(std::isfinite(log_p[i]), "[BeamSearch] a prefix has word ", targets[i],
            ", to which the model gives no probability: leave it out");
    forced[static_cast<size_t>(of[i])] = log_p[i];
  }
}

// Keeps the best `count` extensions, best first. Drops extensions with probability 0.
void BeamSearch::Engine::keep_best(std::vector<Candidate>& candidates, int64_t count) {
  std::erase_if(candidates, [](const Candidate& c) { return !std::isfinite(c.to.log_prob); });
  const auto better = [](const Candidate& a, const Candidate& b) {
    if (a.to.log_prob != b.to.log_prob) return a.to.log_prob > b.to.log_prob;
    return a.slot != b.slot ? a.slot < b.slot : a.to.word < b.to.word;
  };
  const int64_t kept = std::min(count, static_cast<int64_t>(candidates.size()));
  std::partial_sort(candidates.begin(), candidates.begin() + kept, candidates.end(), better);
  candidates.resize(static_cast<size_t>(kept));
}

// Returns the hypothesis of a finished candidate. Its prefix has read </s> and its words but the
// candidate's.
Hypothesis BeamSearch::Engine::hypothesis(const Candidate& c, const SearchOptions& options,
                                          const Workspace& w) const {
  const auto slot = static_cast<int64_t>(c.slot);
  const std::span<const int32_t> words = w.read().words(slot).subspan(1),
                                 rows = w.read().rows(slot);
  Hypothesis h{.words = Ids(words.begin(), words.end()),
               .log_prob = c.to.log_prob,
               .complete = c.to.word == end};
  for (const int32_t row : rows.subspan(1))
    h.word_log_probs.push_back(w.own[static_cast<size_t>(row)]);
  h.word_log_probs.push_back(c.to.own);
  if (!h.complete) h.words.push_back(c.to.word);
  const size_t length = h.words.size();
  h.score = c.to.log_prob /
            std::pow(static_cast<double>(length) + (options.count_end && h.complete ? 1 : 0),
                     options.length_penalty);
  for (size_t i = 0; i < length && options.attention; ++i) {
    const std::vector<float>& weights = w.attention[static_cast<size_t>(rows[i])];
    h.attention.insert(h.attention.end(), weights.begin(), weights.end());
  }
  return h;
}

void BeamSearch::Engine::extend(Search& search, const Source& source, int64_t step,
                                int64_t first_row, int64_t k, const SearchOptions& options,
                                Workspace& w) const {
  std::vector<Candidate>& candidates = w.candidates;
  candidates.clear();
  const auto add = [&](size_t p, int32_t word, double log_p) {
    candidates.push_back({w.slot(search.sentence, static_cast<int64_t>(p)),
                          {word, search.prefixes[p].log_prob + log_p, log_p}});
  };
  for (size_t p = 0; p < search.prefixes.size(); ++p) {
    const auto row = static_cast<size_t>(first_row) + p;
    if (step < std::ssize(source.prefix)) {
      add(p, source.prefix[static_cast<size_t>(step)], w.forced[row]);
      continue;
    }
    for (size_t at = row * static_cast<size_t>(k); at < (row + 1) * static_cast<size_t>(k); ++at)
      if (w.best.words[at] != options.excluded) add(p, w.best.words[at], w.best.log_probs[at]);
  }
  keep_best(candidates, 2 * options.beam);

  const bool last = step + 1 == most_words(options);
  const auto first_spare = std::min(candidates.size(), static_cast<size_t>(options.beam));
  size_t spare = first_spare;
  const auto next_spare = [&] {
    while (spare < candidates.size() && candidates[spare].to.word == end) ++spare;
    return spare < candidates.size() ? &candidates[spare++] : nullptr;
  };
  search.prefixes.clear();
  for (size_t i = 0; i < first_spare; ++i) {
    const Candidate* c = &candidates[i];
    if (c->to.word == end || last) {
      search.top_finished = search.top_finished || i == 0;
      search.finished.push_back(hypothesis(*c, options, w));
      c = last ? nullptr : next_spare();
      if (c == nullptr) continue;
    }
    w.order[w.slot(search.sentence, std::ssize(search.prefixes))] = static_cast<int32_t>(c->slot);
    search.prefixes.push_back(c->to);
  }
  const auto found = static_cast<int64_t>(search.finished.size());
  const bool enough = options.length_penalty == 0 ? search.top_finished && found >= options.n_best
                                                  : found >= options.beam;
  search.done = last || enough || search.prefixes.empty();
}

std::vector<Translation> BeamSearch::Engine::search(std::span<const Source> sources,
                                                    const SearchOptions& options) const {
  Lease lease(*this);
  Workspace& w = lease.get();
  w.start(sources, options.beam, options.attention);
  std::vector<Search> alive;
  for (size_t s = 0; s < sources.size(); ++s)
    alive.push_back({static_cast<int32_t>(s), {{end, 0}}});
  std::vector<Translation> found(sources.size());
  for (int64_t step = 0; !alive.empty(); ++step) {
    w.start_rows();
    for (const Search& s : alive)
      for (size_t p = 0; p < s.prefixes.size(); ++p)
        w.add_row(w.slot(s.sentence, static_cast<int64_t>(p)), s.prefixes[p]);
    w.step();
    w.force(head_, sources, step, end);
    const int32_t excluded = step == 0 ? end : -1;
    const int64_t wanted = 2 * options.beam + (options.excluded >= 0),
                  k = std::min(wanted, head_.words() - (excluded >= 0));
    head_.best_words(w.contexts, k, excluded, w.memory, w.best);
    int64_t row = 0;
    for (Search& s : alive) {
      const auto rows = static_cast<int64_t>(s.prefixes.size());
      extend(s, sources[static_cast<size_t>(s.sentence)], step, row, k, options, w);
      row += rows;
      if (!s.done) continue;
      require(!s.finished.empty(), "[BeamSearch] sentence ",
              options.first_number + s.sentence * options.number_step + 1,
              " has no translation whose probability is a number above 0: the model's weights are "
              "not finite, or far too large");
      std::stable_sort(s.finished.begin(), s.finished.end(),
                       [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
      if (static_cast<int64_t>(s.finished.size()) > options.n_best)
        s.finished.resize(static_cast<size_t>(options.n_best));
      found[static_cast<size_t>(s.sentence)] = std::move(s.finished);
    }
    std::erase_if(alive, [](const Search& s) { return s.done; });
    for (TranslationDecoder& decoder : w.decoders) decoder.reorder(w.order);
  }
  return found;
}

std::vector<Translation> BeamSearch::Engine::sample(std::span<const Source> sources,
                                                    const SearchOptions& options) const {
  Lease lease(*this);
  Workspace& w = lease.get();
  w.start(sources, options.samples, options.attention);
  NextWords next_words(head_);
  std::vector<WantedWord> wanted;
  std::vector<NextWord> chosen;
  std::vector<Candidate> alive;
  for (int64_t slot = 0; slot < w.read().slots(); ++slot)
    alive.push_back({static_cast<size_t>(slot), {end, 0}});
  const auto samples = static_cast<size_t>(options.samples);
  std::vector<Translation> found(sources.size(), Translation(samples));
  for (int64_t step = 0; !alive.empty(); ++step) {
    w.start_rows();
    for (const Candidate& c : alive) w.add_row(c.slot, c.to);
    w.step();
    w.force(head_, sources, step, end);
    wanted.clear();
    for (size_t r = 0; r < alive.size(); ++r)
      wanted.push_back({.row = static_cast<int32_t>(r),
                        .sampling = &options.sampling,
                        .uniform = uniform_of(options.seed, sources[alive[r].slot / samples].number,
                                              static_cast<int64_t>(alive[r].slot % samples),
                                              static_cast<size_t>(step))});
    chosen.assign(wanted.size(), {});
    next_words.predict(
        w.contexts, wanted, [&](size_t r, const NextWord& next) { chosen[r] = next; },
        step == 0 ? end : -1);
    for (size_t r = 0; r < alive.size(); ++r) {
      Candidate& c = alive[r];
      const Source& source = sources[c.slot / samples];
      NextWord& next = chosen[r];
      if (step < std::ssize(source.prefix))
        next = {.word = source.prefix[static_cast<size_t>(step)], .log_p = w.forced[r]};
      next.rethrow();
      c.to = {next.word, c.to.log_prob + next.log_p, next.log_p};
      if (c.to.word == end || step + 1 == most_words(options))
        found[c.slot / samples][c.slot % samples] = hypothesis(c, options, w);
    }
    std::erase_if(alive, [&](const Candidate& c) {
      return c.to.word == end || step + 1 == most_words(options);
    });
  }
  return found;
}

std::vector<std::vector<double>> BeamSearch::Engine::score(std::span<const Source> sources,
                                                           std::span<const Ids> targets) const {
  Lease lease(*this);
  Workspace& w = lease.get();
  size_t longest = 0;
  for (const Ids& t : targets) longest = std::max(longest, t.size());
  w.start(sources, 1, false);
  std::vector<std::vector<double>> out(sources.size());
  Ids step_targets;
  for (size_t step = 0; step <= longest; ++step) {
    w.start_rows();
    step_targets.clear();
    for (size_t s = 0; s < targets.size(); ++s) {
      const Ids& target = targets[s];
      if (step > target.size()) continue;
      w.add_row(s, {step == 0 ? end : target[step - 1], 0});
      step_targets.push_back(step < target.size() ? target[step] : end);
    }
    w.step();
    const std::vector<double> log_p = head_.log_probs(w.contexts, step_targets, w.memory);
    for (size_t r = 0; r < w.rows.size(); ++r)
      out[static_cast<size_t>(w.rows[r].slot)].push_back(log_p[r]);
  }
  return out;
}

namespace {

// Returns the size of batches that threads share. Batches of long sentences take longer, so each
// thread gets two batches or more, unless these would be too small for the products.
int64_t shared_batch(int64_t all, int64_t batch, int64_t threads) {
  constexpr int64_t kLeast = 8;
  const auto part = [&](int64_t parts) { return (all + parts - 1) / parts; };
  const int64_t half = part(2 * threads);
  return std::max<int64_t>(1, std::min(batch, half >= kLeast ? half : part(threads)));
}

// Runs f on batches of the sentences in `order`, longest first, on the CPU several batches in
// parallel. Calls `progress` with the number of finished sentences, counted from `done`. After an
// exception, later batches are left out.
template <class F>
void for_batches(Device device, std::span<const size_t> order, int64_t batch,
                 const BeamSearch::Progress& progress, int64_t done, F&& f) {
  const auto all = static_cast<int64_t>(order.size());
  const bool parallel = device.kind == DeviceKind::cpu;
  const int64_t size = parallel && threads() > 1 ? shared_batch(all, batch, threads())
                                                 : std::max<int64_t>(1, std::min(batch, all));
  std::mutex mutex;
  std::atomic<bool> failed = false;
  const auto run_batch = [&](int64_t begin, int64_t end) {
    f(order.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    if (!progress) return;
    const std::lock_guard lock(mutex);
    progress(done += end - begin);
  };
  const auto run = [&](int64_t begin, int64_t end) {
    if (failed) return;
    try {
      run_batch(begin, end);
    } catch (...) {
      failed = true;
      throw;
    }
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

std::vector<int64_t> alignment(const Hypothesis& hypothesis) {
  std::vector<int64_t> sources;
  if (hypothesis.attention.empty()) return sources;
  const auto width = static_cast<int64_t>(hypothesis.attention.size() / hypothesis.words.size());
  for (size_t t = 0; t < hypothesis.words.size(); ++t) {
    const auto begin = hypothesis.attention.begin() + static_cast<int64_t>(t) * width;
    sources.push_back(std::max_element(begin, begin + width - 1) - begin);
  }
  return sources;
}

BeamSearch::BeamSearch(std::span<const Transformer* const> models, int32_t end, Device device) {
  require(!models.empty(), "[BeamSearch] there is no model to translate with");
  engine_ = std::make_unique<Engine>(models, end, device);
  require(end >= 0 && end < engine_->target_words() && end < engine_->source_words(),
          "[BeamSearch] </s> is word ", end, ", outside of a dictionary");
}
BeamSearch::BeamSearch(const Transformer& model, int32_t end, Device device)
    : BeamSearch(std::vector{&model}, end, device) {}
BeamSearch::~BeamSearch() = default;
BeamSearch::BeamSearch(BeamSearch&&) noexcept = default;
BeamSearch& BeamSearch::operator=(BeamSearch&&) noexcept = default;

int64_t BeamSearch::max_words() const { return engine_->positions() - 1; }

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

std::vector<Translation> BeamSearch::translate(std::span<const Ids> sources,
                                               const SearchOptions& options,
                                               const Progress& progress,
                                               std::span<const Ids> prefixes) const {
  const SearchOptions& o = options;
  require(o.beam >= 1 && o.n_best >= 1 && o.n_best <= o.beam, "[BeamSearch] beam ", o.beam,
          " and n-best ", o.n_best, ": both must be at least 1, and n-best at most the beam");
  require(o.max_length >= 1 && o.batch >= 1, "[BeamSearch] max length ", o.max_length,
          " and batch ", o.batch, " are at least 1");
  require(o.excluded < engine_->target_words() && o.excluded != engine_->end,
          "[BeamSearch] the excluded word is ", o.excluded,
          ": it is a word of the target's dictionary, and not </s>");
  require(std::isfinite(o.length_penalty), "[BeamSearch] a length penalty of ", o.length_penalty);
  check(o.sampling);
  require(prefixes.empty() || prefixes.size() == sources.size(), "[BeamSearch] ", sources.size(),
          " sources and ", prefixes.size(), " prefixes");
  check_sentences(sources, engine_->source_words());
  check_sentences(prefixes, engine_->target_words());
  std::vector<Translation> out(sources.size(),
                               Translation(static_cast<size_t>(std::max<int64_t>(1, o.samples))));
  const std::vector<size_t> order = longest_first(sources);
  const auto empty = static_cast<int64_t>(sources.size() - order.size());
  for_batches(engine_->device(), order, o.batch, progress, empty,
              [&](std::span<const size_t> part) {
                std::vector<Engine::Source> batch;
                for (const size_t i : part)
                  batch.push_back({with_end(sources[i]), prefixes.empty() ? Ids() : prefixes[i],
                                   o.first_number + static_cast<int64_t>(i) * o.number_step});
                std::vector<Translation> found = engine_->translate(batch, o);
                for (size_t i = 0; i < part.size(); ++i) out[part[i]] = std::move(found[i]);
              });
  return out;
}

Ids BeamSearch::with_end(Ids words) const {
  words.push_back(engine_->end);
  return words;
}

std::vector<std::vector<double>> BeamSearch::score(std::span<const Ids> sources,
                                                   std::span<const Ids> targets, int64_t batch,
                                                   const Progress& progress) const {
  require(sources.size() == targets.size(), "[BeamSearch] ", sources.size(), " sources and ",
          targets.size(), " translations");
  check_sentences(sources, engine_->source_words());
  check_sentences(targets, engine_->target_words());
  std::vector<std::vector<double>> out(sources.size());
  std::vector<size_t> order(sources.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return targets[a].size() > targets[b].size(); });
  for_batches(engine_->device(), order, batch, progress, 0, [&](std::span<const size_t> part) {
    std::vector<Ids> given;
    std::vector<Engine::Source> from;
    for (const size_t i : part) {
      given.push_back(targets[i]);
      from.push_back({with_end(sources[i])});
    }
    std::vector<std::vector<double>> found = engine_->score(from, given);
    for (size_t i = 0; i < part.size(); ++i) out[part[i]] = std::move(found[i]);
  });
  return out;
}

}  // namespace nine
