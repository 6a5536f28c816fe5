#include "data/tokenizers/train_tokenizer.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/quote.h"
#include "core/threads.h"
#include "data/bpe_merges.h"
#include "data/text.h"
#include "data/tokenizers/byte_alphabet.h"
#include "data/tokenizers/named_splits.h"
#include "data/tokenizers/pipeline.h"
#include "data/tokenizers/token_text.h"

namespace nine {

namespace {

const char* name_of(UnicodeForm form) {
  switch (form) {
    case UnicodeForm::nfc:
      return "NFC";
    case UnicodeForm::nfd:
      return "NFD";
    case UnicodeForm::nfkc:
      return "NFKC";
    case UnicodeForm::nfkd:
      break;
  }
  return "NFKD";
}

}  // namespace

/// Cuts texts into pieces.
class TokenizerTrainer::Counter {
 public:
  explicit Counter(const TokenizerTraining& how) {
    if (how.form) normalizer_ = Normalizer(Json{{"type", name_of(*how.form)}});
    TokenizerParts parts;
    set_split(parts, how.split);
    pre_tokenizer_ = PreTokenizer(*parts.pre_tokenizer);
  }
  PreTokenizer pre_tokenizer_;

  void count(std::string_view text, std::string& buffer, WordCounts& pieces) const {
    if (!normalizer_.empty()) {
      buffer = text;
      normalizer_.apply(buffer);
      text = buffer;
    }
    pre_tokenizer_.for_each(text, true, [&](std::string_view piece) { pieces.add(piece); });
  }

 private:
  Normalizer normalizer_;
};

TokenizerTrainer::TokenizerTrainer(const TokenizerTraining& how)
    : how_(how), counter_(std::make_shared<Counter>(how)) {
  std::set<std::string> distinct;
  for (const std::string& token : how_.special_tokens)
    require(!token.empty() && find_invalid_utf8(token) == std::string_view::npos &&
                distinct.insert(token).second && token.size() > 1,
            "the special token ", quote(token),
            " is of one byte, not UTF-8, or there twice: give each another text, such as <pad>");
  const int64_t least = kFewestTokens + std::ssize(how_.special_tokens);
  require(how_.vocabulary_size >= least, "a vocabulary of ", how_.vocabulary_size,
          " tokens has no room for 256 bytes and ", how_.special_tokens.size(),
          " special tokens: give ", least, " or more");
}

void TokenizerTrainer::add(std::string_view text) {
  std::string buffer;
  counter_->count(text, buffer, pieces_);
}

void TokenizerTrainer::add(const WordCounts& pieces) {
  for (int32_t piece = 0; piece < pieces.words.size(); ++piece)
    pieces_.add(pieces.words.text(piece), pieces.counts[static_cast<size_t>(piece)]);
}

void TokenizerTrainer::add(TextReader& text) {
  std::mutex reading, adding;
  bool ended = false;
  parallel_for(threads(), [&](int64_t) {
    WordCounts own;
    std::string block, buffer;
    for (;;) {
      {
        const std::scoped_lock lock(reading);
        std::string_view next;
        if (ended) break;
        ended = true;  // also after an error
        if (!text.next_block(next)) break;
        ended = false;
        block = next;
      }
      for_each_text_line(block, [&](std::string_view line, std::string_view end) {
        counter_->count({line.data(), line.size() + end.size()}, buffer, own);
      });
    }
    const std::scoped_lock lock(adding);
    add(own);
  });
}

std::unique_ptr<Tokenizer> TokenizerTrainer::train() const {
  const auto specials = std::ssize(how_.special_tokens);
  const std::vector<unsigned char> alphabet = bytes_by_character();
  const BpeMerges learned = learn_merges(
      pieces_, alphabet,
      {.symbols = how_.vocabulary_size - specials, .min_frequency = how_.min_frequency});
  TokenizerParts parts;
  for (const std::string& token : how_.special_tokens) {
    parts.added.push_back({.content = token, .id = parts.vocabulary.size(), .special = true});
    parts.vocabulary.add(token, parts.vocabulary.size());
  }
  for (const std::string& symbol : learned.symbols) {
    const std::string spelling = spell_bytes(symbol);
    require(parts.vocabulary.find(spelling) < 0, "the special token ", quote(spelling),
            " is also a token that the text needs: give the special token another text, such as <",
            spelling, ">");
    parts.vocabulary.add(spelling, parts.vocabulary.size());
  }
  // Of a pair that was merged twice the later merge counts.
  MergeTable merges, seen;
  std::vector<BpeMerge> last_first;
  for (size_t i = learned.merges.size(); i-- > 0;) {
    const BpeMerge& merge = learned.merges[i];
    if (seen.add(merge.left, merge.right, {0, 0})) last_first.push_back(merge);
  }
  std::reverse(last_first.begin(), last_first.end());
  const auto offset = static_cast<int32_t>(specials);
  for (const BpeMerge& merge : last_first)
    merges.add(merge.left + offset, merge.right + offset,
               {static_cast<uint32_t>(merges.size()), merge.result + offset});
  if (how_.form) parts.normalizer = std::make_shared<Json>(Json{{"type", name_of(*how_.form)}});
  set_split(parts, how_.split);
  parts.model =
      std::make_unique<BpeModel>(parts.vocabulary, std::move(merges), BpeModel::Settings{});
  return std::make_unique<PipelineTokenizer>(std::move(parts));
}

}  // namespace nine
