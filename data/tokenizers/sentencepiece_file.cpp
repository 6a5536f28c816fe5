// Reads a SentencePiece model: sentencepiece_model.proto, in the wire format of protocol buffers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/quote.h"
#include "data/text.h"
#include "data/tokenizers/pipeline.h"
#include "data/tokenizers/read_tokenizer.h"

namespace nine {

namespace {

/// A field of a message: its number and its value, which is a number or bytes.
struct Field {
  uint64_t number = 0;
  bool has_bytes = false;
  uint64_t value = 0;
  std::string_view bytes{};
};

/// Reads the fields of a message one by one. Every size is checked against the bytes that are left.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  bool next(Field& field) {
    if (rest_.empty()) return false;
    const uint64_t tag = varint();
    field = {.number = tag >> 3};
    switch (tag & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = fixed(8);
        break;
      case 2: {
        const uint64_t size = varint();
        require(size <= rest_.size(), "a field of ", size, " bytes, of which ", rest_.size(),
                " are there: it is no SentencePiece model, or it is cut off");
        field.has_bytes = true;
        field.bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        break;
      }
      case 5:
        field.value = fixed(4);
        break;
      default:
        fail("a field of wire type ", tag & 7, ": it is no SentencePiece model, or it is damaged");
    }
    return true;
  }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_[0]);
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail("a number does not end: it is no SentencePiece model, or it is cut off");
  }
  uint64_t fixed(size_t size) {
    require(size <= rest_.size(), "a number is cut off: it is no SentencePiece model");
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i)
      value |= static_cast<uint64_t>(static_cast<uint8_t>(rest_[i])) << (8 * i);
    rest_.remove_prefix(size);
    return value;
  }

  std::string_view rest_;
};

enum class PieceType : uint64_t { normal = 1, unknown, control, user_defined, unused, byte };
enum class ModelType : uint64_t { unigram = 1, bpe, word, character };

struct Piece {
  std::string_view text;
  float score = 0;
  PieceType type = PieceType::normal;
};

struct Model {
  std::vector<Piece> pieces;
  ModelType type = ModelType::unigram;
  bool byte_fallback = false, white_space_as_suffix = false;
  bool add_dummy_prefix = true, remove_extra_white_space = true, escape_white_space = true;
  std::string_view map, denormalizer_map;
  int64_t bos = 1, eos = 2;
};

Piece read_piece(std::string_view bytes) {
  Piece piece;
  Message message(bytes);
  for (Field field; message.next(field);) {
    if (field.number == 1 && field.has_bytes) piece.text = field.bytes;
    if (field.number == 2) piece.score = std::bit_cast<float>(static_cast<uint32_t>(field.value));
    if (field.number == 3) piece.type = static_cast<PieceType>(field.value);
  }
  require(!piece.text.empty(), "a piece is empty");
  require(find_invalid_utf8(piece.text) == std::string_view::npos, "the piece ", quote(piece.text),
          " is not valid UTF-8");
  require(piece.type >= PieceType::normal && piece.type <= PieceType::byte, "the piece ",
          quote(piece.text), " is of the type ", static_cast<uint64_t>(piece.type),
          ", which Nine does not know");
  require(piece.type != PieceType::unused, "the piece ", quote(piece.text),
          " is of the type UNUSED, which Nine does not know");
  return piece;
}

Model read_model(std::string_view bytes) {
  Model model;
  Message message(bytes);
  for (Field field; message.next(field);) {
    if (!field.has_bytes) continue;
    Message part(field.bytes);
    if (field.number == 1) {
      model.pieces.push_back(read_piece(field.bytes));
    } else if (field.number == 2) {  // TrainerSpec
      for (Field one; part.next(one);) {
        if (one.number == 3) model.type = static_cast<ModelType>(one.value);
        if (one.number == 24) model.white_space_as_suffix = one.value != 0;
        if (one.number == 35) model.byte_fallback = one.value != 0;
        // -1, "none", is a number of ten bytes.
        if (one.number == 41) model.bos = static_cast<int64_t>(one.value);
        if (one.number == 42) model.eos = static_cast<int64_t>(one.value);
      }
    } else if (field.number == 3) {  // NormalizerSpec
      for (Field one; part.next(one);) {
        if (one.number == 2 && one.has_bytes) model.map = one.bytes;
        if (one.number == 3) model.add_dummy_prefix = one.value != 0;
        if (one.number == 4) model.remove_extra_white_space = one.value != 0;
        if (one.number == 5) model.escape_white_space = one.value != 0;
      }
    } else if (field.number == 5) {  // the denormaliser's NormalizerSpec
      for (Field one; part.next(one);)
        if (one.number == 2 && one.has_bytes) model.denormalizer_map = one.bytes;
    }
  }
  return model;
}

