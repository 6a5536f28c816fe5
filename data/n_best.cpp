#include "data/n_best.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string_view>

#include "core/notice.h"
#include "core/quote.h"
#include "data/text.h"

namespace nine {
namespace {

using Words = std::vector<std::string_view>;

std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

std::string joined_words(std::string_view text) {
  Words words;
  split_words(text, words);
  return joined(words);
}

// Returns the parts of a line between separators.
Words parts_of(std::string_view line, std::string_view separator) {
  Words parts;
  for (size_t at = 0;;) {
    const size_t end = line.find(separator, at);
    parts.push_back(line.substr(at, end - at));
    if (end == std::string_view::npos) return parts;
    at = end + separator.size();
  }
}

// Parses the texts that programs print for the logarithm of 0 or its cost: -inf, inf, +inf,
// -Infinity.
bool parse_infinity(std::string_view text, double& number) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && std::isinf(number);
}

double score_of(std::string_view text, const std::string& place) {
  double score = 0;
  require(parse_number(text, score) || parse_infinity(text, score), place, ": ", quote(text),
          " is not a score");
  return score;
}

// Returns the score with the sign that makes larger scores better. Replaces numbers that mean the
// logarithm of 0 by -infinity, so that no sum or spread includes them.
double larger_is_better(double score, bool cost, const std::string& place) {
  require(!std::isnan(score), place, ": infinite scores of both signs have no sum");
  const double value = cost ? -score : score;
  require(value < -kLogZero, place, ": the ", cost ? "cost " : "score ", score,
          cost ? " is too small for a cost; if larger scores are better, leave out --nbest-cost"
               : " is too large for the logarithm of a probability; if the scores are costs, which "
                 "are better if they are smaller, give --nbest-cost");
  return value > kLogZero ? value : -std::numeric_limits<double>::infinity();
}

// A parsed line: an utterance and a hypothesis.
struct Line {
  std::string utterance;
  NBestHypothesis hypothesis;
  std::string key = {};    // key of the hypothesis if the format has keys, such as u17-1
  bool segmented = false;  // Moses wrote segmentations among the words
};

// Remembers the line of each name, because a name may occur only once in a file.
class Names {
 public:
  // Adds a name. Error: the file has had `name` before; the message names both lines and ends with
  // `rule`.
  void add(const std::string& name, int64_t line, const std::string& path, std::string_view rule) {
    const auto [before, is_new] = lines_.emplace(name, line);
    require(is_new, path, ", line ", line, ": ", quote(name), " is in line ", before->second,
            " already; ", rule);
  }

 private:
  std::map<std::string, int64_t> lines_;
};

Line parse_tsv(std::string_view line, const std::string& place) {
  const Words parts = parts_of(line, "\t");
  require(parts.size() == 3 && !parts[0].empty(), place,
          ": a line is 'utterance TAB score TAB words', but this has ", parts.size() - 1, " tabs",
          parts.size() == 3 ? " and no utterance" : "", "; --nbest-format reads other formats");
  return {std::string(parts[0]), {score_of(parts[1], place), joined_words(parts[2])}};
}

Line parse_srilm(std::string_view line, const std::string& place) {
  Words words;
  split_words(line, words);
  require(words.size() >= 4, place,
          ": a line is 'utterance acoustic-score lm-score number-of-words words', but this has ",
          words.size(), " fields");
  const double acoustic = score_of(words[1], place), model = score_of(words[2], place);
  // If one score is the logarithm of 0, so is the sum, whatever the other score is.
  const double score = std::min(acoustic, model) <= kLogZero && acoustic + model < -kLogZero
                           ? -std::numeric_limits<double>::infinity()
                           : acoustic + model;
  const std::span<const std::string_view> listed = std::span(words).subspan(4);
  std::span<const std::string_view> text = listed;
  if (!text.empty() && text.front() == "<s>") text = text.subspan(1);
  if (!text.empty() && text.back() == "</s>") text = text.first(text.size() - 1);
  // Pauses are no words: SRILM neither counts nor scores them. Another number of words means that a
  // column is missing.
  Words spoken(text.begin(), text.end());
  std::erase(spoken, "-pau-");
  int64_t count = -1;
  require(
      parse_count(words[3], count) &&
          (count == std::ssize(text) || count == std::ssize(listed) || count == std::ssize(spoken)),
      place, ": the number of words is ", quote(words[3]), ", but ", std::ssize(text),
      std::ssize(text) == 1 ? " word follows" : " words follow",
      "; a line is 'utterance acoustic-score lm-score number-of-words words'");
  return {std::string(words[0]), {score, joined(spoken)}};
}

Line parse_kaldi(std::string_view line, const std::string& place) {
  Words words;
  split_words(line, words);
  require(words.size() >= 2, place, ": a line is 'utterance-N score words', but this has ",
          words.size(), words.size() == 1 ? " field" : " fields");
  const size_t dash = words[0].rfind('-');
  int64_t rank = 0;
  require(
      dash != std::string_view::npos && dash > 0 && parse_count(words[0].substr(dash + 1), rank),
      place, ": ", quote(words[0]),
      " is not an utterance and the number of its hypothesis, such as u17-1");
  return {std::string(words[0].substr(0, dash)),
          {score_of(words[1], place), joined(std::span(words).subspan(2))},
          std::string(words[0])};
}

bool is_any_number(std::string_view word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc{} && end == word.data() + word.size();
}

// True if all words are links of an alignment or a segmentation: places or ranges of places, joined
// by - or =, such as "0-1" and "0-1=2".
bool are_links(const Words& words) {
  return std::all_of(words.begin(), words.end(), [](std::string_view word) {
    const std::string_view kDigits = "0123456789";
    return word.find_first_of("-=") != std::string_view::npos &&
           word.find_first_not_of("0123456789-=") == std::string_view::npos &&
           kDigits.find(word.front()) != std::string_view::npos &&
           kDigits.find(word.back()) != std::string_view::npos;
  });
}

// True if a text may stand between words and score: features, which are numbers and names such as
// "lm=", "lm:" or "lm=-3", or links.
bool are_features(const Words& words) {
  return std::all_of(words.begin(), words.end(), [](std::string_view word) {
    return word.find('=') != std::string_view::npos || word.ends_with(':') ||
           is_any_number(word) ||  // of any kind, because a feature may be -inf
           are_links({word});
  });
}

Words words_of(std::string_view text) {
  Words words;
  split_words(text, words);
  return words;
}

// True if a word begins a segmentation of Moses (-report-segmentation): |0-1| or |0-1,wa=.
bool begins_segmentation(std::string_view word) {
  if (!word.starts_with('|')) return false;
  const size_t stop = word.find_first_of("|,", 1);
  if (stop == std::string_view::npos || word.find('-') > stop) return false;
  return are_links({word.substr(1, stop - 1)}) &&
         (word[stop] == '|' ? stop + 1 == word.size() : word.substr(stop).starts_with(",wa="));
}

// Removes the segmentations that Moses writes behind each phrase: which words of the source it
// translates, and with -report-segmentation-enriched its alignment and scores, which end with |.
// Error: such an end is missing.
void leave_out_segmentations(Words& words, const std::string& place) {
  size_t kept = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!begins_segmentation(words[i])) {
      words[kept++] = words[i];
      continue;
    }
    const size_t begin = i;
    while (i < words.size() && !words[i].ends_with('|')) ++i;
    require(i < words.size(), place, ": the segmentation that begins with ", quote(words[begin]),
            " does not end with |");
  }
  words.resize(kept);
}

