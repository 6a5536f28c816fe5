#include "data/dict.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "data/dict_line.h"
#include "data/text.h"

namespace nine {

Dictionary::Dictionary() {
  for (std::string_view special : {"<s>", "<pad>", "</s>", "<unk>"}) add(special, 0);
}

Dictionary::Dictionary(const WordTally& tally, int64_t min_count, int64_t limit) : Dictionary() {
  std::vector<int32_t> order(tally.counts.size());
  for (int32_t i = 0; i < std::ssize(order); ++i) order[static_cast<size_t>(i)] = i;
  const auto count_of = [&](int32_t i) { return tally.counts[static_cast<size_t>(i)]; };
  // Bytes of UTF-8 sort as code points do.
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return count_of(a) != count_of(b) ? count_of(a) > count_of(b)
                                      : tally.words.text(a) < tally.words.text(b);
  });
  for (int32_t i : order) {
    const auto special = ids_.find(tally.words.text(i));
    if (special != ids_.end()) {
      counts_[static_cast<size_t>(special->second)] += count_of(i);
    } else if (count_of(i) >= min_count && (limit == 0 || size() < limit)) {
      add(tally.words.text(i), count_of(i));
    } else {
      counts_[kUnknown] += count_of(i);
    }
  }
}

Dictionary Dictionary::read(const std::string& path) {
  Dictionary dictionary;
  LineReader reader(std::vector<std::string>{path});
  for (std::string_view line; reader.next(line);) {
    const DictEntry entry = parse_dict_line(line, reader.place());
    require(entry.overwrite || !dictionary.ids_.contains(entry.word), reader.place(), ": '",
            entry.word,
            "' is already in the dictionary (which begins with <s>, <pad>, </s> and <unk>): remove "
            "the line, or end it with ",
            kDictOverwrite);
    dictionary.add(entry.word, entry.count);
  }
  return dictionary;
}

void Dictionary::add(std::string_view word, int64_t count) {
  require(words_.size() < static_cast<size_t>(std::numeric_limits<int32_t>::max()),
          "a dictionary has at most 2147483647 words");
  ids_[std::string(word)] = size();
  words_.emplace_back(word);
  counts_.push_back(count);
}

std::string Dictionary::text() const { return dict_text(words_, counts_, kSpecials); }

int32_t Dictionary::id(std::string_view word) const {
  const auto found = ids_.find(word);
  return found == ids_.end() ? kUnknown : found->second;
}

const std::string& Dictionary::word(int32_t id) const {
  require(id >= 0 && id < size(), "no word has the id ", id, ": this dictionary has ", size());
  return words_[static_cast<size_t>(id)];
}

int64_t Dictionary::count(int32_t id) const {
  require(id >= 0 && id < size(), "no word has the id ", id, ": this dictionary has ", size());
  return counts_[static_cast<size_t>(id)];
}

std::vector<int32_t> Dictionary::encode(std::string_view line) const {
  std::vector<int32_t> ids;
  for_each_word(line, [&](std::string_view word) { ids.push_back(id(word)); });
  ids.push_back(kEnd);
  return ids;
}

}  // namespace nine
