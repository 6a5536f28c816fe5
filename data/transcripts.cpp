#include "data/transcripts.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/quote.h"
#include "data/line_parts.h"
#include "data/text.h"
#include "data/unpack.h"

namespace nine {
namespace {

using namespace lines;

constexpr double kOverlap = 1e-6;  // seconds that segments may share by rounding

// Reads the texts of a file's lines. parse(line, its number, its place) returns the utterance and
// its words.
template <class Parse>
Transcripts transcripts_of(const std::string& path, Parse&& parse) {
  TextReader reader({path});
  Transcripts texts;
  Names utterances;
  int64_t number = 0;
  for (std::string_view line; reader.next_line(line);) {
    const auto [utterance, words] = parse(line, ++number, reader.place());
    utterances.add(utterance, number, path, "an utterance has one text");
    texts.emplace(utterance, joined_words(words));
  }
  require(!texts.empty(), path, " has no lines");
  return texts;
}

// Reads lines that begin with the name of the utterance, or have no name (`numbered`).
Transcripts read_named(const std::string& path, bool numbered, bool spaced) {
  int64_t begin_with_number = 0;  // number of lines that would have no name
  Transcripts texts = transcripts_of(path, [&](std::string_view line, int64_t number,
                                               const auto& place) {
    const size_t end = std::min(line.find_first_of(spaced ? " \t" : "\t"), line.size());
    const bool has_name = end < line.size() || spaced;
    require(has_name ? end > 0 : numbered, place, ": a line is 'utterance ",
            spaced ? "words" : "TAB words", "', but this has ",
            has_name ? "no utterance" : "no tab");
    const size_t more = spaced ? 0 : std::count(line.begin(), line.end(), '\t');
    require(more <= 1, place, ": a line is 'utterance TAB words', but this has ", more, " tabs");
    require(!numbered || line.find("|||") == std::string_view::npos, place,
            ": a reference for lists of Moses is words alone, or 'utterance TAB words', but this "
            "has |||, as a list has");
    if (has_name) return std::pair(std::string(line.substr(0, end)), line.substr(end));
    const std::string name = concat(number - 1);
    begin_with_number += line.starts_with(name + ' ') ? 1 : 0;
    return std::pair(name, line);
  });
  require(begin_with_number < 2 || begin_with_number < std::ssize(texts), path,
          ": every line begins with a number and a space, and the number would count as a word; "
          "write 'utterance TAB words', or words alone");
  return texts;
}

// A part of an utterance, with its time.
struct TimedText {
  double begin = 0, end = 0;
  int64_t line = 0;
  std::string words;
};

// The timed texts of each waveform and channel.
class TimedTexts {
 public:
  explicit TimedTexts(std::string path) : path_(std::move(path)) {}
  void add(std::string_view waveform, std::string_view channel, TimedText text) {
    texts_[std::string(waveform)][std::string(channel)].push_back(std::move(text));
  }
  // Returns the texts in the order of their times. Error: two overlap, unless `overlaps`.
  Transcripts joined(bool overlaps) {
    Transcripts all;
    for (auto& [waveform, channels] : texts_)
      for (auto& [channel, texts] : channels) {
        const std::string name = channels.size() == 1 ? waveform : concat(waveform, "-", channel);
        std::ranges::stable_sort(texts, {}, &TimedText::begin);
        std::string words;
        for (size_t i = 0; i < texts.size(); ++i) {
          require(overlaps || i == 0 || texts[i].begin > texts[i - 1].end - kOverlap, path_,
                  ", line ", texts[i].line, ": the segment begins at ", texts[i].begin,
                  ", before that of line ", texts[i > 0 ? i - 1 : 0].line, " ends");
          if (!texts[i].words.empty()) words += (words.empty() ? "" : " ") + texts[i].words;
        }
        require(all.emplace(name, words).second, path_, ": ", quote(name),
                " is the name of a waveform and of a channel of another one");
      }
    require(!all.empty(), path_, " has no texts");
    return all;
  }

 private:
  std::string path_;
  std::map<std::string, std::map<std::string, std::vector<TimedText>>> texts_;
};

double seconds(std::string_view text, const Place& place) {
  double time = 0;
  require(parse_number(text, time) && time >= 0, place.at(text), ": ", quote(text),
          " is not a time in seconds");
  return time;
}

// Error: a word that sclite does not take as it is.
void require_plain_word(std::string_view word, const Place& place) {
  require(word.find_first_of("{}") == std::string_view::npos, place.at(word), ": ", quote(word),
          " is part of alternatives, { a / b }, which lm_rescore does not read: leave one of them");
  require(!word.starts_with('(') || !word.ends_with(')'), place.at(word), ": ", quote(word),
          " may be left out in sclite, which lm_rescore does not do: take out the word or its "
          "parentheses");
}

bool is_comment(std::string_view line) { return line.starts_with(";;"); }

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x - 'A' + 'a' : x) == y; });
}

// Reads the lines of a file of timed texts. parse(place, words) returns the text of a line, which
// begins with waveform and channel.
template <class Parse>
Transcripts timed_transcripts(const std::string& path, bool overlaps, Parse&& parse) {
  TextReader reader({path});
  TimedTexts texts(path);
  int64_t number = 0;
  for (std::string_view line; reader.next_line(line);) {
    ++number;
    const Words words = words_of(line);
    if (is_comment(line) || words.empty()) continue;
    TimedText text = parse(Place{reader, line}, words);
    text.line = number;
    texts.add(words[0], words[1], std::move(text));
  }
  return texts.joined(overlaps);
}

