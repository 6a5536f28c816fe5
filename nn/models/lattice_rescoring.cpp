#include "nn/models/lattice_rescoring.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/error.h"
#include "core/interrupt.h"
#include "core/ops.h"
#include "core/quote.h"
#include "data/mixture_weights.h"
#include "data/ngram_model.h"
#include "kernels/ops.h"
#include "nn/carried_state.h"
#include "nn/decoding_head.h"
#include "nn/models/language_model.h"
#include "nn/models/language_network.h"
#include "nn/models/segment_reader.h"
#include "nn/models/word_mixture.h"

namespace nine {
namespace {

using Steps = std::span<const HistoryModel::Step>;
constexpr double kImpossible = -std::numeric_limits<double>::infinity();

class NGramHistory final : public HistoryModel {
 public:
  explicit NGramHistory(const std::string& path) : model_(NGramModel::read(path)) {}
  void start(const Lattice& lattice) override {
    states_.assign(1, model_.sentence_begin());
    words_.clear();
    for (int32_t word = 0; word < lattice.words.size(); ++word)
      words_.push_back(model_.id(lattice.words.text(word)));
  }
  bool knows(int32_t word) const override {
    const int32_t id = words_[static_cast<size_t>(word)];
    return id != NGramModel::kNone && id != model_.unknown();
  }
  void advance(Steps steps) override {
    for (const Step& step : steps) {
      NGramModel::State state = states_[static_cast<size_t>(step.first)];
      model_.advance(state, word_of(step));
      states_.push_back(state);
    }
  }
  std::vector<double> log_p(Steps steps) override {
    std::vector<double> all;
    for (const Step& step : steps) {
      NGramModel::State state = states_[static_cast<size_t>(step.first)];
      all.push_back(model_.advance(state, word_of(step)) * std::log(10.0));
    }
    return all;
  }

 private:
  int32_t word_of(const Step& step) const {
    return step.second == kEnd ? model_.end() : words_[static_cast<size_t>(step.second)];
  }

  NGramModel model_;
  std::vector<NGramModel::State> states_;
  std::vector<int32_t> words_;  // ids of the lattice's words
};

class NetworkHistory final : public HistoryModel {
 public:
  NetworkHistory(const std::string& path, Device device)
      : model_(LanguageModel::load(path, device)),
        network_(model_.network()),
        head_(network_.head()),
        arena_("rescore", device),
        tape_(arena_) {
    require(model_.tokenizer() == nullptr, path,
            " reads raw text: its tokens are parts of words, and a lattice has whole words");
  }

  void start(const Lattice& lattice) override {
    words_.clear();
    for (int32_t word = 0; word < lattice.words.size(); ++word)
      words_.push_back(model_.vocabulary().id(lattice.words.text(word)));
    states_.clear();
    states_.emplace_back(network_.new_state(1));
    // A sentence begins after </s>.
    const int32_t begin = model_.vocabulary().specials().end;
    const NoGrad guard(tape_);
    tape_.reset();
    read({{&states_[0], begin}});
  }
  bool knows(int32_t word) const override {
    return words_[static_cast<size_t>(word)] != model_.unknown();
  }

  void advance(Steps steps) override {
    const NoGrad guard(tape_);
    size_t at = states_.size();
    for (const Step& step : steps) {
      const State& before = states_[static_cast<size_t>(step.first)];
      State next(network_.new_state(1));
      next.carried.copy_from(before.carried);
      next.read = before.read;
      states_.push_back(std::move(next));
    }
    // States without layers, those of a Transformer, read their words again, and so need equal
    // numbers of words to be computed together.
    std::vector<std::pair<State*, int32_t>> part;
    for (size_t s = 0; s < steps.size(); ++s, ++at) {
      State* const next = &states_[at];
      if (!part.empty() &&
          (std::ssize(part) == kTogether || next->read.size() != part.front().first->read.size())) {
        read(part);
        part.clear();
      }
      part.emplace_back(next, id_of(steps[s]));
    }
    if (!part.empty()) read(part);
    tape_.reset();
  }

