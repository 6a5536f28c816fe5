// Reads and writes tiktoken's ranks, and opens a tokenizer of any format.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "core/notice.h"
#include "core/quote.h"
#include "data/text.h"
#include "data/tokenizers/byte_alphabet.h"
#include "data/tokenizers/named_splits.h"
#include "data/tokenizers/pipeline.h"
#include "data/tokenizers/read_tokenizer.h"
#include "data/unpack.h"

namespace nine {

namespace {

namespace fs = std::filesystem;

std::unique_ptr<Tokenizer> tokenizer_of(std::string_view text, const std::string& name,
                                        const TokenizerFileOptions& options) {
  TokenizerParts parts;
  std::string bytes;
  int64_t number = 0, left_out = -1;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const size_t space = line.find(' ');
    int64_t rank = 0;
    const bool no_token = line.starts_with("= ");  // Whisper's multilingual ranks have such a line
    require(space != std::string_view::npos && space > 0 &&
                (no_token || read_base64(line.substr(0, space), bytes)) &&
                parse_count(line.substr(space + 1), rank),
            "line ", number, ", ", quote(line),
            ", is not a token in base64 and its rank, as in tiktoken's ranks");
    if (no_token) left_out = rank;
    if (no_token) continue;
    parts.vocabulary.add(spell_bytes(bytes), rank);
  }
  require(parts.vocabulary.tokens() > 0, "it has no tokens");
  // The file names no special tokens. They have the ids that ranks leave free, if no others are
  // given.
  int32_t next = -1;
  std::string assumed;
  for (const std::string& token : options.special_tokens) {
    const size_t equals = token.rfind('=');
    int64_t id = 0;
    const bool given =
        equals != std::string::npos && equals > 0 && parse_count(token.substr(equals + 1), id);
    if (!given) {
      do ++next;
      while (parts.vocabulary.has(next) || next == left_out);
      id = next;
      assumed += concat(assumed.empty() ? "" : ", ", quote(token), " has the id ", id);
    }
    require(id <= TokenList::kMostId, "the special token ", quote(token), " has an id above ",
            TokenList::kMostId);
    parts.added.push_back({.content = given ? token.substr(0, equals) : token,
                           .id = static_cast<int32_t>(id),
                           .special = true});
  }
  if (!options.split) assumed = concat("the split of GPT-4", assumed.empty() ? "" : ", ", assumed);
  if (!assumed.empty())
    notice(concat(name, " has tiktoken's ranks alone; assumed: ", assumed,
                  " (--split and --special-tokens TEXT=ID say others)"));
  set_split(parts, options.split.value_or(Split::gpt4));
  parts.model = model_of_ranks(parts.vocabulary);
  return std::make_unique<PipelineTokenizer>(std::move(parts));
}

}  // namespace

std::unique_ptr<Tokenizer> read_tiktoken(std::string_view text, const std::string& name,
                                         const TokenizerFileOptions& options) {
  try {
    return tokenizer_of(text, name, options);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& e) {
    fail(name, ": ", e.what());
  }
}

std::string tiktoken_text(const Tokenizer& tokenizer) {
  const auto* const pipeline = dynamic_cast<const PipelineTokenizer*>(&tokenizer);
  const auto* const model =
      pipeline == nullptr ? nullptr : dynamic_cast<const BpeModel*>(&pipeline->model());
  require(model != nullptr && model->settings().of_bytes && pipeline->normalizer().empty(),
          "tiktoken's ranks are for byte-level BPE without a normaliser: write tokenizer.json");
  model->require_ranks_by_id();
  std::string text, bytes;
  for (int32_t id = 0; id < pipeline->vocabulary().size(); ++id) {
    if (!pipeline->vocabulary().has(id) || tokenizer.is_special(id)) continue;
    require(read_spelling(tokenizer.token(id), bytes), "the token ", quote(tokenizer.token(id)),
            " is not spelled in bytes, as tiktoken's tokens are");
    text += concat(base64(bytes), ' ', id, '\n');
  }
  return text;
}

fs::path tokenizer_in(const fs::path& folder) {
  for (const char* name : {"tokenizer.json", "tekken.json", "vocab.json", "tokenizer.model"})
    if (is_there(folder / name)) return folder / name;
  return {};
}

std::unique_ptr<Tokenizer> read_tokenizer(const std::string& path,
                                          const TokenizerFileOptions& options) {
  fs::path file = path;
  if (fs::is_directory(file)) {
    file = tokenizer_in(path);
    require(!file.empty(), path,
            " has no tokenizer.json, tekken.json, vocab.json or tokenizer.model");
    return read_tokenizer(file.string(), options);
  }
  std::string text = read_text(file);
  if (!text.empty() && may_be_packed(static_cast<uint8_t>(text[0]))) {
    std::istringstream packed(text);
    UnpackedStream unpacked(packed, path);
    text.assign(std::istreambuf_iterator<char>(unpacked), {});
  }
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && text[first] == '{';
  // The first field of a SentencePiece model is a piece: a tag, and the size of the piece.
  const bool sentencepiece =
      !json && text.starts_with('\n') && text.size() > 1 && text.find('\0') != std::string::npos;
  if (!json && !sentencepiece) return read_tiktoken(text, path, options);
  require(!options.only_ranks, path,
          " has no ranks of tiktoken: leave out the split and the special tokens (--split, "
          "--special-tokens), which are for these");
  if (sentencepiece) return read_sentencepiece(text, path);
  if (is_there(file.parent_path() / "merges.txt") && file.filename() != "tokenizer.json" &&
      text.find("\"model\"") == std::string::npos)
    return read_vocabulary_and_merges(text, read_text(file.parent_path() / "merges.txt"), path);
  return read_tokenizer_json(text, path);
}

}  // namespace nine