Transcripts read_stm(const std::string& path) {
  return timed_transcripts(path, false, [](const Place& place, const Words& words) {
    require(words.size() >= 5, place,
            ": a line is 'waveform channel speaker begin end <label> words', but this has ",
            words.size(), " fields");
    TimedText text{.begin = seconds(words[3], place), .end = seconds(words[4], place), .words = ""};
    require(text.begin <= text.end, place.at(words[4]), ": the segment ends at ", text.end,
            ", before it begins at ", text.begin);
    const bool label = words.size() > 5 && words[5].starts_with('<') && words[5].ends_with('>');
    for (const std::string_view word : std::span(words).subspan(label ? 6 : 5)) {
      require_plain_word(word, place);
      require(!same_letters(word, "ignore_time_segment_in_scoring"), place.at(word),
              ": the segment is not to be scored: leave out its utterance");
      text.words += concat(text.words.empty() ? "" : " ", word);
    }
    return text;
  });
}

Transcripts read_ctm(const std::string& path) {
  return timed_transcripts(path, true, [](const Place& place, const Words& words) {
    require(words.size() >= 5 && words.size() <= 8, place,
            ": a line is 'waveform channel begin duration word confidence', but this has ",
            words.size(), " fields");
    require(!words[4].starts_with("<ALT"), place.at(words[4]), ": ", quote(words[4]),
            " begins alternatives, which lm_rescore does not read: leave one of them");
    require_plain_word(words[4], place);
    double confidence = 0;
    require(words.size() < 6 || words[5] == "NA" || parse_number(words[5], confidence),
            place.at(words.size() < 6 ? words[0] : words[5]), ": the confidence is not a number");
    require(words.size() < 7 || words[6] == "lex", place.at(words.size() < 7 ? words[0] : words[6]),
            ": the type of a word is lex; other words are not scored: leave them out");
    const double begin = seconds(words[2], place);
    return TimedText{
        .begin = begin, .end = begin + seconds(words[3], place), .words = std::string(words[4])};
  });
}

Transcripts read_fairseq(const std::string& path) {
  TextReader reader({path});
  Transcripts texts;
  Names utterances;
  int64_t number = 0, sentence = 0;
  for (std::string_view line; reader.next_line(line);) {
    ++number;
    const size_t tab = line.find('\t');
    if (!line.starts_with("T-") || tab == std::string_view::npos ||
        !parse_count(line.substr(2, tab - 2), sentence))
      continue;  // a line of another kind
    const std::string name(line.substr(2, tab - 2));
    utterances.add(name, number, path, "a sentence has one line T-");
    texts.emplace(name, joined_words(line.substr(tab)));
  }
  require(!texts.empty(), path,
          " has no lines T-: fairseq-generate prints them if it has the "
          "translations");
  return texts;
}

}  // namespace

TranscriptFormat transcript_format(const std::string& path, NBestFormat lists) {
  const std::string_view name = unpacked_name(path);
  if (name.ends_with(".trn")) return TranscriptFormat::trn;
  if (name.ends_with(".stm")) return TranscriptFormat::stm;
  if (name.ends_with(".ctm")) return TranscriptFormat::ctm;
  if (lists == NBestFormat::kaldi || lists == NBestFormat::espnet) return TranscriptFormat::kaldi;
  if (lists == NBestFormat::moses) return TranscriptFormat::lines;
  if (lists == NBestFormat::fairseq) return TranscriptFormat::fairseq;
  return TranscriptFormat::tsv;
}

Transcripts read_transcripts(const std::string& path, TranscriptFormat format) {
  switch (format) {
    case TranscriptFormat::automatic:
      return read_transcripts(path, transcript_format(path, NBestFormat::tsv));
    case TranscriptFormat::tsv:
      return read_named(path, false, false);
    case TranscriptFormat::kaldi:
      return read_named(path, false, true);
    case TranscriptFormat::lines:
      return read_named(path, true, false);
    case TranscriptFormat::trn:
      return read_trn(path);
    case TranscriptFormat::stm:
      return read_stm(path);
    case TranscriptFormat::ctm:
      return read_ctm(path);
    case TranscriptFormat::fairseq:
      return read_fairseq(path);
  }
  fail("[read_transcripts] a format without a name");
}

Transcripts read_transcripts(const std::string& path, NBestFormat format) {
  return read_transcripts(path, transcript_format("", format));
}

Transcripts read_trn(const std::string& path) {
  return transcripts_of(path, [](std::string_view line, int64_t, const auto& place) {
    while (line.ends_with(' ')) line.remove_suffix(1);
    const size_t open = line.rfind('(');
    require(open != std::string_view::npos && line.ends_with(')') && open + 2 < line.size(), place,
            ": a line of a .trn file ends with '(utterance)'");
    return std::pair(std::string(line.substr(open + 1, line.size() - open - 2)),
                     line.substr(0, open));
  });
}

std::vector<std::string> texts_of(const std::vector<NBestList>& lists, const Transcripts& texts,
                                  const std::string& path) {
  std::vector<std::string> own;
  for (const NBestList& list : lists) {
    const auto found = texts.find(list.utterance);
    require(found != texts.end(), path, " has no text for the utterance ", quote(list.utterance));
    own.push_back(found->second);
  }
  if (own.size() == texts.size()) return own;
  std::set<std::string> names;
  for (const NBestList& list : lists) names.insert(list.utterance);
  for (const auto& [name, text] : texts)
    require(names.contains(name), path, " has a text for ", quote(name),
            ", which has no n-best list");
  return own;
}

}  // namespace nine
