// Tokenizers: raw text to ids, and ids to the same text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/piece_key.h"

namespace nine {

/// Settings of encode().
struct EncodeOptions {
  /// True: where the text spells a special token, such as <|endoftext|>, it becomes that token's
  /// id. By default the spelling is ordinary text, so that a text cannot forge a special token.
  bool special_from_text = false;
  /// True: adds the special tokens that the tokenizer puts around a text, such as <s> before it.
  bool add_special = false;
};

/// Short pieces of text with their few ids, so that a repeated piece is not encoded again. Each
/// hash has two places, for its two newest pieces. So the size has a bound: 2 MiB. A cache belongs
/// to one thread and one tokenizer.
class TokenCache {
 public:
  /// Appends the ids of a piece. If the cache lacks the piece, calls encode(piece, ids), which must
  /// append the ids; then keeps them if the piece is short.
  template <class Encode>
  void append(std::string_view piece, std::vector<int32_t>& ids, Encode&& encode) {
    if (piece.empty() || piece.size() > PieceKey::kMost) return encode(piece, ids);
    const PieceKey key(piece);
    if (bits_ > 0) {
      const Place* place = &places_[2 * key.hash(bits_)];
      if (place->piece == key || (++place)->piece == key) {
        for (size_t i = 0; i < place->count; ++i) ids.push_back(place->ids[i]);
        return;
      }
    }
    const size_t before = ids.size();
    encode(piece, ids);
    keep(key, {ids.data() + before, ids.size() - before});
  }

 private:
  struct alignas(64) Place {  // a line of the processor's cache
    PieceKey piece;
    uint32_t count = 0;
    std::array<int32_t, 7> ids{};
  };
  void keep(const PieceKey& piece, std::span<const int32_t> ids);

  std::vector<Place> places_;
  int bits_ = 0;       // of the hash
  size_t misses_ = 0;  // since places_ grew
};

/// A tokenizer. Several threads may call its functions at once, each with a cache of its own.
class Tokenizer {
 public:
  static constexpr int32_t kNone = -1;

  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  virtual ~Tokenizer() = default;

  /// Appends the ids of a text, any bytes. Errors: a pattern of the tokenizer's file needs too many
  /// steps; the text has 2 GiB or more.
  virtual void encode(std::string_view text, const EncodeOptions& options, TokenCache& cache,
                      std::vector<int32_t>& ids) const = 0;
  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// Appends the text of ids. Leaves out special tokens unless `keep_special`. For a byte-level
  /// tokenizer without normaliser, decode(encode(x)) is x for every byte string x. Error: an id
  /// that no token has.
  virtual void decode(std::span<const int32_t> ids, bool keep_special, std::string& text) const = 0;
  std::string decode(std::span<const int32_t> ids, bool keep_special = false) const;

  /// Returns the number of ids: they are 0 to size() - 1. Some of them may have no token.
  virtual int32_t size() const = 0;
  /// Returns a token as vocabularies spell it, where bytes may be other characters ("Ġthe"). Empty
  /// if the id has no token.
  virtual std::string_view token(int32_t id) const = 0;
  /// Returns the bytes that a token adds to a text, unless it is the text's first (" the").
  virtual std::string token_bytes(int32_t id) const = 0;
  /// Returns the id of a token as token() spells it, or kNone.
  virtual int32_t find(std::string_view token) const = 0;
  virtual bool is_special(int32_t id) const = 0;
  /// Returns the id of the token for text that has no token of its own, or kNone.
  virtual int32_t unknown() const { return kNone; }
  /// Returns the ids of special tokens in increasing order.
  virtual std::vector<int32_t> special_ids() const = 0;
  /// Returns the text of a tokenizer.json that reads as this tokenizer. Error: the format cannot
  /// express it.
  virtual std::string json() const = 0;
};

}  // namespace nine
