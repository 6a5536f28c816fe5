#include "apps/nine_serve/text_steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/functions.h"
#include "core/error.h"
#include "data/vocabulary.h"

namespace nine::app {

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

void TextSteps::step() {
  std::vector<DecoderRow> rows;
  std::vector<int32_t> wanted;  // rows of `rows` whose prediction is needed
  struct Reader {
    ReadText* text;
    size_t position;
  };
  std::vector<Reader> readers;  // of `wanted`
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].live()) continue;
    ReadText& text = *slots_[i].text;
    const size_t position = slots_[i].read++;
    if (text.needs(position)) {
      wanted.push_back(static_cast<int32_t>(rows.size()));
      readers.push_back({&text, position});
    }
    rows.push_back({static_cast<int32_t>(i),
                    position == 0 ? Specials::kLanguageModel.end : text.ids[position - 1]});
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
      take(*readers[r].text, readers[r].position, std::span(log_p_).subspan(r * words, words));
  }
  tape_.reset();
}

void TextSteps::take(ReadText& text, size_t position, std::span<const double> log_p) {
  try {
    take_token(text, position, log_p);
  } catch (...) {
    text.error = std::current_exception();
  }
}

// Takes the prediction of ids[position].
void TextSteps::take_token(ReadText& text, size_t position, std::span<const double> log_p) {
  if (position >= text.ids.size()) {
    text.ids.push_back(choose_word(
        log_p, text.sampling, uniform_of(text.seed, text.number, text.sample, text.ids.size())));
    text.ended = text.ids.back() == Specials::kLanguageModel.end;
  }
  if (text.top >= 0) text.log_p.push_back(token_log_p(log_p, text.ids[position], text.top));
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
