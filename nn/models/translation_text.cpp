#include "nn/models/translation_text.h"

#include <algorithm>

#include "core/error.h"
#include "data/bpe.h"
#include "data/text.h"
#include "data/tokenize_13a.h"

namespace nine {

void TranslationSide::encode(std::string_view line, TokenCache& cache,
                             std::vector<int32_t>& ids) const {
  std::vector<std::string_view> words;
  split_words(line, words);
  if (words.empty()) return;
  if (tokenizer) return tokenizer->encode(line, cache, ids);
  dictionary.encode(words, ids);
}

std::string TranslationSide::text(std::span<const int32_t> ids, bool join) const {
  if (!tokenizer) return text_of(dictionary, ids, join);
  std::string line = visible_text(tokenizer->decode(ids));
  for (char& c : line)
    if (c == '\n' || c == '\r') c = ' ';
  return line;
}

TokenReader::TokenReader(const SegmentationOptions& o) : raw_(o.raw) {
  if (o.codes.empty()) return;
  SegmentOptions options{.glossaries = Glossaries(o.glossaries)};
  if (!o.vocabulary.empty())
    options.vocabulary = read_bpe_vocabulary(o.vocabulary, o.vocabulary_threshold);
  segmenter_ = std::make_unique<BpeSegmenter>(BpeCodes::read(o.codes), std::move(options));
}
TokenReader::~TokenReader() = default;
TokenReader::TokenReader(TokenReader&&) noexcept = default;
TokenReader& TokenReader::operator=(TokenReader&&) noexcept = default;

std::string TokenReader::tokens(const std::string& line, BpeCache& cache) const {
  std::string words = raw_ ? tokenize_13a(line) : line;
  // The segmenter separates words at spaces only.
  std::replace(words.begin(), words.end(), '\t', ' ');
  if (!segmenter_) return words;
  std::string cut;
  segmenter_->segment(words, cut, cache);
  return cut;
}

std::vector<std::vector<int32_t>> TokenReader::ids(const std::vector<std::string>& lines,
                                                   const TranslationSide& side, int64_t most,
                                                   const std::string& name, int64_t first,
                                                   std::vector<std::string>* too_long) const {
  std::vector<std::vector<int32_t>> all;
  BpeCache cache;
  TokenCache pieces;
  for (const std::string& line : lines) {  // BeamSearch adds </s>
    side.encode(side.tokenizer ? line : tokens(line, cache), pieces, all.emplace_back());
    if (std::ssize(all.back()) <= most) continue;
    std::string message =
        concat(name, ", line ", first + std::ssize(all), " has ", all.back().size(),
               " tokens, but the model has positions for ", most, ": cut it into several lines");
    if (too_long == nullptr) throw Error(message);
    too_long->push_back(std::move(message));
    all.back().clear();
  }
  return all;
}

std::string join_subwords(const std::string& line) {
  std::string out;
  undo_bpe(line, out);
  return out;
}

std::string text_of(const Vocabulary& dictionary, std::span<const int32_t> ids, bool join) {
  std::string line;
  for (const int32_t id : ids) {
    if (!line.empty()) line += ' ';
    line += dictionary.word(id);
  }
  return join ? join_subwords(line) : line;
}

}  // namespace nine