  std::vector<double> log_p(Steps steps) override {
    const NoGrad guard(tape_);
    // Each state once, because the softmax of a state gives all words.
    std::map<int64_t, std::vector<size_t>> by_state;
    for (size_t s = 0; s < steps.size(); ++s) by_state[steps[s].first].push_back(s);
    std::vector<double> all(steps.size());
    const int64_t vocab = head_.words();
    for (auto state = by_state.begin(); state != by_state.end();) {
      check_interrupt();
      tape_.reset();
      std::vector<const std::vector<size_t>*> asked;
      const Tensor contexts(
          {std::min<int64_t>(std::ssize(by_state), ops::kHeadPanel), network_.width()},
          network_.dtype(), model_.device());
      for (; state != by_state.end() && std::ssize(asked) < contexts.shape().rows(); ++state) {
        ops::copy(states_[static_cast<size_t>(state->first)].context,
                  contexts.row_range(std::ssize(asked), 1));
        asked.push_back(&state->second);
      }
      const Var rows = tape_.constant(contexts.row_range(0, std::ssize(asked)));
      head_.all_log_probs(std::span(&rows, 1), -1, memory_, log_p_);
      for (size_t r = 0; r < asked.size(); ++r)
        for (const size_t s : *asked[r])
          all[s] = log_p_[r * static_cast<size_t>(vocab) + static_cast<size_t>(id_of(steps[s]))];
    }
    tape_.reset();
    return all;
  }

 private:
  static constexpr int64_t kTogether = 256;

  struct State {
    explicit State(CarriedState state) : carried(std::move(state)) {}
    CarriedState carried;
    std::vector<int32_t> read;  // all words
    Tensor context;             // (1, width): the head's input
  };

  int32_t id_of(const Step& step) const {
    return step.second == kEnd ? model_.vocabulary().specials().end
                               : words_[static_cast<size_t>(step.second)];
  }

  // Lets each state read a word.
  void read(const std::vector<std::pair<State*, int32_t>>& part) {
    check_interrupt();
    tape_.reset();
    const int64_t columns = std::ssize(part);
    std::vector<LstmState> state = network_.start_state(tape_, columns);
    const bool again = state.empty();
    for (const auto& next : part) next.first->read.push_back(next.second);
    // As lm_score reads a sentence that is longer than the network's window.
    const int64_t length = std::ssize(part[0].first->read),
                  steps = again ? length - SegmentReader::first_row(network_, length - 1) : 1;
    const Tensor ids({steps, columns}, DType::int32);
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t t = 0; t < steps; ++t) {
        const std::vector<int32_t>& words = part[static_cast<size_t>(c)].first->read;
        ids.data<int32_t>()[t * columns + c] = words[words.size() - static_cast<size_t>(steps - t)];
      }
    CarriedState joint = network_.new_state(columns);
    std::vector<LstmState> one;
    if (!again) {
      for (int64_t c = 0; c < columns; ++c) {
        part[static_cast<size_t>(c)].first->carried.on(tape_, one);
        joint.store(one, c);
      }
      joint.on(tape_, state);
    }
    const Var hidden = network_.encode(tape_, ids, state);
    const Tensor last = hidden.value().row_range((steps - 1) * columns, columns);
    if (!again) joint.store(state);
    for (int64_t c = 0; c < columns; ++c) {
      State& own = *part[static_cast<size_t>(c)].first;
      own.context = Tensor({1, network_.width()}, network_.dtype(), model_.device());
      ops::copy(last.row_range(c, 1), own.context);
      if (again) continue;
      joint.on(tape_, one, c, 1);
      own.carried.store(one);
    }
  }

  LanguageModel model_;
  const LanguageNetwork& network_;
  DecodingHead head_;
  DecodingHead::Memory memory_;
  std::vector<double> log_p_;
  Arena arena_;
  Tape tape_;
  std::vector<State> states_;
  std::vector<int32_t> words_;  // ids of the lattice's words
};

class MixedHistory final : public HistoryModel {
 public:
  // `shared`: a word that only some models know has the probability 0 under the others.
  MixedHistory(std::vector<std::unique_ptr<HistoryModel>> models, std::vector<double> weights,
               bool shared)
      : models_(std::move(models)), weights_(std::move(weights)), shared_(shared) {}
  void start(const Lattice& lattice) override {
    for (const auto& model : models_) model->start(lattice);
  }
  bool knows(int32_t word) const override {
    return std::any_of(models_.begin(), models_.end(),
                       [&](const auto& model) { return model->knows(word); });
  }
  void advance(Steps steps) override {
    for (const auto& model : models_) model->advance(steps);
  }
  std::vector<double> log_p(Steps steps) override {
    std::vector<std::vector<double>> parts;
    for (const auto& model : models_) parts.push_back(model->log_p(steps));
    for (size_t s = 0; s < steps.size(); ++s) {
      const int32_t word = steps[s].second;
      if (!shared_ || word == kEnd || !knows(word)) continue;
      for (size_t m = 0; m < models_.size(); ++m)
        if (!models_[m]->knows(word)) parts[m][s] = kImpossible;
    }
    return mixture_log_p(parts, weights_);
  }

