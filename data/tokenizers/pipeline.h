// The tokenizer that all formats are read into: added tokens, normaliser, pre-tokeniser, model,
// decoder, as Hugging Face tokenizers has them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "data/tokenizers/added_tokens.h"
#include "data/tokenizers/normalizer.h"
#include "data/tokenizers/pre_tokenizer.h"
#include "data/tokenizers/token_decoder.h"
#include "data/tokenizers/token_list.h"
#include "data/tokenizers/token_model.h"
#include "data/tokenizers/tokenizer.h"

namespace nine {

/// The parts of a tokenizer.
struct TokenizerParts {
  TokenList vocabulary;  ///< of the model
  std::unique_ptr<TokenModel> model;
  std::vector<AddedToken>
      added;  ///< their ids may be of the vocabulary, which then has the content
  std::vector<int32_t> before, after;  ///< special tokens around a text
  /// Members of the tokenizer.json, as the file has them; null: there is none.
  std::shared_ptr<const Json> normalizer, pre_tokenizer, post_processor, decoder;
  /// SentencePiece's normaliser, which tokenizer.json cannot express, in place of `normalizer`.
  std::shared_ptr<const Normalizer::SentencePiece> sentence_piece;
};

class PipelineTokenizer : public Tokenizer {
 public:
  /// Errors: those of the parts; an added token whose id another token has.
  explicit PipelineTokenizer(TokenizerParts parts);

  using Tokenizer::decode;
  using Tokenizer::encode;
  void encode(std::string_view text, const EncodeOptions& options, TokenCache& cache,
              std::vector<int32_t>& ids) const override;
  void decode(std::span<const int32_t> ids, bool keep_special, std::string& text) const override;
  int32_t size() const override { return all().size(); }
  std::string_view token(int32_t id) const override;
  std::string token_bytes(int32_t id) const override;
  int32_t find(std::string_view token) const override { return all().find(token); }
  bool is_special(int32_t id) const override { return kind_at(id) == Kind::special; }
  int32_t unknown() const override { return parts_.model->unknown(); }
  std::vector<int32_t> special_ids() const override;
  std::string json() const override;
  /// Returns the members of a tokenizer.json. They describe the whole tokenizer unless it has a
  /// normaliser of SentencePiece.
  Json members() const;

  const PreTokenizer& pre_tokenizer() const { return pre_tokenizer_; }
  const Normalizer& normalizer() const { return normalizer_; }
  const TokenizerParts& parts() const { return parts_; }
  const TokenModel& model() const { return *parts_.model; }
  const TokenList& vocabulary() const { return parts_.vocabulary; }

 private:
  enum class Kind : uint8_t { none, usual, added, special };
  const TokenList& all() const { return extended_ ? *extended_ : parts_.vocabulary; }
  std::string_view bytes_of(int32_t id) const {
    const auto i = static_cast<size_t>(id);
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }
  Kind kind_at(int32_t id) const;
  void encode_part(std::string_view text, bool at_start, const EncodeOptions& options,
                   TokenCache& cache, std::vector<int32_t>& ids) const;
  void encode_pieces(std::string_view text, bool at_start, TokenCache& cache,
                     std::vector<int32_t>& ids) const;

  TokenizerParts parts_;
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  TokenDecoder decoder_;
  std::optional<TokenList> extended_;  // the vocabulary and added tokens that it lacks; if any
  std::vector<Kind> kinds_;            // by id
  AddedTokenFinder of_text_, of_normalized_;
  bool byte_level_ = false;  // tokens are decoded one by one
  // If so, the bytes of all tokens, and by id the end of each.
  std::string bytes_;
  std::vector<size_t> ends_;
};

}  // namespace nine
