#include "apps/lm_score/write_words.h"

#include <algorithm>

#include "core/number_format.h"
#include "core/shared_parts.h"
#include "nn/models/word_surprisals.h"

namespace nine::app {
namespace {

// Lines whose words are computed together.
constexpr int64_t kLinesAtOnce = 64;

int64_t characters(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
}

}  // namespace

WrittenWords write_words(const LanguageModel& model, const EncodedLines& input,
                         int64_t batch_tokens, std::ostream& out, Communicator& communicator) {
  if (input.first() == 0) out << "line\tword\tbegin\tend\ttext\tbits\n";
  const std::span<const std::string> lines = input.lines();
  const int64_t all = std::ssize(lines);
  const auto part_of = [&](int64_t i) {
    return lines.subspan(static_cast<size_t>(i * kLinesAtOnce),
                         static_cast<size_t>(std::min(kLinesAtOnce, all - i * kLinesAtOnce)));
  };
  const auto make = [&](int64_t i) {
    ByteWriter found;
    for (const std::vector<WordSurprisal>& words : word_surprisals(model, part_of(i), batch_tokens))
      found.put(words);
    return found.take();
  };
  WrittenWords written;
  size_t l = 0;
  const auto take = [&](std::string_view found) {
    for (ByteReader in(found); !in.empty(); ++l) {
      int64_t number = 0;
      for (const WordSurprisal& word : in.list<WordSurprisal>()) {
        const std::string_view line = lines[l],
                               before = line.substr(0, static_cast<size_t>(word.begin)),
                               text = line.substr(static_cast<size_t>(word.begin),
                                                  static_cast<size_t>(word.end - word.begin));
        const int64_t begin = characters(before);
        out << input.first() + static_cast<int64_t>(l) + 1 << '\t' << ++number << '\t' << begin
            << '\t' << begin + characters(text) << '\t' << text << '\t' << shortest(word.bits)
            << '\n';
        ++written.words;
        written.bits += word.bits;
      }
    }
  };
  for_shared_parts(communicator, (all + kLinesAtOnce - 1) / kLinesAtOnce, make, take);
  return written;
}

}  // namespace nine::app