std::unique_ptr<Tokenizer> tokenizer_of(std::string_view bytes) {
  const Model model = read_model(bytes);
  require(!model.pieces.empty(), "it has no pieces: it is no SentencePiece model");
  require(model.type == ModelType::unigram || model.type == ModelType::bpe, "its model is ",
          model.type == ModelType::word ? "WORD" : "CHAR", ", and Nine knows UNIGRAM and BPE");
  require(!model.white_space_as_suffix,
          "it has treat_whitespace_as_suffix, which Nine does not know");
  require(model.denormalizer_map.empty(), "it has a denormalizer, which Nine does not know");
  TokenizerParts parts;
  std::vector<double> scores;
  auto normal = std::make_shared<Normalizer::SentencePiece>();
  normal->map = std::make_shared<CharactersMap>(model.map);
  normal->add_dummy_prefix = model.add_dummy_prefix;
  normal->remove_extra_white_space = model.remove_extra_white_space;
  normal->escape_white_space = model.escape_white_space;
  UnigramModel::Settings unigram{.byte_fallback = model.byte_fallback, .single = true};
  for (const Piece& piece : model.pieces) {
    const auto id = static_cast<int32_t>(scores.size());
    parts.vocabulary.add(piece.text, id);
    scores.push_back(piece.score);
    require(std::isfinite(piece.score), "the piece ", quote(piece.text), " has the score ",
            piece.score);
    switch (piece.type) {
      case PieceType::unknown:
        require(unigram.unknown < 0, "two pieces are of the type UNKNOWN");
        unigram.unknown = id;
        [[fallthrough]];
      case PieceType::control:
        parts.added.push_back({.content = std::string(piece.text), .id = id, .special = true});
        [[fallthrough]];
      case PieceType::byte:
        unigram.not_in_text.push_back(id);
        break;
      case PieceType::user_defined:
        normal->user_defined.emplace_back(piece.text);
        unigram.user_defined.push_back(id);
        break;
      default:
        break;
    }
  }
  require(unigram.unknown >= 0, "it has no piece of the type UNKNOWN");
  std::stable_sort(normal->user_defined.begin(), normal->user_defined.end(),
                   [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  const auto has = [&](int64_t id, const char* name) {
    return id >= 0 && parts.vocabulary.has(id) &&
           parts.vocabulary.token(static_cast<int32_t>(id)) == name;
  };
  if (has(model.bos, "<s>")) parts.before = {static_cast<int32_t>(model.bos)};
  Json steps = Json::array(
      {{{"type", "Replace"}, {"pattern", {{"String", "\xE2\x96\x81"}}}, {"content", " "}},
       {{"type", "ByteFallback"}},
       {{"type", "Fuse"}}});
  if (model.add_dummy_prefix)
    steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  parts.decoder = std::make_shared<Json>(Json{{"type", "Sequence"}, {"decoders", steps}});
  if (model.type == ModelType::unigram) {
    parts.model = std::make_unique<UnigramModel>(parts.vocabulary, scores, std::move(unigram));
  } else {
    // Of two pairs the one whose result has the higher score is merged first.
    std::vector<std::string> texts(scores.size());
    std::vector<double> order;
    std::vector<uint32_t> ranks(scores.size(), MergeTable::kNoRank);
    std::vector<size_t> merged;
    for (size_t i = 0; i < scores.size(); ++i)
      if (model.pieces[i].type == PieceType::normal) {
        texts[i] = model.pieces[i].text;
        merged.push_back(i);
      }
    std::stable_sort(merged.begin(), merged.end(),
                     [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    uint32_t rank = 0;
    for (size_t i = 0; i < merged.size(); ++i) {
      if (i > 0 && scores[merged[i]] != scores[merged[i - 1]]) ++rank;
      ranks[merged[i]] = rank;
    }
    parts.model =
        std::make_unique<BpeModel>(parts.vocabulary, merges_by_result(texts, ranks),
                                   BpeModel::Settings{.of_bytes = false,
                                                      .byte_fallback = model.byte_fallback,
                                                      .fuse_unknown = true,
                                                      .unknown = unigram.unknown});
    // A user-defined piece is one symbol, which no merge reaches.
    for (const std::string& text : normal->user_defined)
      parts.added.push_back({.content = text,
                             .id = parts.vocabulary.find(text),
                             .special = false,
                             .normalized = true});
  }
  parts.sentence_piece = std::move(normal);
  return std::make_unique<PipelineTokenizer>(std::move(parts));
}

}  // namespace

std::unique_ptr<Tokenizer> read_sentencepiece(std::string_view bytes, const std::string& name) {
  try {
    return tokenizer_of(bytes);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& e) {
    fail(name, ": ", e.what());
  }
}

}  // namespace nine
