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
#include "data/line_parts.h"
#include "data/n_best_sources.h"
#include "data/text.h"

namespace nine {
namespace {

using namespace lines;

// Parses the texts that programs print for the logarithm of 0 or its cost: -inf, inf, +inf,
// -Infinity.
bool parse_infinity(std::string_view text, double& number) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && std::isinf(number);
}

double score_of(std::string_view text, const Place& place) {
  double score = 0;
  require(parse_number(text, score) || parse_infinity(text, score), place.at(text), ": ",
          quote(text), " is not a score");
  return score;
}

// A parsed line: an utterance and a hypothesis.
struct Line {
  std::string utterance;
  NBestHypothesis hypothesis;
  std::string key = {};  // key of the hypothesis if the format has keys, such as u17-1
};

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
    require(i < words.size(), place.at(words[begin]), ": the segmentation that begins with ",
            quote(words[begin]), " does not end with |");
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
  // Parses a line. Returns false if the line is no hypothesis: a header, or a line about the
  // hypothesis `last`, which is null before the first one.
  bool parse(const Place& place, Line& line, NBestHypothesis* last) {
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
      case NBestFormat::fairseq:
        return parse_fairseq(place, line, last);
      case NBestFormat::espnet:
      case NBestFormat::whisper:
        fail("[read_n_best] not a format of lines");
    }
    return true;
  }
  // Error: the file ended before the last hypothesis had all its lines.
  void require_whole(const std::string& path) const {
    require(!waits_, path, ": the last hypothesis has no line P-, whose sum is a score");
  }
  // The number of lines with Moses' segmentations.
  int64_t segmented() const { return segmented_; }
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
    const size_t written = words.size();
    leave_out_segmentations(words, place);
    segmented_ += words.size() < written ? 1 : 0;
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
    if (all_)  // what the first line does not have would be left out
      for (const Feature& f : features_)
        if (f.name != kTotalScore && std::ranges::count(names_, f.name) == 0)
          fail(place, ": the feature ", quote(f.name),
               " is not in the first line, whose features are ", list_of(names_),
               ": --nbest-scores all needs lines with the same features; name the features that ",
               "all lines have");
    if (names_.size() == 1) line.hypothesis.score = line.hypothesis.scores[0];
    if (names_.size() == 1) line.hypothesis.scores.clear();
    return line;
  }
  // fairseq prints other lines between those of the sentences, such as its log.
  bool parse_fairseq(const Place& place, Line& line, NBestHypothesis* last) {
    const std::vector<std::string> both{"score", "sum"};
    if (all_) names_ = both;
    const Words parts = parts_of(place.line, "\t");
    const std::string_view mark = parts[0], id = mark.size() > 2 ? mark.substr(2) : "";
    int64_t sentence = 0;
    if (id.empty() || mark[1] != '-' || mark[0] < 'A' || mark[0] > 'Z' || id[0] < '0' ||
        id[0] > '9') {
      require(parts.size() == 1, place,
              ": a line of fairseq-generate begins with a letter, a dash and the number of a "
              "sentence, such as H-0, but this has ",
              quote(mark));
      return false;
    }
    require((mark[0] != 'H' && mark[0] != 'P') || parse_count(id, sentence), place, ": ",
            quote(mark), " does not end with the number of a sentence");
    if (place.line[0] == 'P' && !names_.empty()) {
      require(last != nullptr && parts.size() == 2 && id == fairseq_sentence_, place,
              ": a line P- follows its line H-, and is 'P-N TAB numbers'");
      double sum = 0;
      // A number for each token, the end of the sentence too; a word has one token or more.
      const Words numbers = words_of(parts[1]);
      const size_t words = words_of(last->words).size();
      require(numbers.size() > words, place, ": ", numbers.size(), " numbers for a hypothesis of ",
              words, words == 1 ? " word" : " words",
              " and its end: the line is cut, or of another hypothesis");
      for (const std::string_view number : numbers) sum += score_of(number, place);
      sum = larger_is_better(sum, options_.cost, place);
      for (size_t k = 0; k < last->scores.size(); ++k)
        if (names_[k] == "sum") last->scores[k] = sum;
      if (names_ == std::vector<std::string>{"sum"}) last->score = sum;
      waits_ = false;
    }
    if (place.line[0] != 'H') return false;
    require(!waits_, place,
            ": the hypothesis before this one has no line P-, whose sum is a score");
    require(parts.size() == 3, place, ": a line is 'H-N TAB score TAB words', but this has ",
            parts.size() - 1, " tabs");
    line = {std::string(id), {}};
    fairseq_sentence_ = line.utterance;
    set_score(parts[1], place, line.hypothesis);
    line.hypothesis.words = joined_words(parts[2]);
    for (const std::string& name : names_) {
      require(std::ranges::count(both, name) > 0, "--nbest-scores ", name,
              ": the scores of fairseq's lines are score and sum");
      waits_ = waits_ || name == "sum";
      if (names_.size() > 1) line.hypothesis.scores.push_back(line.hypothesis.score);
    }
    return true;
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
  bool waits_ = false;  // true if a line P- must follow
  int64_t segmented_ = 0;
  std::string fairseq_sentence_;    // of the last line H-
  std::vector<std::string> names_;  // empty: the only score
  std::vector<size_t> columns_;     // the place of each name in a line
  size_t width_ = 0;                // the number of columns of tsv
  std::vector<Feature> features_;   // of the line
};

}  // namespace

bool begins_segmentation(std::string_view word) {
  if (!word.starts_with('|')) return false;
  const size_t stop = word.find_first_of("|,", 1);
  if (stop == std::string_view::npos || word.find('-') > stop) return false;
  return are_links({word.substr(1, stop - 1)}) &&
         (word[stop] == '|' ? stop + 1 == word.size() : word.substr(stop).starts_with(",wa="));
}

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
  if (options.format == NBestFormat::espnet) return read_espnet(path, options);
  if (options.format == NBestFormat::whisper) return read_whisper(path, options);
  TextReader reader({path});
  LineParser parser(options);
  NBestFile file;
  ListBuilder lists(path, options);
  Names hypotheses;
  int64_t number = 0;
  Line line;
  for (std::string_view text; reader.next_line(text);) {
    ++number;
    const Place place{reader, text};
    if (!parser.parse(place, line, lists.last())) continue;
    if (!line.key.empty()) hypotheses.add(line.key, number, path, "a hypothesis has one line");
    lists.add(line.utterance, std::move(line.hypothesis), place, number);
  }
  parser.require_whole(path);
  file.lists = lists.lists();
  file.scores = parser.names();
  if (parser.segmented() > 0)
    notice(concat(path, ": Moses' segmentations, such as |0-0|, are no words; they are in ",
                  parser.segmented(), " of ", number, " lines"));
  return file;
}

std::vector<NBestList> read_n_best(const std::string& path, const NBestOptions& options) {
  return read_n_best_file(path, options).lists;
}

}  // namespace nine
