#include "data/tokenizers/pipeline.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/quote.h"
#include "data/tokenizers/byte_alphabet.h"

namespace nine {

namespace {

const Json& part(const std::shared_ptr<const Json>& json) {
  static const Json null;
  return json ? *json : null;
}

}  // namespace

PipelineTokenizer::PipelineTokenizer(TokenizerParts parts)
    : parts_(std::move(parts)),
      normalizer_(parts_.sentence_piece ? Normalizer(*parts_.sentence_piece)
                                        : Normalizer(part(parts_.normalizer))),
      pre_tokenizer_(part(parts_.pre_tokenizer)),
      decoder_(part(parts_.decoder)) {
  parts_.vocabulary.check_gaps();
  for (const AddedToken& token : parts_.added) {
    if (all().find(token.content) != token.id) {
      if (!extended_) extended_ = parts_.vocabulary;
      extended_->add(token.content, token.id);
    }
    kinds_.resize(std::max(kinds_.size(), static_cast<size_t>(token.id) + 1), Kind::none);
    kinds_[static_cast<size_t>(token.id)] = token.special ? Kind::special : Kind::added;
    if (normalizer_.empty() || !token.normalized) {
      of_text_.add(token);
    } else {
      AddedToken changed = token;
      // SentencePiece's normaliser leaves a user-defined piece as it is. A piece with a space is in
      // no text, whose spaces it marks.
      if (!parts_.sentence_piece) normalizer_.apply(changed.content);
      of_normalized_.add(changed);
    }
  }
  all().check_gaps();
  kinds_.resize(static_cast<size_t>(all().size()), Kind::none);
  for (int32_t id = 0; id < all().size(); ++id) {
    Kind& kind = kinds_[static_cast<size_t>(id)];
    if (kind == Kind::none && all().has(id)) kind = Kind::usual;
  }
  byte_level_ = decoder_.is_byte_level();
  if (!byte_level_) return;
  std::string bytes;
  ends_.reserve(kinds_.size());
  for (int32_t id = 0; id < all().size(); ++id) {
    if (kind_at(id) != Kind::usual || !read_spelling(all().token(id), bytes))
      bytes = all().token(id);
    bytes_ += bytes;
    ends_.push_back(bytes_.size());
  }
}

PipelineTokenizer::Kind PipelineTokenizer::kind_at(int32_t id) const {
  require(id >= 0 && id < size(), "[tokenizer] the id ", id, " is not from 0 to ", size() - 1);
  return kinds_[static_cast<size_t>(id)];
}

std::string_view PipelineTokenizer::token(int32_t id) const {
  return kind_at(id) == Kind::none ? std::string_view() : all().token(id);
}

void PipelineTokenizer::encode(std::string_view text, const EncodeOptions& options,
                               TokenCache& cache, std::vector<int32_t>& ids) const {
  require(text.size() < size_t{1} << 31, "[tokenizer] a text of ", bytes_text(text.size()),
          ": give less than 2 GiB at once");
  if (options.add_special) ids.insert(ids.end(), parts_.before.begin(), parts_.before.end());
  size_t done = 0;
  if (!of_text_.empty()) {
    AddedTokenFinder::Match match;
    while (of_text_.find(text, done, options.special_from_text, match)) {
      if (match.begin > done)
        encode_part(text.substr(done, match.begin - done), done == 0, options, cache, ids);
      ids.push_back(match.token->id);
      done = match.end;
    }
  }
  if (done < text.size()) encode_part(text.substr(done), done == 0, options, cache, ids);
  if (options.add_special) ids.insert(ids.end(), parts_.after.begin(), parts_.after.end());
}

void PipelineTokenizer::encode_part(std::string_view text, bool at_start,
                                    const EncodeOptions& options, TokenCache& cache,
                                    std::vector<int32_t>& ids) const {
  if (normalizer_.empty()) return encode_pieces(text, at_start, cache, ids);
  std::string normal(text);
  normalizer_.apply(normal);
  const std::string_view all = normal;
  size_t done = 0;
  AddedTokenFinder::Match match;
  while (of_normalized_.find(all, done, options.special_from_text, match)) {
    if (match.begin > done)
      encode_pieces(all.substr(done, match.begin - done), at_start && done == 0, cache, ids);
    ids.push_back(match.token->id);
    done = match.end;
  }
  if (done < all.size()) encode_pieces(all.substr(done), at_start && done == 0, cache, ids);
}

void PipelineTokenizer::encode_pieces(std::string_view text, bool at_start, TokenCache& cache,
                                      std::vector<int32_t>& ids) const {
  const auto encode = [&](std::string_view piece, std::vector<int32_t>& out) {
    parts_.model->encode(piece, out);
  };
  const auto append = [&](std::span<const std::string_view> pieces) {
    cache.append(text, pieces, ids, encode);
  };
  if (!parts_.model->cuts_at_spaces()) return pre_tokenizer_.for_each_batch(text, at_start, append);
  pre_tokenizer_.for_each(text, at_start, [&](std::string_view piece) {
    PieceBatch<decltype(append)> batch(append);
    while (!piece.empty()) {
      size_t end = 0;
      while (piece.substr(end).starts_with(kSpaceMark)) end += kSpaceMark.size();
      end = std::min(piece.find(kSpaceMark, end), piece.size());
      batch.add(piece.substr(0, end));
      piece.remove_prefix(end);
    }
    batch.flush();
  });
}

void PipelineTokenizer::decode(std::span<const int32_t> ids, bool keep_special,
                               std::string& text) const {
  std::vector<std::string> tokens;
  for (int32_t id : ids) {
    const Kind kind = kind_at(id);
    require(kind != Kind::none, "[tokenizer] the id ", id, " has no token");
    if (kind == Kind::special && !keep_special) continue;
    if (byte_level_) {
      text += bytes_of(id);
    } else {
      tokens.emplace_back(all().token(id));
    }
  }
  if (!byte_level_ && !tokens.empty()) decoder_.decode(tokens, text);
}

std::string PipelineTokenizer::token_bytes(int32_t id) const {
  const Kind kind = kind_at(id);
  if (byte_level_) return std::string(bytes_of(id));
  if (kind != Kind::usual) return std::string(token(id));
  std::vector<std::string> tokens{"x", std::string(token(id))};  // not the first of the text
  std::string text;
  decoder_.decode(tokens, text);
  return text.substr(1);
}

std::vector<int32_t> PipelineTokenizer::special_ids() const {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < size(); ++id)
    if (is_special(id)) ids.push_back(id);
  return ids;
}

std::string PipelineTokenizer::json() const {
  require(!parts_.sentence_piece,
          "tokenizer.json cannot express a SentencePiece model exactly: its normalisation, its "
          "float32 scores, and its order of pairs that make one piece; keep the .model file, or "
          "let `bpe convert` write what other programs read");
  return json_text(members(), 2) + '\n';
}

Json PipelineTokenizer::members() const {
  Json added = Json::array();
  for (const AddedToken& token : parts_.added)
    added.push_back({{"id", token.id},
                     {"content", token.content},
                     {"single_word", token.single_word},
                     {"lstrip", token.lstrip},
                     {"rstrip", token.rstrip},
                     {"normalized", token.normalized},
                     {"special", token.special}});
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", std::move(added)},
          {"normalizer", part(parts_.normalizer)},
          {"pre_tokenizer", part(parts_.pre_tokenizer)},
          {"post_processor", part(parts_.post_processor)},
          {"decoder", part(parts_.decoder)},
          {"model", parts_.model->json(parts_.vocabulary)}};
}

}  // namespace nine
