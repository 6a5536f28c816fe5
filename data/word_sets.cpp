#include "data/word_sets.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/error.h"
#include "core/quote.h"
#include "data/text.h"

namespace nine {

std::vector<WordSet> parse_word_sets(std::span<const std::string> lines, const std::string& name) {
  std::vector<WordSet> sets;
  std::map<std::vector<std::string>, size_t> line_of;  // key: the set's words, sorted
  std::vector<std::string_view> words;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string place = concat(name, ", line ", i + 1);
    const std::string_view line = lines[i], before = line.substr(0, line.find('\t'));
    if (line.empty() || line.starts_with('#')) continue;
    WordSet set;
    split_words(before, words);
    for (const std::string_view word : words) {
      require(std::find(set.words.begin(), set.words.end(), word) == set.words.end(), place, ": ",
              quote(word), " is in the set twice");
      set.words.emplace_back(word);
    }
    if (before.size() < line.size()) {
      split_words(line.substr(before.size()), words);
      for (const std::string_view count : words)
        require(parse_count(count, set.counts.emplace_back()), place, ": ", quote(count),
                " after the tab is not the count of a word");
      require(set.counts.size() == set.words.size(), place, ": ", set.words.size(), " words and ",
              set.counts.size(), " counts; give one count for each word after the tab");
    }
    require(set.words.size() >= 2, place, ": a set needs two words or more, but has ",
            set.words.size());
    std::vector<std::string> sorted = set.words;
    std::sort(sorted.begin(), sorted.end());
    const auto [same, is_new] = line_of.emplace(std::move(sorted), i + 1);
    require(is_new, place, ": this is the set of line ", same->second,
            " again, and its choices would count twice: remove one of the two lines");
    sets.push_back(std::move(set));
  }
  require(!sets.empty(), name,
          " has no set of words; write one set per line, with spaces between the words");
  return sets;
}

}  // namespace nine
