#include "apps/nine_serve/text_steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/functions.h"
#include "core/error.h"
#include "data/vocabulary.h"

namespace nine::app {

TextSteps::TextSteps(const LanguageNetwork& network, const DecodingHead& head)
    : network_(network),
      head_(head),
      arena_("text steps", network.device()),
      tape_(arena_),
      guard_(tape_),
      decoder_(network.decoder()) {}

void TextSteps::start(std::vector<ReadText*> texts) {
  texts_ = std::move(texts);
  position_ = 0;
  for (ReadText* text : texts_) text->given = text->ids.size();
  decoder_->start(std::max<int64_t>(1, std::ssize(texts_)));
}

bool TextSteps::done(const ReadText& text) const {
  if (text.stopped || text.ended || !text.error.empty()) return true;
  return position_ >= text.given && text.added() >= text.most;
}

bool TextSteps::idle() const {
  return std::ranges::all_of(texts_,
                             [&](const ReadText* text) { return text == nullptr || done(*text); });
}

std::vector<size_t> TextSteps::take_done() {
  std::vector<size_t> places;
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (texts_[i] == nullptr || !done(*texts_[i])) continue;
    places.push_back(i);
    texts_[i] = nullptr;
  }
  return places;
}

// True if this position's prediction is needed: the text grows, or the given token has a score.
bool TextSteps::predicts(const ReadText& text) const {
  return position_ >= text.given || (text.top >= 0 && text.score_given);
}

void TextSteps::step() {
  std::vector<DecoderRow> rows;
  std::vector<int32_t> wanted;  // rows of `rows` whose prediction is needed
  std::vector<ReadText*> readers;
  for (size_t slot = 0; slot < texts_.size(); ++slot) {
    if (texts_[slot] == nullptr || done(*texts_[slot])) continue;
    ReadText& text = *texts_[slot];
    if (predicts(text)) {
      wanted.push_back(static_cast<int32_t>(rows.size()));
      readers.push_back(&text);
    }
    rows.push_back({static_cast<int32_t>(slot),
                    position_ == 0 ? Specials::kLanguageModel.end : text.ids[position_ - 1]});
  }
  if (rows.empty()) return;
  tape_.reset();
  const Var hidden = decoder_->step(tape_, rows);
  if (!wanted.empty()) {
    const Var contexts =
        embedding(hidden, tape_.on_device(Tensor::from(wanted, {std::ssize(wanted)})));
    head_.all_log_probs({&contexts, 1}, -1, memory_, log_p_);
    const auto words = static_cast<size_t>(head_.words());
    for (size_t r = 0; r < readers.size(); ++r)
      take(*readers[r], std::span(log_p_).subspan(r * words, words));
  }
  ++position_;
  tape_.reset();
}

void TextSteps::take(ReadText& text, std::span<const double> log_p) const {
  try {
    take_token(text, log_p);
  } catch (const Error& e) {
    text.error = e.what();
  }
}

void TextSteps::take_token(ReadText& text, std::span<const double> log_p) const {
  const bool adds = position_ >= text.given;
  if (adds) {
    text.ids.push_back(choose_word(
        log_p, text.sampling, uniform_of(text.seed, text.number, text.sample, text.ids.size())));
    text.ended = text.ids.back() == Specials::kLanguageModel.end;
  }
  if (text.top >= 0 && (adds || text.score_given))
    text.log_p.push_back(token_log_p(log_p, text.ids[position_], text.top));
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