Line parse_moses(std::string_view line, const std::string& place) {
  const Words parts = parts_of(line, "|||");
  require(parts.size() >= 3, place, ": a line is 'utterance ||| words ||| score', but this has ",
          parts.size() - 1, " |||");
  // Moses writes segmentation and alignment after the score. Marian writes its alignment before the
  // score.
  size_t score = parts.size() - 1;
  while (score > 2 && are_links(words_of(parts[score]))) --score;
  // Otherwise the rest of a hypothesis that has ||| as a word would be lost without notice.
  for (const std::string_view between : std::span(parts).subspan(2, score - 2))
    require(are_features(words_of(between)), place,
            ": between words and score a line may have features such as 'lm= -3' and an alignment "
            "such as 0-0, but this has ",
            quote(joined_words(between)), "; write a word ||| as &#124;&#124;&#124;");
  const std::string utterance = joined_words(parts.front());
  require(!utterance.empty() && utterance.find(' ') == std::string::npos, place, ": ",
          quote(utterance), " before the first ||| is not the name of an utterance");
  Words words = words_of(parts[1]);
  const size_t all = words.size();
  leave_out_segmentations(words, place);
  return {utterance,
          {score_of(joined_words(parts[score]), place), joined(words)},
          {},
          words.size() < all};
}

Line parse(std::string_view line, NBestFormat format, const std::string& place) {
  switch (format) {
    case NBestFormat::tsv:
      return parse_tsv(line, place);
    case NBestFormat::srilm:
      return parse_srilm(line, place);
    case NBestFormat::kaldi:
      return parse_kaldi(line, place);
    case NBestFormat::moses:
      return parse_moses(line, place);
  }
  fail("[read_n_best] a format without a name");
}

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

}  // namespace

std::vector<NBestList> read_n_best(const std::string& path, const NBestOptions& options) {
  TextReader reader({path});
  std::vector<NBestList> lists;
  Names utterances, hypotheses;
  int64_t number = 0, segmented = 0;
  for (std::string_view text; reader.next_line(text);) {
    ++number;
    const std::string place = reader.place();
    Line line = parse(text, options.format, place);
    // These characters would break the lines of a .trn file.
    require(line.utterance.find_first_of(" ()") == std::string::npos, place, ": the utterance ",
            quote(line.utterance), " has a space or a parenthesis in its name");
    require(options.allow_empty || !line.hypothesis.words.empty(), place, ": a hypothesis of ",
            quote(line.utterance), " has no words; give --allow-empty if this is silence");
    segmented += line.segmented ? 1 : 0;
    line.hypothesis.score = larger_is_better(line.hypothesis.score, options.cost, place);
    if (!line.key.empty()) hypotheses.add(line.key, number, path, "a hypothesis has one line");
    if (lists.empty() || lists.back().utterance != line.utterance) {
      utterances.add(line.utterance, number, path,
                     "the lines of an utterance must follow each other");
      lists.push_back({line.utterance, {}});
    }
    lists.back().hypotheses.push_back(std::move(line.hypothesis));
  }
  require(!lists.empty(), path, " has no n-best list");
  if (segmented > 0)
    notice(concat(path, ": Moses' segmentations, such as |0-0|, are no words; they are in ",
                  segmented, " of ", number, " lines"));
  return lists;
}

Transcripts read_transcripts(const std::string& path, NBestFormat format) {
  const bool numbered = format == NBestFormat::moses, spaced = format == NBestFormat::kaldi;
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
