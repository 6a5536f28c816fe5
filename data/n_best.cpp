#include "data/n_best.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string_view>
#include <utility>

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

// Where a part of the line that was read last stands. It becomes text only in a message.
struct Place {
  const TextReader& reader;
  std::string_view line;
  std::string_view part = {};  // a part of the line; empty: the line as a whole

  Place at(std::string_view of_line) const { return {reader, line, of_line}; }
};
std::string to_text(const Place& place) {
  if (place.part.data() == nullptr) return place.reader.place();
  return concat(place.reader.place(), ", column ", place.part.data() - place.line.data() + 1);
}

double score_of(std::string_view text, const Place& place) {
  double score = 0;
  require(parse_number(text, score) || parse_infinity(text, score), place.at(text), ": ",
          quote(text), " is not a score");
  return score;
}

// Returns the score with the sign that makes larger scores better. Replaces numbers that mean the
// logarithm of 0 by -infinity, so that no sum or spread includes them.
double larger_is_better(double score, bool cost, const Place& place) {
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

Words words_of(std::string_view text) {
  Words words;
  split_words(text, words);
  return words;
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
void leave_out_segmentations(Words& words, const Place& place) {
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

// A feature of Moses: its name, and one of its numbers.
struct Feature {
  std::string name;
  std::string_view number;
};

// Appends the features of a text between |||, such as "lm: -3 tm= -1 -2 d=-4". The numbers of one
// name are name_1, name_2, ...; numbers before any name are feature_1, ...
void append_features(std::string_view text, const Place& place, std::vector<Feature>& features) {
  std::string name = "feature";
  size_t first = features.size();
  bool named = false;
  const auto end_name = [&] {
    if (named && features.size() == first + 1) return;
    for (size_t i = first; i < features.size(); ++i)
      features[i].name.append("_").append(std::to_string(i - first + 1));
  };
  const auto begin_name = [&](std::string_view next) {
    require(!next.empty(), place.at(text), ": a feature has no name before its = or :");
    end_name();
    name = next;
    first = features.size();
    named = true;
  };
  for (const std::string_view word : words_of(text)) {
    const size_t equals = word.find('=');
    if (equals != std::string_view::npos) {
      begin_name(word.substr(0, equals));
      if (equals + 1 < word.size()) features.push_back({name, word.substr(equals + 1)});
    } else if (word.ends_with(':')) {
      begin_name(word.substr(0, word.size() - 1));
    } else {
      features.push_back({name, word});
    }
  }
  end_name();
}

// Reads the lines of one format.
class LineParser {
 public:
  explicit LineParser(const NBestOptions& options)
      : options_(options), all_(options.scores == std::vector<std::string>{"all"}) {
    check_score_names(options.scores);
    if (!options.scores.empty() && !all_) names_ = options.scores;
  }
  // Parses a line. Returns false if the line is a header.
  bool parse(const Place& place, Line& line) {
    const bool first = !std::exchange(begun_, true);
    switch (options_.format) {
      case NBestFormat::tsv:
        if (first && read_header(place)) return false;
        line = parse_tsv(place);
        break;
      case NBestFormat::srilm:
        line = parse_srilm(place);
        break;
      case NBestFormat::kaldi:
        line = parse_kaldi(place);
        break;
      case NBestFormat::moses:
        line = parse_moses(place);
        break;
    }
    return true;
  }
  // The names of the scores that were read.
  std::vector<std::string> names() const {
    return names_.empty() ? std::vector<std::string>{kOnlyScore} : names_;
  }

 private:
  // Sets the scores of a hypothesis; its total is their sum.
  void set_scores(const Words& numbers, const Place& place, NBestHypothesis& h) const {
    for (const std::string_view number : numbers) add_score(number, place, h.scores);
    double sum = 0;
    for (const double score : h.scores) sum += score;
    h.score = larger_is_better(sum, false, place);  // within the range of a score
    if (h.scores.size() == 1) h.scores.clear();
  }
  void add_score(std::string_view number, const Place& place, std::vector<double>& scores) const {
    scores.push_back(larger_is_better(score_of(number, place), options_.cost, place.at(number)));
  }
  void set_score(std::string_view number, const Place& place, NBestHypothesis& h) const {
    h.score = larger_is_better(score_of(number, place), options_.cost, place.at(number));
  }

  // Reads 'utterance TAB names TAB words'. A line of a hypothesis has a number in place of a name.
  bool read_header(const Place& place) {
    const Words parts = parts_of(place.line, "\t");
    double number = 0;
    if (parts.size() < 3 || parts.front() != "utterance" || parts.back() != "words" ||
        parse_number(parts[1], number) || parse_infinity(parts[1], number))
      return false;
    const std::vector<std::string> columns(parts.begin() + 1, parts.end() - 1);
    try {
      check_score_names(columns);
    } catch (const Error& e) {
      fail(place, ": ", e.what());
    }
    const auto total = std::ranges::find(columns, kTotalScore);
    if (options_.scores.empty() && total != columns.end())
      names_ = {kTotalScore};
    else if (options_.scores.empty() || all_)
      names_ = columns;
    for (const std::string& name : names_) {
      const auto found = std::ranges::find(columns, name);
      require(found != columns.end(), place, ": the header has no score ", quote(name),
              "; its scores are ", list_of(columns));
      columns_.push_back(static_cast<size_t>(found - columns.begin()) + 1);
    }
    width_ = parts.size();
    return true;
  }
  static std::string list_of(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  Line parse_tsv(const Place& place) {
    const Words parts = parts_of(place.line, "\t");
    require(columns_.empty() || parts.size() == width_, place, ": the header has ", width_ - 1,
            " tabs, but this line has ", parts.size() - 1);
    if (columns_.empty() && width_ == 0) {  // a file without a header
      require(!all_, place, ": --nbest-scores all needs a header 'utterance TAB names TAB words'");
      width_ = std::max<size_t>(1, names_.size()) + 2;
    }
    require(parts.size() == width_ && !parts[0].empty(), place, ": a line is 'utterance TAB ",
            width_ > 3 ? "scores" : "score", " TAB words', but this has ", parts.size() - 1,
            " tabs", parts.size() == width_ ? " and no utterance" : "",
            "; --nbest-format reads other formats, --nbest-scores names several scores");
    Line line{std::string(parts[0]), {}};
    Words numbers;
    for (size_t i = 0; i < std::max<size_t>(1, names_.size()); ++i)
      numbers.push_back(parts[columns_.empty() ? i + 1 : columns_[i]]);
    set_scores(numbers, place, line.hypothesis);
    line.hypothesis.words = joined_words(parts.back());
    return line;
  }

  Line parse_srilm(const Place& place) {
    const Words words = words_of(place.line);
    require(words.size() >= 4, place,
            ": a line is 'utterance acoustic-score lm-score number-of-words words', but this has ",
            words.size(), " fields");
    Line line{std::string(words[0]), {}};
    if (names_.empty() && !all_) {
      const double acoustic = score_of(words[1], place), model = score_of(words[2], place);
      // If one score is the logarithm of 0, so is the sum, whatever the other score is.
      const double sum = std::min(acoustic, model) <= kLogZero && acoustic + model < -kLogZero
                             ? -std::numeric_limits<double>::infinity()
                             : acoustic + model;
      line.hypothesis.score = larger_is_better(sum, options_.cost, place.at(words[1]));
    } else {
      const std::vector<std::string> both{"acoustic", "lm"};
      if (all_) names_ = both;
      Words numbers;
      for (const std::string& name : names_) {
        const auto found = std::ranges::find(both, name);
        require(found != both.end(), "--nbest-scores ", name,
                ": the scores of a line of srilm are acoustic and lm");
        numbers.push_back(words[static_cast<size_t>(found - both.begin()) + 1]);
      }
      set_scores(numbers, place, line.hypothesis);
    }
    const std::span<const std::string_view> listed = std::span(words).subspan(4);
    std::span<const std::string_view> text = listed;
    if (!text.empty() && text.front() == "<s>") text = text.subspan(1);
    if (!text.empty() && text.back() == "</s>") text = text.first(text.size() - 1);
    // Pauses are no words: SRILM neither counts nor scores them. Another number of words means that
    // a column is missing.
    Words spoken(text.begin(), text.end());
    std::erase(spoken, "-pau-");
    int64_t count = -1;
    require(
        parse_count(words[3], count) && (count == std::ssize(text) || count == std::ssize(listed) ||
                                         count == std::ssize(spoken)),
        place, ": the number of words is ", quote(words[3]), ", but ", std::ssize(text),
        std::ssize(text) == 1 ? " word follows" : " words follow",
        "; a line is 'utterance acoustic-score lm-score number-of-words words'");
    line.hypothesis.words = joined(spoken);
    return line;
  }

  Line parse_kaldi(const Place& place) const {
    require(!all_, "--nbest-scores all: name the columns of scores of Kaldi's lists");
    const size_t scores = std::max<size_t>(1, names_.size());
    const Words words = words_of(place.line);
    require(words.size() > scores, place, ": a line is 'utterance-N ",
            scores > 1 ? concat(scores, " scores") : "score", " words', but this has ",
            words.size(), words.size() == 1 ? " field" : " fields");
    const size_t dash = words[0].rfind('-');
    int64_t rank = 0;
    require(
        dash != std::string_view::npos && dash > 0 && parse_count(words[0].substr(dash + 1), rank),
        place, ": ", quote(words[0]),
        " is not an utterance and the number of its hypothesis, such as u17-1");
    Line line{std::string(words[0].substr(0, dash)), {}, std::string(words[0])};
    set_scores({words.begin() + 1, words.begin() + 1 + static_cast<std::ptrdiff_t>(scores)}, place,
               line.hypothesis);
    line.hypothesis.words = joined(std::span(words).subspan(1 + scores));
    return line;
  }

  Line parse_moses(const Place& place) {
    const Words parts = parts_of(place.line, "|||");
    require(parts.size() >= 3, place, ": a line is 'utterance ||| words ||| score', but this has ",
            parts.size() - 1, " |||");
    // Moses writes segmentation and alignment after the score. Marian writes its alignment before
    // the score.
    size_t score = parts.size() - 1;
    while (score > 2 && are_links(words_of(parts[score]))) --score;
    // Otherwise the rest of a hypothesis that has ||| as a word would be lost without notice.
    for (const std::string_view between : std::span(parts).subspan(2, score - 2))
      require(are_features(words_of(between)), place,
              ": between words and score a line may have features such as 'lm= -3' and an "
              "alignment such as 0-0, but this has ",
              quote(joined_words(between)), "; write a word ||| as &#124;&#124;&#124;");
    const Words utterance = words_of(parts.front()), total = words_of(parts[score]);
    require(utterance.size() == 1, place, ": ", quote(joined(utterance)),
            " before the first ||| is not the name of an utterance");
    require(total.size() == 1, place, ": ", quote(joined(total)), " is not a score");
    Line line{std::string(utterance[0]), {}};
    set_score(total[0], place, line.hypothesis);
    Words words = words_of(parts[1]);
    const size_t spoken = words.size();
    leave_out_segmentations(words, place);
    line.segmented = words.size() < spoken;
    line.hypothesis.words = joined(words);
    if (names_.empty() && !all_) return line;
    features_.clear();
    for (const std::string_view between : std::span(parts).subspan(2, score - 2))
      if (!are_links(words_of(between))) append_features(between, place, features_);
    features_.push_back({kTotalScore, total[0]});
    if (!resolved_) resolve(place);
    for (size_t i = 0; i < names_.size(); ++i) {
      // The features of a file usually have one order.
      if (i >= columns_.size()) columns_.push_back(i);
      if (columns_[i] >= features_.size() || features_[columns_[i]].name != names_[i])
        columns_[i] = static_cast<size_t>(std::ranges::find(features_, names_[i], &Feature::name) -
                                          features_.begin());
      require(columns_[i] < features_.size(), place, ": the hypothesis has no score ",
              quote(names_[i]), "; its scores are ", feature_names());
      add_score(features_[columns_[i]].number, place, line.hypothesis.scores);
    }
    if (names_.size() == 1) line.hypothesis.score = line.hypothesis.scores[0];
    if (names_.size() == 1) line.hypothesis.scores.clear();
    return line;
  }
  std::string feature_names() const {
    std::vector<std::string> names;
    for (const Feature& f : features_) names.push_back(f.name);
    return list_of(names);
  }
  // Replaces a name of several numbers by the names of these numbers, as the first line has them.
  void resolve(const Place& place) {
    resolved_ = true;
    std::vector<std::string> names;
    if (all_)
      for (const Feature& f : features_)
        if (f.name != kTotalScore) names.push_back(f.name);
    require(!all_ || !names.empty(), place, ": the hypothesis has no features");
    for (const std::string& name : names_) {
      const size_t before = names.size();
      for (const Feature& f : features_)
        if (f.name == name || (f.name.starts_with(name + "_") &&
                               is_any_number(std::string_view(f.name).substr(name.size() + 1))))
          names.push_back(f.name);
      require(names.size() > before, place, ": the hypothesis has no score ", quote(name),
              "; its scores are ", feature_names());
    }
    try {
      check_score_names(names);
    } catch (const Error& e) {
      fail(place, ": ", e.what());
    }
    names_ = names;
  }

  const NBestOptions& options_;
  bool all_, begun_ = false, resolved_ = false;
  std::vector<std::string> names_;  // empty: the only score
  std::vector<size_t> columns_;     // the place of each name in a line
  size_t width_ = 0;                // the number of columns of tsv
  std::vector<Feature> features_;   // of the line
};

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

void check_score_names(const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    require(!name.empty(), "the name of a score is empty");
    require(name.find_first_of(" \t=:|") == std::string::npos, "the name of a score, ", quote(name),
            ", has a space or one of = : |");
    require(seen.insert(name).second, "two scores have the name ", quote(name));
  }
}

NBestFile read_n_best_file(const std::string& path, const NBestOptions& options) {
  TextReader reader({path});
  LineParser parser(options);
  NBestFile file;
  std::vector<NBestList>& lists = file.lists;
  Names utterances, hypotheses;
  int64_t number = 0, segmented = 0;
  Line line;
  for (std::string_view text; reader.next_line(text);) {
    ++number;
    const Place place{reader, text};
    if (!parser.parse(place, line)) continue;
    // These characters would break the lines of a .trn file.
    require(line.utterance.find_first_of(" ()") == std::string::npos, place, ": the utterance ",
            quote(line.utterance), " has a space or a parenthesis in its name");
    require(options.allow_empty || !line.hypothesis.words.empty(), place, ": a hypothesis of ",
            quote(line.utterance), " has no words; give --allow-empty if this is silence");
    segmented += line.segmented ? 1 : 0;
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
  file.scores = parser.names();
  return file;
}

std::vector<NBestList> read_n_best(const std::string& path, const NBestOptions& options) {
  return read_n_best_file(path, options).lists;
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
