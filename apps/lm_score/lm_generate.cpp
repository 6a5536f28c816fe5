#include "apps/lm_score/lm_generate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/ops.h"
#include "core/random.h"
#include "data/text.h"

namespace nine::app {
namespace {

static_assert(kMostColumns == ops::kHeadPanel);

double uniform_of(uint64_t seed, int64_t line, int64_t sample, int64_t position) {
  constexpr uint64_t kPositions = uint64_t{1} << 24,
                     kNumbers = 2;  // of a sample; two 32-bit numbers make one
  return RandomStream(
             {.seed = seed, .step = static_cast<uint32_t>(line), .op = stream_id("generate")},
             kNumbers *
                 (static_cast<uint64_t>(sample) * kPositions + static_cast<uint64_t>(position)))
      .uniform();
}

// A text on its way.
struct Text {
  int64_t line = 0, sample = 0;
  std::vector<int32_t> ids;  // the prompt's, then the words added
  size_t prompt = 0;         // how many are the prompt's
  bool done = false;
};

class Generator {
 public:
  Generator(const SavedLanguageModel& saved, const GenerateOptions& how)
      : model_(saved.model()),
        how_(how),
        arena_("generate", saved.device()),
        tape_(arena_),
        guard_(tape_),
        carried_(model_.new_state(kMostColumns)),
        input_({1, kMostColumns}, DType::int32) {}

  // Continues at most kMostColumns texts. Text i of all texts has column i % kMostColumns, whatever
  // the batch: a product computes its columns in ways that may differ in the last bit.
  void run(std::span<Text> texts, int64_t first) {
    carried_.clear();
    std::fill_n(input_.data<int32_t>(), kMostColumns, Specials::kLanguageModel.end);
    for (size_t position = 0;
         std::any_of(texts.begin(), texts.end(), [](const Text& t) { return !t.done; });
         ++position) {
      tape_.reset();
      carried_.on(tape_, state_);
      const Var hidden = model_.encode(tape_, input_, state_);
      carried_.store(state_);
      const bool all_in_prompts = std::all_of(
          texts.begin(), texts.end(), [&](const Text& t) { return t.done || position < t.prompt; });
      const Tensor log_p = all_in_prompts ? Tensor() : model_.log_probabilities(hidden);
      for (size_t i = 0; i < texts.size(); ++i) {
        const int64_t column = (first + static_cast<int64_t>(i)) % kMostColumns,
                      words = model_.config().vocab;
        if (texts[i].done) continue;
        if (position >= texts[i].prompt)
          extend(texts[i], {log_p.data<double>() + column * words, static_cast<size_t>(words)});
        if (!texts[i].done) input_.data<int32_t>()[column] = texts[i].ids[position];
      }
    }
    tape_.reset();
  }
  const Generated& total() const { return total_; }

 private:
  void extend(Text& text, std::span<const double> log_p) {
    const double uniform =
        uniform_of(how_.seed, text.line, text.sample, static_cast<int64_t>(text.ids.size()));
    const int32_t word = choose_word(log_p, how_.sampling, uniform);
    total_.nats -= log_p[static_cast<size_t>(word)];
    if (word == Specials::kLanguageModel.end) {
      ++total_.ended;
      text.done = true;
      return;
    }
    ++total_.words;
    text.ids.push_back(word);
    text.done = static_cast<int64_t>(text.ids.size() - text.prompt) == how_.max_words;
  }

  const LanguageModel& model_;
  const GenerateOptions& how_;
  Arena arena_;
  Tape tape_;
  NoGrad guard_;
  CarriedState carried_;
  Tensor input_;
  std::vector<LstmState> state_;
  Generated total_;
};

}  // namespace

int32_t choose_word(std::span<const double> log_p, const Sampling& s, double uniform) {
  const auto at = [&](int32_t v) { return log_p[static_cast<size_t>(v)]; };
  const auto less_likely = [&](int32_t a, int32_t b) {
    return at(a) != at(b) ? at(a) < at(b) : a > b;
  };
  std::vector<int32_t> words(log_p.size());
  std::iota(words.begin(), words.end(), 0);
  if (!s.allow_unknown) words.erase(words.begin() + Specials::kLanguageModel.unknown);
  const int32_t best = *std::max_element(words.begin(), words.end(), less_likely);
  if (s.temperature == 0) return best;

  // Shares before they are divided by their sum.
  const auto share = [&](int32_t v) { return std::exp((at(v) - at(best)) / s.temperature); };
  if (s.top_k > 0 && s.top_k < static_cast<int64_t>(words.size())) {
    const auto end = words.begin() + s.top_k;
    std::nth_element(words.begin(), end, words.end(),
                     [&](int32_t v, int32_t w) { return less_likely(w, v); });
    words.erase(end, words.end());
    std::sort(words.begin(), words.end());  // nth_element leaves them in an order of its own
  }
  if (s.top_p < 1) {
    const double enough =
        s.top_p * std::accumulate(words.begin(), words.end(), 0.0,
                                  [&](double sum, int32_t v) { return sum + share(v); });
    std::make_heap(words.begin(), words.end(), less_likely);
    auto kept = words.end();  // the likeliest words move to the end, one by one
    double sum = 0;
    do {
      std::pop_heap(words.begin(), kept--, less_likely);
      sum += share(*kept);
    } while (sum < enough && kept != words.begin());
    words.erase(words.begin(), kept);
  }
  std::vector<double> sums;
  for (const int32_t v : words) sums.push_back((sums.empty() ? 0 : sums.back()) + share(v));
  const auto found = std::upper_bound(sums.begin(), sums.end(), uniform * sums.back());
  return found == sums.end()
             ? best
             : words[static_cast<size_t>(found - sums.begin())];  // the end: rounding only
}

Generated generate_text(const SavedLanguageModel& saved, std::span<const std::string> prompts,
                        const GenerateOptions& how, std::ostream& out) {
  require(how.batch >= 1 && how.batch <= kMostColumns, "--batch ", how.batch, " must be from 1 to ",
          kMostColumns);
  const Vocabulary& vocabulary = saved.vocabulary();
  Generator generator(saved, how);
  const int64_t all = static_cast<int64_t>(prompts.size()) * how.samples;
  std::vector<std::string_view> typed;
  std::vector<Text> texts;
  for (int64_t first = 0; first < all; first += how.batch) {
    texts.clear();
    for (int64_t i = first; i < std::min(all, first + how.batch); ++i) {
      Text text{i / how.samples, i % how.samples,
                vocabulary.encode(prompts[static_cast<size_t>(i / how.samples)])};
      text.prompt = text.ids.size();
      texts.push_back(std::move(text));
    }
    generator.run(texts, first);
    for (const Text& text : texts) {
      split_words(prompts[static_cast<size_t>(text.line)],
                  typed);  // as they were typed, unknown ones too
      for (size_t i = 0; i < text.ids.size(); ++i)
        out << (i > 0 ? " " : "")
            << (i < text.prompt ? typed[i] : std::string_view(vocabulary.word(text.ids[i])));
      out << '\n';
    }
    out.flush();
  }
  Generated total = generator.total();
  total.texts = all;
  return total;
}

}  // namespace nine::app
