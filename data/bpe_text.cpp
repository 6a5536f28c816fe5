#include "data/bpe_text.h"

#include "core/error.h"
#include "core/quote.h"

namespace nine {

void count_bpe_words(std::string_view block, WordCounts& counts) {
  for_each_line(block, [&](std::string_view line, std::string_view) {
    for_each_bpe_word(line, [&](std::string_view word) { counts.add(word); });
  });
}

void count_bpe_words(TextReader& text, WordCounts& counts) {
  for (std::string_view block; text.next_block(block);) count_bpe_words(block, counts);
}

void read_bpe_counts(TextReader& text, WordCounts& counts) {
  for (std::string_view line; text.next_line(line);) {
    std::string_view word, field;
    int64_t count = 0;
    if (!split_in_two(line, word, field) || !parse_count(field, count))
      fail(text.place(), ": ", quote(line),
           " is not `word count`; each line of a dictionary is a word, a space and a whole "
           "number");
    counts.add(word, count);
  }
}

std::string bpe_vocabulary_text(const WordCounts& counts) {
  std::string text;
  for (int32_t id : counts.by_count())
    text += concat(counts.words.text(id), ' ', counts.counts[static_cast<size_t>(id)], '\n');
  return text;
}

bool split_in_two(std::string_view line, std::string_view& first, std::string_view& second) {
  const LineMargins margins(line);
  line = line.substr(margins.begin, margins.end - margins.begin);
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
    return false;
  first = line.substr(0, space);
  second = line.substr(space + 1);
  return true;
}

}  // namespace nine
