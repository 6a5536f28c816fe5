// Tokenizers: raw text to ids, and ids to the same text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/string_table.h"

namespace nine {

/// Settings of encode().
struct EncodeOptions {
  /// True: where the text spells a special token, such as <|endoftext|>, it becomes that token's
  /// id. By default the spelling is ordinary text, so that a text cannot forge a special token.
  bool special_from_text = false;
  /// True: adds the special tokens that the tokenizer puts around a text, such as <s> before it.
  bool add_special = false;
};

/// Pieces of text with their ids, so that a repeated piece is not encoded again. A cache belongs to
/// one thread and one tokenizer. It forgets all pieces when it has kMostPieces or kMostIds.
class TokenCache {
 public:
  /// Returns the number of a piece. If the piece is new, call begin(), then add() for its ids, then
  /// end().
  int32_t number(std::string_view piece) {
    if (pieces_.size() >= kMostPieces || ids_.size() >= kMostIds) clear();
    return pieces_.add(piece);
  }
  /// True if `piece`, the newest, has no ids yet.
  bool lacks(int32_t piece) const { return static_cast<size_t>(piece) == ends_.size(); }
  std::vector<int32_t>& begin() { return ids_; }  ///< append the ids of the newest piece
  void end() { ends_.push_back(ids_.size()); }
  std::span<const int32_t> ids(int32_t piece) const {
    const auto p = static_cast<size_t>(piece);
    const size_t first = p == 0 ? 0 : ends_[p - 1];
    return {ids_.data() + first, ends_[p] - first};
  }
  void clear() {
    pieces_ = StringTable();
    ids_.clear();
    ends_.clear();
  }

 private:
  static constexpr int32_t kMostPieces = 1 << 20;
  static constexpr size_t kMostIds = size_t{1} << 24;
  StringTable pieces_;
  std::vector<int32_t> ids_;
  std::vector<size_t> ends_;
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
  /// Returns the token for text that has no token of its own, or kNone.
  virtual int32_t unknown() const { return kNone; }
  /// Returns the ids of special tokens in increasing order.
  virtual std::vector<int32_t> special_ids() const = 0;
  /// Returns the text of a tokenizer.json that reads as this tokenizer. Error: the format cannot
  /// express it.
  virtual std::string json() const = 0;
};

}  // namespace nine
