#include "apps/nine_serve/text_steps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "autograd/functions.h"
#include "core/error.h"
#include "data/vocabulary.h"
#include "nn/models/next_words.h"

namespace nine::app {
namespace {

constexpr size_t kStepRows = 256;  // most tokens that a step reads, unless it has more texts
constexpr size_t kJoiningTokens = 32;
constexpr size_t kPredicted = 32;  // predictions at a time, each of which may have all words

}  // namespace

bool ReadText::done() const {
  if (stopped || ended || error) return true;
  return added() >= most && (ids.empty() || !needs(ids.size() - 1));
}

bool ReadText::needs(size_t position) const {
  if (position >= ids.size()) return true;
  return top >= 0 && position >= (score_given ? 0 : given) + log_p.size();
}

TextSteps::TextSteps(const LanguageNetwork& network, const DecodingHead& head, size_t pool_bytes)
    : network_(network),
      head_(head),
      arena_("text steps", network.device(), pool_bytes),
      tape_(arena_),
      guard_(tape_),
      decoder_(network.decoder()) {}

void TextSteps::start(std::vector<ReadText*> texts) {
  slots_.clear();
  for (ReadText* text : texts) {
    slots_.push_back({text});
    if (!text->begun) text->given = text->ids.size();
    text->begun = true;
  }
  decoder_->start(std::max<int64_t>(1, std::ssize(slots_)));
}

bool TextSteps::joins(const ReadText& text) const {
  return decoder_->mixes_counts() || text.ids.size() <= kJoiningTokens;
}

size_t TextSteps::add(ReadText* text) {
  const auto free = std::ranges::find_if(slots_, [](const Slot& s) { return s.text == nullptr; });
  const auto place = static_cast<size_t>(free - slots_.begin());
  decoder_->begin(tape_, static_cast<int32_t>(place));
  if (!text->begun) text->given = text->ids.size();
  text->begun = true;
  if (free == slots_.end()) slots_.emplace_back();
  slots_[place] = {text};
  return place;
}

bool TextSteps::idle() const {
  return std::ranges::none_of(slots_, [](const Slot& slot) { return slot.live(); });
}

std::vector<size_t> TextSteps::take_done() {
  std::vector<size_t> places;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].text == nullptr || slots_[i].live()) continue;
    places.push_back(i);
    slots_[i].text = nullptr;
  }
  return places;
}

// Returns how many tokens of each text a step reads. Each live text reads one. Prompts share the
// others evenly, and what short prompts leave is for the longer ones, if the decoder mixes counts.
std::vector<size_t> TextSteps::counts() const {
  std::vector<size_t> counts(slots_.size(), 0), live;
  for (size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].live()) live.push_back(i);
  std::ranges::stable_sort(live, {}, [&](size_t i) { return slots_[i].known(); });
  size_t left = kStepRows, texts = live.size();
  for (const size_t i : live) {
    counts[i] = std::max<size_t>(1, std::min(slots_[i].known(), left / texts));
    if (!decoder_->mixes_counts()) counts[i] = counts[live.front()];
    left -= std::min(left, counts[i]);
    --texts;
  }
  return counts;
}

// Returns how many of the likeliest words the prediction must have; 0: log p of all words.
int64_t TextSteps::likeliest_words(const Wanted& wanted) const {
  if (wanted.text->top >= 0) return 0;
  const int64_t k = words_to_choose_among(wanted.text->sampling);
  return k > head_.words() / 8 ? 0 : k;
}

void TextSteps::step() {
  std::vector<DecoderRow> rows;
  std::map<int64_t, std::vector<Wanted>> wanted;  // by likeliest_words()
  const std::vector<size_t> of_texts = counts();
  for (size_t i = 0; i < slots_.size(); ++i)
    for (size_t n = 0; n < of_texts[i]; ++n) {
      ReadText& text = *slots_[i].text;
      const size_t position = slots_[i].read++;
      const Wanted at{&text, position, static_cast<int32_t>(rows.size())};
      if (text.needs(position)) wanted[likeliest_words(at)].push_back(at);
      rows.push_back({static_cast<int32_t>(i),
                      position == 0 ? Specials::kLanguageModel.end : text.ids[position - 1]});
    }
  if (rows.empty()) return;
  tape_.reset();
  const Var hidden = decoder_->step(tape_, rows);
  for (const auto& [k, of_k] : wanted)
    for (size_t first = 0; first < of_k.size(); first += kPredicted)
      predict(hidden, std::span(of_k).subspan(first, std::min(kPredicted, of_k.size() - first)), k);
  tape_.reset();
}

void TextSteps::predict(const Var& hidden, std::span<const Wanted> wanted, int64_t k) {
  std::vector<int32_t> rows;
  for (const Wanted& at : wanted) rows.push_back(at.row);
  const Var contexts = embedding(hidden, tape_.on_device(Tensor::from(rows, {std::ssize(rows)})));
  if (k > 0) {
    head_.best_words({&contexts, 1}, k, -1, memory_, best_);
  } else {
    head_.all_log_probs({&contexts, 1}, -1, memory_, log_p_);
  }
  const std::span<const double> log_p = k > 0 ? best_.log_probs : log_p_;
  const auto size = static_cast<size_t>(k > 0 ? k : head_.words());
  for (size_t r = 0; r < wanted.size(); ++r) {
    ReadText& text = *wanted[r].text;
    const std::span<const int32_t> words =
        k > 0 ? std::span<const int32_t>(best_.words).subspan(r * size, size)
              : std::span<const int32_t>();
    try {
      take(wanted[r], words, log_p.subspan(r * size, size));
    } catch (...) {
      text.error = std::current_exception();
    }
  }
}

// Takes a prediction: log p of `words`, best first, or of all words in the order of their ids.
void TextSteps::take(const Wanted& wanted, std::span<const int32_t> words,
                     std::span<const double> log_p) {
  ReadText& text = *wanted.text;
  if (wanted.position >= text.ids.size()) {
    const double uniform = uniform_of(text.seed, text.number, text.sample, text.ids.size());
    text.ids.push_back(words.empty() ? choose_word(log_p, text.sampling, uniform)
                                     : choose_among(words, log_p, text.sampling, uniform).word);
    text.ended = text.ids.back() == Specials::kLanguageModel.end;
  }
  if (text.top >= 0) text.log_p.push_back(token_log_p(log_p, text.ids[wanted.position], text.top));
}

TokenLogP token_log_p(std::span<const double> log_p, int32_t token, int64_t count) {
  TokenLogP out;
  out.log_p = log_p[static_cast<size_t>(token)];
  require(!std::isnan(out.log_p), "the model gives a token a probability that is not a number");
  std::vector<int32_t> order(log_p.size());
  std::iota(order.begin(), order.end(), 0);
  const auto kept = order.begin() + std::min(count, std::ssize(log_p));
  std::partial_sort(order.begin(), kept, order.end(), [&](int32_t a, int32_t b) {
    const double x = log_p[static_cast<size_t>(a)], y = log_p[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  order.erase(kept, order.end());
  for (const int32_t word : order) out.top_log_p.push_back(log_p[static_cast<size_t>(word)]);
  out.top = std::move(order);
  return out;
}

}  // namespace nine::app
