// Models cut a piece of text into tokens: byte pair encoding and Unigram.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "data/tokenizers/merge_table.h"
#include "data/tokenizers/token_list.h"

namespace nine {

/// Cuts a piece into tokens. Several threads may use a model at once.
class TokenModel {
 public:
  TokenModel() = default;
  TokenModel(const TokenModel&) = delete;
  TokenModel& operator=(const TokenModel&) = delete;
  virtual ~TokenModel() = default;
  virtual void encode(std::string_view piece, std::vector<int32_t>& ids) const = 0;
  /// Returns the member "model" of a tokenizer.json.
  virtual Json json(const TokenList& tokens) const = 0;
  /// Returns the id of unknown text, or -1.
  virtual int32_t unknown() const = 0;
  /// True if no token goes on with U+2581 after another character, so that a text may be cut before
  /// each run of U+2581 without a change of its tokens.
  virtual bool cuts_at_spaces() const { return false; }
};

/// Byte pair encoding.
class BpeModel : public TokenModel {
 public:
  struct Settings {
    bool of_bytes = true;  ///< symbols are bytes, spelled in GPT-2's alphabet; else characters
    /// A piece that is a token is that token, whatever the merges say.
    bool ignore_merges = false;
    bool byte_fallback = false;  ///< a character without token becomes tokens <0x00> ... <0xFF>
    bool fuse_unknown = false;   ///< neighbouring unknown characters make one token
    int32_t unknown = -1;        ///< the id of unknown characters; -1: they are dropped
  };
  /// `merges` has pairs of ids of `tokens`. Error: a merge makes no token.
  BpeModel(const TokenList& tokens, MergeTable merges, const Settings& settings);

  void encode(std::string_view piece, std::vector<int32_t>& ids) const override;
  Json json(const TokenList& tokens) const override;
  int32_t unknown() const override { return settings_.unknown; }
  bool cuts_at_spaces() const override { return cuts_at_spaces_; }
  const Settings& settings() const { return settings_; }
  /// Throws an Error unless the ranks of merges have the order of the ids that they result in, so
  /// that these ids can stand for the ranks.
  void require_ranks_by_id() const;
  /// Throws an Error unless merges of one rank make one token of `tokens`, or runs of one
  /// character.
  void require_one_result_a_rank(const TokenList& tokens) const;

 private:
  std::vector<std::pair<uint32_t, int32_t>> ranked_results() const;  // sorted

  Settings settings_;
  MergeTable merges_;
  std::array<int32_t, 256> bytes_{};  // the token of a byte, or -1
  // With ignore_merges the pieces that are tokens, with their ids; without of_bytes the characters
  // that are tokens.
  StringTable whole_;
  std::vector<int32_t> whole_ids_;
  bool cuts_at_spaces_ = false;
};

/// Merges by the ranks of their results: any two tokens that together are a token may be merged.
/// `rank_of` has the rank of each id; MergeTable::kNoRank: the token is no result. `bytes` has the
/// bytes of each token. Error: more than 64 million pairs.
MergeTable merges_by_result(const std::vector<std::string>& bytes,
                            const std::vector<uint32_t>& rank_of);

/// Returns the model of tiktoken's ranks: tokens spelled in GPT-2's alphabet, whose ids have the
/// order of their ranks. Any two tokens that together are a token may be merged, and a piece that
/// is a token is that token. Error: a byte has no token.
std::unique_ptr<TokenModel> model_of_ranks(const TokenList& tokens);

/// The Unigram model (Kudo, "Subword Regularization", ACL 2018): the tokens of the highest sum of
/// log-probabilities.
class UnigramModel : public TokenModel {
 public:
  struct Settings {
    int32_t unknown = -1;
    bool byte_fallback = false;
    /// Computes in float, as SentencePiece does; else in double, as Hugging Face tokenizers does.
    bool single = false;
    std::vector<int32_t> not_in_text{};   ///< tokens that no text becomes, such as <s>
    std::vector<int32_t> user_defined{};  ///< tokens that are preferred to all others
  };
  /// `scores` has the log-probability of each id. Errors: a score that is not finite; a token
  /// without characters.
  UnigramModel(const TokenList& tokens, std::vector<double> scores, Settings settings);

  void encode(std::string_view piece, std::vector<int32_t>& ids) const override;
  Json json(const TokenList& tokens) const override;
  int32_t unknown() const override { return settings_.unknown; }

 private:
  struct Node {  // of the trie: its children lie side by side, by increasing byte
    uint32_t first_child = 0;
    uint16_t children = 0;
    uint8_t byte = 0;
    int32_t id = -1;
  };
  template <class Real>
  void best_path(std::string_view piece, std::vector<int32_t>& ids) const;

  Settings settings_;
  std::vector<double> scores_;
  std::vector<double> path_scores_;  // by id: the score in a path, which user-defined tokens raise
  double unknown_score_ = 0;
  std::vector<Node> trie_;
  std::array<int32_t, 256> bytes_{};
};

/// Throws the error of a tokenizer that has neither a token for a piece of text nor an unknown
/// token.
[[noreturn]] void fail_without_token(std::string_view text);

/// Returns "<0x0A>" for the byte 10.
std::string byte_token(unsigned char byte);
/// Returns the byte of such a token, or -1.
int byte_of_token(std::string_view token);

}  // namespace nine
