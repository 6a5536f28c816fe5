#include "data/vocabulary.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <utility>

#include "core/error.h"
#include "data/dict_line.h"
#include "data/text.h"

namespace nine {

namespace {

constexpr int64_t kSpecials = 2;

bool is_special(std::string_view word) {
  return word == Vocabulary::kEndText || word == Vocabulary::kUnknownText;
}

}  // namespace

void WordCounts::add(std::span<const std::string_view> sentence) {
  for (std::string_view word : sentence) {
    auto found = words.find(word);
    if (found == words.end()) found = words.emplace(word, 0).first;
    ++found->second;
  }
  ++sentences;
  tokens += static_cast<int64_t>(sentence.size());
}

WordCounts count_words(const std::vector<std::string>& paths) {
  WordCounts counts;
  read_sentences(paths, [&](std::span<const std::string_view> sentence) { counts.add(sentence); });
  return counts;
}

WordCounts count_words_of_lines(std::span<const std::string> lines) {
  WordCounts counts;
  std::vector<std::string_view> words;
  for (const std::string& line : lines) {
    split_words(line, words);
    counts.add(words);
  }
  return counts;
}

Vocabulary::Vocabulary() {
  add(kEndText, 0);
  add(kUnknownText, 0);
}

Vocabulary Vocabulary::build(const WordCounts& counts, int64_t min_count, int64_t vocab_size) {
  require(min_count >= 0, "--min-count ", min_count, " is negative; 1 keeps every word");
  require(vocab_size == 0 || vocab_size > kSpecials, "--vocab-size ", vocab_size,
          " leaves no room for a word beside </s> and <unk>: use 3 or more, or 0 for no limit");
  std::vector<std::pair<std::string_view, int64_t>> kept;
  for (const auto& [word, count] : counts.words)
    if (count >= min_count && !is_special(word)) kept.emplace_back(word, count);
  // Bytes of UTF-8 sort as code points do.
  std::sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (vocab_size > 0 && std::ssize(kept) > vocab_size - kSpecials)
    kept.resize(static_cast<size_t>(vocab_size - kSpecials));
  require(!kept.empty(), "no word occurs ", min_count, " times in ", counts.sentences,
          " sentences of ", counts.tokens, " words: lower --min-count, or check the training text");

  Vocabulary v;
  int64_t known = 0;
  for (const auto& [word, count] : kept) {
    v.add(word, count);
    known += count;
  }
  const auto end = counts.words.find(kEndText);
  const int64_t literal_ends = end == counts.words.end() ? 0 : end->second;
  v.set_special_counts(counts.sentences + literal_ends, counts.tokens - known - literal_ends);
  return v;
}

Vocabulary Vocabulary::read(const std::string& path) {
  Vocabulary v;
  bool special_seen[2] = {false, false};
  LineReader reader(std::vector<std::string>{path});
  std::string_view line;
  while (reader.next(line)) v.add_dict_line(line, reader.place(), special_seen);
  require(v.size() > kSpecials, path,
          " lists no word beside </s> and <unk>: is it the right dictionary?");
  return v;
}

void Vocabulary::add_dict_line(std::string_view line, const std::string& place,
                               bool special_seen[2]) {
  const DictEntry entry = parse_dict_line(line, place);
  const int32_t known = id(entry.word);
  const bool special = is_special(entry.word);
  const bool repeated = special ? std::exchange(special_seen[known], true) : known != kUnknown;
  require(!repeated || entry.overwrite, place, ": '", entry.word,
          "' is already in the dictionary: remove one of the two lines, or end this one with ",
          kDictOverwrite);
  if (special) {
    counts_[static_cast<size_t>(known)] = entry.count;
  } else {
    add(entry.word, entry.count);
  }
}

std::string Vocabulary::dict() const { return dict_text(words_, counts_, kSpecials); }

void Vocabulary::write(const std::string& path) const {
  std::ofstream out(path, std::ios::binary);
  out << dict() << std::flush;
  require(out.good(), path,
          " cannot be written: check that its directory exists and that there is room");
}

void Vocabulary::add(std::string_view word, int64_t count) {
  require(words_.size() < static_cast<size_t>(std::numeric_limits<int32_t>::max()),
          "a vocabulary has at most 2147483647 words: set --vocab-size or raise --min-count");
  ids_[std::string(word)] = size();
  words_.emplace_back(word);
  counts_.push_back(count);
}

void Vocabulary::check_id(int32_t id) const {
  require(id >= 0 && id < size(), "no word has the id ", id, ": this vocabulary has ", size());
}

int32_t Vocabulary::id(std::string_view word) const {
  const auto found = ids_.find(word);
  return found == ids_.end() ? kUnknown : found->second;
}

const std::string& Vocabulary::word(int32_t id) const {
  check_id(id);
  return words_[static_cast<size_t>(id)];
}

int64_t Vocabulary::count(int32_t id) const {
  check_id(id);
  return counts_[static_cast<size_t>(id)];
}

void Vocabulary::set_special_counts(int64_t end, int64_t unknown) {
  counts_[kEnd] = end;
  counts_[kUnknown] = unknown;
}

void Vocabulary::encode(std::span<const std::string_view> sentence,
                        std::vector<int32_t>& ids) const {
  for (std::string_view word : sentence) ids.push_back(id(word));
}

std::vector<int32_t> Vocabulary::encode(std::string_view line) const {
  std::vector<std::string_view> words;
  std::vector<int32_t> ids;
  split_words(line, words);
  encode(words, ids);
  return ids;
}

}  // namespace nine