 private:
  std::vector<std::unique_ptr<HistoryModel>> models_;
  std::vector<double> weights_;
  bool shared_;
};

// A way to a node.
struct LatticeHypothesis {
  double first_pass = 0, log_p = 0, score = 0;
  int64_t before = -1;          // the hypothesis without the last word
  int32_t word = -1;            // the last word; -1: none yet
  int64_t state = -1;           // after the last word; -1: not read yet
  std::vector<int32_t> recent;  // the words by which it is merged
};

class LatticeSearcher {
 public:
  LatticeSearcher(const Lattice& lattice, HistoryModel& model, const LatticeSearch& search)
      : lattice_(lattice), model_(model), search_(search), at_(static_cast<size_t>(lattice.nodes)) {
    require(search.history >= LatticeSearch::kWhole, "[rescore_lattice] a history of ",
            search.history, " words");
  }

  std::optional<RescoredPath> run() {
    model_.start(lattice_);
    all_.push_back({.state = 0, .recent = {}});
    at_[0].emplace(all_[0].recent, 0);
    // Nodes that have the same longest way from the start are computed together: all ways to them
    // are known then.
    std::vector<int32_t> level(static_cast<size_t>(lattice_.nodes));
    int32_t last = 0;
    for (const LatticeLink& link : lattice_.links) {
      int32_t& to = level[static_cast<size_t>(link.to)];
      last = std::max(last, to = std::max(to, level[static_cast<size_t>(link.from)] + 1));
    }
    std::vector<std::vector<int32_t>> nodes(static_cast<size_t>(last) + 1);
    for (int32_t node = 0; node < lattice_.nodes; ++node)
      nodes[static_cast<size_t>(level[static_cast<size_t>(node)])].push_back(node);
    for (const std::vector<int32_t>& own : nodes) expand(own);
    if (!best_) return std::nullopt;
    RescoredPath path{.words = {},
                      .first_pass = best_->first_pass,
                      .log_p = best_->log_p,
                      .score = best_->score,
                      .hypotheses = std::ssize(all_),
                      .states = states_};
    for (const LatticeHypothesis* h = &*best_; h->word >= 0;
         h = &all_[static_cast<size_t>(h->before)])
      path.words.push_back(h->word);
    std::reverse(path.words.begin(), path.words.end());
    return path;
  }

 private:
  double total(double first_pass, double log_p, bool word) const {
    const double score =
        first_pass + (search_.lambda == 0 ? 0 : search_.lambda * log_p) + (word ? search_.mu : 0);
    require(!std::isnan(score), "the lattice of ", quote(lattice_.utterance),
            " has a score that is not a number");
    return score;
  }

  // Lets the model read the last words of the hypotheses at these nodes.
  void read_words(const std::vector<int32_t>& nodes) {
    std::map<HistoryModel::Step, std::vector<int64_t>> asked;
    for (const int32_t node : nodes)
      for (const auto& entry : at_[static_cast<size_t>(node)]) {
        const LatticeHypothesis& h = all_[static_cast<size_t>(entry.second)];
        if (h.state < 0)
          asked[{all_[static_cast<size_t>(h.before)].state, h.word}].push_back(entry.second);
      }
    std::vector<HistoryModel::Step> steps;
    for (const auto& step : asked) {
      steps.push_back(step.first);
      ++states_;
      for (const int64_t h : step.second) all_[static_cast<size_t>(h)].state = states_;
    }
    if (!steps.empty()) model_.advance(steps);
  }

