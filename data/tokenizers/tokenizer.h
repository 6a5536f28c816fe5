// Tokenizers: raw text to ids, and ids to the same text.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

namespace detail {

/// Keeps the ids of pieces. A piece has at most Key::kMost bytes, which are kWords 64-bit words,
/// and at most 2 kWords ids. Each hash has two places: for the piece that was last found again, and
/// for the newest piece. If many look-ups miss, the number of hashes grows, up to 2^kMostBits.
template <size_t kWords, int kMostBits>
class PieceTable {
 public:
  using Key = PieceKey<kWords>;

  static constexpr size_t kMostIds = 2 * kWords;
  using Ids = std::array<int32_t, kMostIds>;  ///< less than 0 after the last id

  /// Returns where find() will look for a piece, or null. The caller prefetches it, because GCC
  /// leaves out the call of a const function that does nothing else.
  const void* place(const Key& piece) const {
    return bits_ == 0 ? nullptr : &places_[piece.hash(bits_)];
  }
  /// Returns the ids of a piece, valid until the next call; null if they are not kept.
  const Ids* find(const Key& piece) {
    ++looked_up_;
    if (bits_ == 0) return nullptr;
    Places& places = places_[piece.hash(bits_)];
    if (places.newest.piece == piece) std::swap(places.newest, places.found);
    return places.found.piece == piece ? &places.found.ids : nullptr;
  }
  /// Keeps the ids of a piece that find() did not find, if they are few.
  void keep(const Key& piece, std::span<const int32_t> ids);

 private:
  struct Place {
    Key piece;
    Ids ids{};
  };
  struct alignas(32 * kWords) Places {  // of one hash, in few lines of the processor's cache
    Place found, newest;
  };

  std::vector<Places> places_;
  int bits_ = 0;                       // of the hash
  size_t misses_ = 0, looked_up_ = 0;  // since places_ grew
};

}  // namespace detail

/// Short pieces of text with their few ids, so that a repeated piece is not encoded again. It holds
/// 4.5 MiB at most. A cache belongs to one thread and one tokenizer.
class TokenCache {
 public:
  /// Appends the ids of pieces, which are parts of `text` or stand elsewhere. For a piece that the
  /// cache lacks, calls encode(piece, ids), which must append the ids; then keeps them if they and
  /// the piece are short.
  template <class Encode>
  void append(std::string_view text, std::span<const std::string_view> pieces,
              std::vector<int32_t>& ids, Encode&& encode) {
    for (size_t done = 0; done < pieces.size(); done += kAtOnce)
      append_few(text, pieces.subspan(done, std::min(kAtOnce, pieces.size() - done)), ids, encode);
  }

 private:
  using Short = detail::PieceTable<2, 16>;
  using Long = detail::PieceTable<4, 12>;
  static constexpr size_t kAtOnce = 16;  // pieces whose places are loaded together

  template <class Encode>
  void append_few(std::string_view text, std::span<const std::string_view> pieces,
                  std::vector<int32_t>& ids, Encode&& encode) {
    std::array<Short::Key, kAtOnce> keys;
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (has_key<Short>(pieces[i])) {
        keys[i] = Short::Key(pieces[i], text);
        __builtin_prefetch(short_.place(keys[i]));
      } else if (has_key<Long>(pieces[i])) {
        __builtin_prefetch(long_.place(Long::Key(pieces[i], text)));
      }
    }
    // Collects ids, so that `ids` grows seldom. Only what append_piece() wrote is read.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
    std::array<int32_t, kAtOnce * Long::kMostIds> few;
    size_t size = 0;
    const auto flush = [&] {
      ids.insert(ids.end(), few.data(), few.data() + std::exchange(size, 0));
    };
    const auto append_piece = [&](std::string_view piece, auto& table, const auto& key) {
      if (const auto* const found = table.find(key)) {
        std::memcpy(few.data() + size, found->data(), sizeof *found);
        for (const int32_t id : *found) size += id >= 0 ? 1 : 0;
        return;
      }
      flush();
      const size_t before = ids.size();
      encode(piece, ids);
      table.keep(key, {ids.data() + before, ids.size() - before});
    };
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (has_key<Short>(pieces[i])) {
        append_piece(pieces[i], short_, keys[i]);
      } else if (has_key<Long>(pieces[i])) {
        append_piece(pieces[i], long_, Long::Key(pieces[i], text));
      } else {
        flush();
        encode(pieces[i], ids);
      }
    }
    flush();
  }
  template <class Table>
  static bool has_key(std::string_view piece) {
    return !piece.empty() && piece.size() <= Table::Key::kMost;
  }

  Short short_;
  Long long_;
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
  /// Returns the bytes that a token adds to a text when another token precedes it (" the"). At the
  /// beginning of a text, decode() may leave out the space.
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
