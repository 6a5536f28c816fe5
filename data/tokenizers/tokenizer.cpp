#include "data/tokenizers/tokenizer.h"

#include <algorithm>

namespace nine {

void TokenCache::keep(const PieceKey& piece, std::span<const int32_t> ids) {
  constexpr int kFirstBits = 6, kMostBits = 14;
  if (bits_ < kMostBits && ++misses_ >= places_.size()) {  // the next misses fill it again
    bits_ = bits_ == 0 ? kFirstBits : bits_ + 2;
    misses_ = 0;
    std::vector<Place>().swap(places_);  // before the larger places are there
    places_.assign(size_t{2} << bits_, Place());
  }
  Place* const place = &places_[2 * piece.hash(bits_)];
  if (ids.size() > place->ids.size()) return;
  place[1] = place[0];
  place->piece = piece;
  place->count = static_cast<uint32_t>(ids.size());
  std::copy(ids.begin(), ids.end(), place->ids.begin());
}

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
