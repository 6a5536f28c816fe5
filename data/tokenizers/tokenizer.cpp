#include "data/tokenizers/tokenizer.h"

#include <algorithm>

namespace nine {

namespace detail {

template <size_t kWords, int kMostBits>
void PieceTable<kWords, kMostBits>::keep(const Key& piece, std::span<const int32_t> ids) {
  constexpr int kFirstBits = 6;
  constexpr size_t kFew = 8;  // one miss of so many look-ups
  if (++misses_ >= 2 * places_.size()) {
    if (bits_ < kMostBits && misses_ * kFew > looked_up_) {  // the next misses fill it again
      bits_ = bits_ == 0 ? kFirstBits : std::min(bits_ + 2, kMostBits);
      std::vector<Places>().swap(places_);  // before the larger places are there
      places_.assign(size_t{1} << bits_, Places());
    }
    misses_ = looked_up_ = 0;
  }
  Places& places = places_[piece.hash(bits_)];
  if (ids.size() > places.newest.ids.size()) return;
  // Sometimes drops the piece that was found, because it may not come again.
  constexpr size_t kSometimes = 8;
  if (misses_ % kSometimes == 0) places.found = places.newest;
  places.newest.piece = piece;
  std::fill(std::ranges::copy(ids, places.newest.ids.begin()).out, places.newest.ids.end(),
            Tokenizer::kNone);
}

template class PieceTable<2, 16>;
template class PieceTable<4, 12>;

}  // namespace detail

std::vector<int32_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  TokenCache cache;
  std::vector<int32_t> ids;
  encode(text, options, cache, ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool keep_special) const {
  std::string text;
  decode(ids, keep_special, text);
  return text;
}

}  // namespace nine
