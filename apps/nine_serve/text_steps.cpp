#include "apps/nine_serve/text_steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "data/vocabulary.h"

namespace nine::app {
namespace {

constexpr size_t kStepRows = 256;  // most tokens that a step reads, unless it has more texts
constexpr size_t kJoiningTokens = 32;

// Whether a text that has not begun has the prompt of a text that has added no token yet.
bool has_prompt_of(const ReadText& text, const ReadText& first) {
  return !text.begun && text.most > 0 && first.most > 0 && first.added() == 0 &&
         text.score_given == first.score_given && text.top == first.top && text.ids == first.ids;
}

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
    : arena_("text steps", network.device(), pool_bytes),
      tape_(arena_),
      guard_(tape_),
      decoder_(network.decoder()),
      next_(head) {}

// Puts a text into a place.
void TextSteps::begin(size_t place, ReadText* text) {
  const auto first = std::ranges::find_if(slots_, [&](const Slot& slot) {
    return slot.live() && !slot.first && has_prompt_of(*text, *slot.text);
  });
  const std::optional<size_t> of =
      first == slots_.end() ? std::optional<size_t>() : first - slots_.begin();
  if (!text->begun) text->given = text->ids.size();
  text->begun = true;
  slots_[place] = {.text = text, .first = of};
}

void TextSteps::start(std::vector<ReadText*> texts) {
  slots_.assign(texts.size(), {});
  for (size_t i = 0; i < texts.size(); ++i) begin(i, texts[i]);
  decoder_->start(std::max<int64_t>(1, std::ssize(slots_)));
}

bool TextSteps::joins(const ReadText& text) const {
  return decoder_->mixes_counts() || text.ids.size() <= kJoiningTokens;
}

size_t TextSteps::add(ReadText* text) {
  const auto free = std::ranges::find_if(slots_, [](const Slot& s) { return s.text == nullptr; });
  const auto place = static_cast<size_t>(free - slots_.begin());
  decoder_->begin(tape_, static_cast<int32_t>(place));
  if (free == slots_.end()) slots_.emplace_back();
  begin(place, text);
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
    slots_[i] = {};
    leave_prompt(i);
  }
  return places;
}

// Returns how many tokens of each text a step reads. Each live text reads one. Prompts share the
// others evenly, and what short prompts leave is for the longer ones, if the decoder mixes counts.
std::vector<size_t> TextSteps::counts() const {
  std::vector<size_t> counts(slots_.size(), 0), live;
  for (size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].live() && !slots_[i].first) live.push_back(i);
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

int64_t TextSteps::step() {
  for (size_t i = 0; i < slots_.size(); ++i)  // the caller may have stopped it
    if (!slots_[i].live()) leave_prompt(i);
  std::vector<DecoderRow> rows;
  std::vector<size_t> firsts;  // places whose texts add their first token, and others theirs
  predictions_.clear();
  wanted_.clear();
  const std::vector<size_t> of_texts = counts();
  for (size_t i = 0; i < slots_.size(); ++i)
    for (size_t n = 0; n < of_texts[i]; ++n) {
      ReadText& text = *slots_[i].text;
      const size_t position = slots_[i].read++;
      if (text.needs(position)) want(text, position, rows.size());
      if (position == text.given && text.added() == 0)
        for (Slot& other : slots_)
          if (other.first == i && other.live()) {
            want(*other.text, position, rows.size());
            if (firsts.empty() || firsts.back() != i) firsts.push_back(i);
          }
      rows.push_back({static_cast<int32_t>(i),
                      position == 0 ? Specials::kLanguageModel.end : text.ids[position - 1]});
    }
  if (rows.empty()) return 0;
  tape_.reset();
  predict(decoder_->step(tape_, rows));
  tape_.reset();
  if (!firsts.empty()) part_from(firsts);
  return std::ssize(rows);
}

// Lets the first of the texts that wait for place i read the prompt for the others.
void TextSteps::leave_prompt(size_t i) {
  std::optional<size_t> next;
  for (size_t other = 0; other < slots_.size(); ++other) {
    if (slots_[other].first != i) continue;
    slots_[other].first = next;
    if (!next) next = other;
  }
}

// Notes that a text's token at `position` is to be predicted from a row of the step.
void TextSteps::want(ReadText& text, size_t position, size_t row) {
  const bool chooses = position >= text.ids.size();
  predictions_.push_back({&text, position, chooses ? -1 : text.ids[position]});
  wanted_.push_back(
      {.row = static_cast<int32_t>(row),
       .sampling = chooses ? &text.sampling : nullptr,
       .uniform = chooses ? uniform_of(text.seed, text.number, text.sample, position) : 0,
       .all = text.top >= 0});
}

// Lets the texts that waited for the texts of `firsts` go on alone. Each has added its own token.
void TextSteps::part_from(std::span<const size_t> firsts) {
  std::vector<int32_t> from;
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    from.push_back(slot.text == nullptr ? -1 : static_cast<int32_t>(i));
    if (!slot.first || std::ranges::find(firsts, *slot.first) == firsts.end()) continue;
    from.back() = static_cast<int32_t>(*slot.first);
    const Slot& first = slots_[*slot.first];
    take_given(*slot.text, *first.text);
    slot.read = first.read;
    slot.first.reset();
  }
  decoder_->reorder(from);
}

// Gives a text, which has added its first token, the log-probabilities of its given tokens.
void TextSteps::take_given(ReadText& text, const ReadText& first) {
  if (text.top < 0 || !text.score_given || text.error) return;
  if (first.log_p.size() < text.given) {  // a probability that is not a number
    text.error = first.error;
    return;
  }
  try {
    std::vector<TokenLogP> all(first.log_p.begin(),
                               first.log_p.begin() + static_cast<int64_t>(text.given));
    for (TokenLogP& own : text.log_p) all.push_back(std::move(own));
    text.log_p = std::move(all);
  } catch (...) {  // memory
    text.error = std::current_exception();
  }
}

void TextSteps::predict(const Var& hidden) {
  next_.predict({&hidden, 1}, wanted_, [&](size_t i, const NextWord& next) {
    Prediction& made = predictions_[i];
    made.error = next.error;
    if (next.error) return;
    if (wanted_[i].sampling != nullptr) made.word = next.word;
    try {
      if (made.text->top >= 0) made.log_p = token_log_p(next.all, made.word, made.text->top);
    } catch (...) {
      made.error = std::current_exception();
    }
  });
  for (Prediction& made : predictions_) take(made);
}

// Gives a text its next prediction.
void TextSteps::take(Prediction& made) {
  ReadText& text = *made.text;
  if (text.error) return;
  if (made.error) {
    text.error = made.error;
    return;
  }
  if (made.position >= text.ids.size()) {
    text.ids.push_back(made.word);
    text.ended = made.word == Specials::kLanguageModel.end;
  }
  if (text.top >= 0) text.log_p.push_back(std::move(made.log_p));
}

TokenLogP token_log_p(std::span<const double> log_p, int32_t token, int64_t count) {
  TokenLogP out;
  out.log_p = log_p[static_cast<size_t>(token)];
  require(!std::isnan(out.log_p), "the model gives a token a probability that is not a number");
  if (count == 0) return out;
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
