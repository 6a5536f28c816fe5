// The tokenizer of a model that reads raw text, with the model's dictionary.
//
// The dictionary of such a model has the special words of its kind (Specials) and behind them the
// tokenizer's tokens in the order of their ids. So a token's id in the model is its id in the
// tokenizer plus Specials::size. The dictionary's file is a dict.txt like any other, with the
// tokens' counts in the training text. Beside it lies the tokenizer's file: tokenizer.json, or
// tokenizer.model for a SentencePiece model. A translation model whose languages have tokenizers of
// their own has src.tokenizer.json and tgt.tokenizer.json (or .model).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/tokenizers/read_tokenizer.h"
#include "data/tokenizers/tokenizer.h"
#include "data/vocabulary.h"

namespace nine {

/// Turns raw text into ids of a model's dictionary, and such ids into text. Copies share one
/// tokenizer. Several threads may call its functions at once, each with a cache of its own.
class ModelTokenizer {
 public:
  /// Takes a tokenizer that was learned or read. Errors: it cannot be written as tokenizer.json;
  /// it has no tokens.
  ModelTokenizer(std::unique_ptr<Tokenizer> tokenizer, const Specials& specials);
  /// Reads a tokenizer, as read_tokenizer() does with `options`. `entries` is the size of the
  /// model's dictionary, special words included; 0: the special words and the tokens. Entries
  /// beyond the tokens have no text and are called `<id_N>`. Errors: those of read_tokenizer(); the
  /// tokenizer has more tokens than `entries` allows; it can be written neither as tokenizer.json
  /// nor as its own file.
  static ModelTokenizer of_file(const std::string& path, const Specials& specials,
                                int64_t entries = 0, const TokenizerFileOptions& options = {});
  /// Opens the tokenizer in a model's directory; nullopt if the directory has no tokenizer, because
  /// the model reads words. `side` is "" for a language model, "src" or "tgt" for a translation
  /// model, whose sides may share tokenizer.json. `dictionary` is the model's, of this side. Error:
  /// the tokens are not those of the dictionary; the errors of read_tokenizer().
  static std::optional<ModelTokenizer> open(const std::filesystem::path& directory,
                                            std::string_view side, const Vocabulary& dictionary);
  /// Returns the file that open() reads; an empty path if there is none. Error: there are two.
  static std::filesystem::path file_in(const std::filesystem::path& directory,
                                       std::string_view side);
  /// Returns the names of all files that a model's tokenizers may have.
  static const std::vector<std::string>& file_names();

  /// Returns name and bytes of the file that open() reads, for a checkpoint (`side` as there).
  std::pair<std::string, std::string> file(std::string_view side) const;
  /// Returns the CRC-32C of the file's bytes: the identity of the tokenizer.
  uint32_t checksum() const;
  /// Returns the dictionary, with counts of 0.
  Vocabulary dictionary() const;

  /// Appends the ids of a text, any bytes; special words are not added. Each line is cut alone,
  /// with its LF, so that the ids of a text are those of its lines. Errors: those of
  /// Tokenizer::encode.
  void encode(std::string_view text, TokenCache& cache, std::vector<int32_t>& ids) const;
  std::vector<int32_t> encode(std::string_view text) const;
  /// Returns the text of ids, without special words. It may be any bytes: a token may be a part of
  /// a character (visible_text). Error: an id outside of the dictionary.
  std::string decode(std::span<const int32_t> ids) const;
  /// Returns the bytes that a token adds to a text; empty for a special word. Error: as decode().
  std::string bytes(int32_t id) const;

  /// Returns the dictionary's id that stands for text without a token: of the tokenizer's own
  /// unknown token, or of <unk> (which is then in no text) if the tokenizer has no such token.
  int32_t unknown() const {
    const int32_t own = tokenizer_->unknown();
    return own == Tokenizer::kNone ? specials_.unknown : own + specials_.size;
  }
  const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  ModelTokenizer(std::unique_ptr<Tokenizer> tokenizer, const Specials& specials, const char* name,
                 std::string file);

  // True for an entry of the dictionary that the tokenizer has no token for.
  bool is_without_text(int32_t id) const {
    return id >= tokenizer_->size() + specials_.size && id < tokens_ + specials_.size;
  }

  std::shared_ptr<const Tokenizer> tokenizer_;
  Specials specials_;
  int32_t tokens_ = 0;       // of the dictionary, also those without text
  std::string name_, file_;  // tokenizer.json or tokenizer.model, and its bytes
};

/// Returns a text with U+FFFD in place of each run of bytes that are not valid UTF-8. A generated
/// text, for example, may end within a character.
std::string visible_text(std::string_view text);
/// Does the same for a text that comes in parts, each of which ends with a whole character. `bad`,
/// false before the first part, says that the parts before end with such a run, which may go on.
std::string visible_text(std::string_view part, bool& bad);

/// Calls f(line) for each line of a text, with its LF; the last line may lack it.
template <class F>
void for_each_raw_line(std::string_view text, F&& f) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const size_t size = end == std::string_view::npos ? text.size() : end + 1;
    f(text.substr(0, size));
    text.remove_prefix(size);
  }
}

}  // namespace nine
