#include "data/corpus.h"

#include <algorithm>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "data/text.h"

namespace nine {

Corpus::Corpus(const std::vector<std::string>& paths, const Vocabulary& vocabulary) {
  int64_t sentences = 0, tokens = 0;
  // A pipe would block at the second reading.
  for (const std::string& path : paths)
    require(!is_device_or_pipe(path), path,
            " is a pipe or a device, but a corpus is read twice: write the text to a file (a file "
            "packed by gzip or zstd needs no unpacking)");
  read_sentences(paths, [&](std::span<const std::string_view> sentence) {
    ++sentences;
    tokens += static_cast<int64_t>(sentence.size()) + 1;
  });
  reserve(sentences, tokens);
  read_sentences(paths,
                 [&](std::span<const std::string_view> sentence) { add(sentence, vocabulary); });
}

Corpus Corpus::of_lines(std::span<const std::string> lines, const Vocabulary& vocabulary) {
  Corpus corpus;
  std::vector<std::string_view> words;
  for (const std::string& line : lines) {
    split_words(line, words);
    corpus.add(words, vocabulary);
  }
  return corpus;
}

Corpus Corpus::of_ids(std::vector<int32_t> ids, std::vector<int64_t> offsets,
                      const LineChecksum& checksum, RawSize size, int64_t unknown) {
  Corpus corpus;
  corpus.flat_ = std::move(ids);
  corpus.offsets_ = std::move(offsets);
  corpus.checksum_ = checksum;
  corpus.raw_size_ = size;
  corpus.unknown_ = unknown;
  return corpus;
}

void Corpus::join_documents() {
  std::vector<int64_t> ends{0};
  for (size_t i = 1; i < offsets_.size(); ++i)
    if (offsets_[i] - offsets_[i - 1] == 1 || i + 1 == offsets_.size()) ends.push_back(offsets_[i]);
  offsets_ = std::move(ends);
}

void Corpus::set_weights(std::vector<double> weights) {
  require(weights.size() == flat_.size(), "[Corpus] ", weights.size(), " weights of ", flat_.size(),
          " tokens");
  weights_ = std::move(weights);
}

std::vector<int64_t> Corpus::counts(int64_t words) const {
  std::vector<int64_t> counts(static_cast<size_t>(words), 0);
  for (const int32_t id : flat_) ++counts[static_cast<size_t>(id)];
  return counts;
}

uint32_t Corpus::id_checksum() const { return crc32c(0, flat_.data(), flat().size_bytes()); }

void Corpus::reserve(int64_t sentences, int64_t tokens) {
  offsets_.reserve(static_cast<size_t>(sentences) + 1);
  flat_.reserve(static_cast<size_t>(tokens));
}

void Corpus::add(std::span<const std::string_view> sentence, const Vocabulary& vocabulary) {
  checksum_.add(sentence);
  const auto first = std::ssize(flat_);
  vocabulary.encode(sentence, flat_);
  unknown_ += std::count(flat_.begin() + first, flat_.end(), Specials::kLanguageModel.unknown);
  if (!sentence.empty()) spelled_.add_beginning(sentence.front());
  spelled_.add(std::span(flat_).subspan(static_cast<size_t>(first)));
  flat_.push_back(Specials::kLanguageModel.end);
  offsets_.push_back(std::ssize(flat_));
}

}  // namespace nine
