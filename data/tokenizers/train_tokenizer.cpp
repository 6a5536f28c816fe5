#include "data/tokenizers/train_tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/quote.h"
#include "core/threads.h"
#include "data/bpe_merges.h"
#include "data/count_runs.h"
#include "data/text.h"
#include "data/tokenizers/byte_alphabet.h"
#include "data/tokenizers/named_splits.h"
#include "data/tokenizers/piece_key.h"
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

// Calls f(piece, count) for each piece.
template <class F>
void for_each_count(const WordCounts& pieces, const F& f) {
  for (int32_t piece = 0; piece < pieces.words.size(); ++piece)
    f(pieces.words.text(piece), pieces.counts[static_cast<size_t>(piece)]);
}

// Counts pieces. A small table in front of the counts holds the pieces that were seen last.
class PieceTally {
 public:
  using Key = PieceKey<4>;

  void add(std::string_view piece) {
    if (piece.size() > Key::kMost) return counts_.add(piece);
    const Key key(piece);
    Place& place = places_[key.hash(kBits)];
    if (place.piece != key) {
      if (place.count > 0) counts_.add(place.piece.text(), place.count);
      place = {key, 0};
    }
    ++place.count;
  }
  // Returns the counts without those of the small table.
  const WordCounts& counts() const { return counts_; }
  // Returns all counts, and begins anew.
  WordCounts take() {
    for (Place& place : places_)
      if (place.count > 0) counts_.add(place.piece.text(), std::exchange(place.count, 0));
    return std::exchange(counts_, {});
  }

 private:
  static constexpr int kBits = 14;
  struct Place {
    Key piece;
    int64_t count = 0;
  };
  std::vector<Place> places_{size_t{1} << kBits};
  WordCounts counts_;
};

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

  // Calls add(piece) for the pieces of a text.
  template <class Add>
  void cut(std::string_view text, std::string& buffer, Add&& add) const {
    if (!normalizer_.empty()) {
      buffer = text;
      normalizer_.apply(buffer);
      text = buffer;
    }
    pre_tokenizer_.for_each(text, true, add);
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
  if (how_.memory <= 0) return;
  std::error_code ignored;
  runs_ = std::make_shared<CountRuns>(how_.temporary_folder.empty()
                                          ? std::filesystem::temp_directory_path(ignored)
                                          : std::filesystem::path(how_.temporary_folder),
                                      static_cast<size_t>(how_.memory));
}

/// True if counts may soon need more than one of `shares` equal shares of the memory. A table that
/// grows holds its old and its new places for a moment, three times as many.
bool TokenizerTrainer::over(const WordCounts& pieces, int64_t shares) const {
  return runs_ && 3 * pieces.memory() > static_cast<size_t>(how_.memory / shares);
}

void TokenizerTrainer::keep_bound() {
  if (over(pieces_, 1)) runs_->add(std::exchange(pieces_, {}));
}

void TokenizerTrainer::add(std::string_view text) {
  std::string buffer;
  counter_->cut(text, buffer, [&](std::string_view piece) { pieces_.add(piece); });
  keep_bound();
}

void TokenizerTrainer::add(const WordCounts& pieces) {
  for_each_count(pieces, [&](std::string_view piece, int64_t count) { pieces_.add(piece, count); });
  keep_bound();
}

void TokenizerTrainer::add(TextReader& text) {
  std::mutex reading, adding;
  bool ended = false;
  const int64_t shares = threads();
  parallel_for(shares, [&](int64_t) {
    PieceTally own;
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
        counter_->cut({line.data(), line.size() + end.size()}, buffer,
                      [&](std::string_view piece) { own.add(piece); });
        if (over(own.counts(), shares)) runs_->add(own.take());
      });
    }
    if (runs_) return runs_->add(own.take());
    const std::scoped_lock lock(adding);
    add(own.take());
  });
}

std::unique_ptr<Tokenizer> TokenizerTrainer::train() const& {
  return train([&](const auto& f) {
    if (runs_) runs_->for_each(f);
    for_each_count(pieces_, f);
  });
}

std::unique_ptr<Tokenizer> TokenizerTrainer::train() && {
  return train([&](const auto& f) {
    if (runs_) runs_->for_each(f);
    for_each_count(pieces_, f);
    pieces_ = {};
  });
}

std::unique_ptr<Tokenizer> TokenizerTrainer::train(const CountedWords& counted) const {
  const auto specials = std::ssize(how_.special_tokens);
  const std::vector<unsigned char> alphabet = bytes_by_character();
  const BpeMergeLearning learning{.symbols = how_.vocabulary_size - specials,
                                  .min_frequency = how_.min_frequency};
  const BpeMerges learned = learn_merges(counted, alphabet, learning);
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