  void expand(const std::vector<int32_t>& nodes) {
    read_words(nodes);
    std::map<HistoryModel::Step, double> log_p;
    for_ways(nodes, [&](int64_t h, const LatticeLink& link, bool end) {
      if (end || link.word >= 0)
        log_p[{all_[static_cast<size_t>(h)].state, end ? HistoryModel::kEnd : link.word}] = 0;
    });
    std::vector<HistoryModel::Step> steps;
    for (const auto& step : log_p) steps.push_back(step.first);
    const std::vector<double> found = steps.empty() ? std::vector<double>() : model_.log_p(steps);
    size_t i = 0;
    for (auto& step : log_p) step.second = found[i++];
    for_ways(nodes, [&](int64_t h, const LatticeLink& link, bool end) {
      const int64_t state = all_[static_cast<size_t>(h)].state;
      const bool word = !end && link.word >= 0;
      follow(h, link, end,
             end || word ? log_p.at({state, end ? HistoryModel::kEnd : link.word}) : 0);
    });
  }

  // Calls f(hypothesis, link, whether the link is an end) for all ways that leave the nodes.
  template <class F>
  void for_ways(const std::vector<int32_t>& nodes, F&& f) {
    for (const int32_t node : nodes)
      for (const auto& entry : at_[static_cast<size_t>(node)]) {
        for (size_t l = lattice_.first_link(node);
             l < lattice_.links.size() && lattice_.links[l].from == node; ++l)
          f(entry.second, lattice_.links[l], false);
        for (const LatticeLink& end : lattice_.ends)
          if (end.from == node) f(entry.second, end, true);
      }
  }

  void follow(int64_t from, const LatticeLink& link, bool end, double log_p) {
    const LatticeHypothesis& before = all_[static_cast<size_t>(from)];
    const bool word = !end && link.word >= 0;
    if (log_p == kImpossible && search_.lambda > 0) return;  // excluded
    const double first_pass = Lattice::score(link, search_.scales);
    LatticeHypothesis next{.first_pass = before.first_pass + first_pass,
                           .log_p = before.log_p + log_p,
                           .score = before.score + total(first_pass, log_p, word),
                           .before = word ? from : before.before,
                           .word = word ? link.word : before.word,
                           .state = word ? -1 : before.state,
                           .recent = before.recent};
    if (end) {
      if (!best_ || next.score > best_->score) best_ = std::move(next);
      return;
    }
    if (word) next.recent.push_back(link.word);
    if (search_.history >= 0 && std::ssize(next.recent) > search_.history)
      next.recent.erase(next.recent.begin());
    const auto [place, is_new] =
        at_[static_cast<size_t>(link.to)].try_emplace(next.recent, std::ssize(all_));
    if (!is_new) {
      // No hypothesis goes on from the worse one: its node has not been expanded.
      LatticeHypothesis& other = all_[static_cast<size_t>(place->second)];
      if (next.score > other.score) other = std::move(next);
      return;
    }
    require(std::ssize(all_) < search_.most, "the lattice of ", quote(lattice_.utterance),
            " has more than ", search_.most,
            " hypotheses: merge them by fewer words, or prune the lattice");
    all_.push_back(std::move(next));
  }

  const Lattice& lattice_;
  HistoryModel& model_;
  const LatticeSearch& search_;
  std::vector<LatticeHypothesis> all_;
  std::vector<std::map<std::vector<int32_t>, int64_t>> at_;  // by node and recent words
  std::optional<LatticeHypothesis> best_;
  int64_t states_ = 0;
};

}  // namespace

std::unique_ptr<HistoryModel> open_history_model(const std::string& path, Device device) {
  if (is_ngram_file(path)) return std::make_unique<NGramHistory>(path);
  return std::make_unique<NetworkHistory>(path, device);
}

std::unique_ptr<HistoryModel> open_history_models(const std::vector<std::string>& paths,
                                                  std::vector<double> weights, Device device) {
  require(!paths.empty(), "[open_history_models] there is no model");
  if (weights.empty()) weights.assign(paths.size(), 1.0 / static_cast<double>(paths.size()));
  require(weights.size() == paths.size(), "there are ", weights.size(), " weights for ",
          paths.size(), " models; give one weight for each model");
  if (paths.size() == 1) return open_history_model(paths[0], device);
  std::vector<std::unique_ptr<HistoryModel>> models;
  for (const std::string& path : paths) models.push_back(open_history_model(path, device));
  return std::make_unique<MixedHistory>(std::move(models), std::move(weights),
                                        std::any_of(paths.begin(), paths.end(), is_ngram_file));
}

std::optional<RescoredPath> rescore_lattice(const Lattice& lattice, HistoryModel& model,
                                            const LatticeSearch& search) {
  return LatticeSearcher(lattice, model, search).run();
}

}  // namespace nine
