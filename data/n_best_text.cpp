#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/quote.h"
#include "data/n_best.h"
#include "data/n_best_sources.h"
#include "data/text.h"

namespace nine {
namespace {

// Appends the shortest text that reads back to the same double, as shortest() does.
void append_number(std::string& text, double value) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

// Error: the format would read other words, or a name as something else.
void require_writable(const NBestList& list, const NBestHypothesis& h, NBestFormat format) {
  const auto refuse = [&](std::string_view what) {
    fail("a hypothesis of the utterance ", quote(list.utterance), " has ", what, ", which ",
         to_text(format), " reads otherwise: write another format");
  };
  if (h.words.find('\r') != std::string::npos) refuse("a carriage return");
  const auto check = [&](double score) {
    require(std::isinf(score) ? score < 0 : std::fabs(score) < -kLogZero, "a hypothesis of the ",
            "utterance ", quote(list.utterance), " has the score ", score,
            ", which would be read as a log zero or an error: give smaller weights");
  };
  if (h.scores.empty() || format == NBestFormat::moses) check(h.score);
  for (const double score : h.scores) check(score);
  if (format == NBestFormat::moses && h.words.find("|||") != std::string::npos) refuse("|||");
  if (format == NBestFormat::moses && list.utterance.find("|||") != std::string::npos)
    refuse("||| in its name");
  std::vector<std::string_view> words;
  if (format == NBestFormat::moses || format == NBestFormat::srilm) split_words(h.words, words);
  if (format == NBestFormat::moses && std::ranges::any_of(words, begins_segmentation))
    refuse("a word such as |0-1|");
  if (format != NBestFormat::srilm) return;
  if (words.empty()) return;
  if (words.front() == "<s>" || words.back() == "</s>" || std::ranges::count(words, "-pau-") > 0)
    refuse("<s>, </s> or -pau-");
}

}  // namespace

std::string n_best_text(const NBestFile& file, NBestFormat format, bool cost) {
  check_score_names(file.scores);
  require(std::ranges::count(kWrittenFormats, format) > 0, "no lists are written as ",
          to_text(format), ": write tsv, srilm, kaldi or moses");
  require(format != NBestFormat::moses || file.scores.size() == 1 ||
              std::ranges::count(file.scores, kTotalScore) == 0,
          "moses has the total as the last score, so that no other score is named ", kTotalScore);
  require(format != NBestFormat::srilm || file.scores.size() <= 2,
          "srilm's lists have two scores, ", "but these have ", file.scores.size(),
          ": write another format");
  std::string text;
  std::vector<double> scores;
  std::vector<std::string_view> words;
  if (format == NBestFormat::tsv) {
    text = "utterance";
    for (const std::string& name : file.scores) text.append("\t").append(name);
    text += "\twords\n";
  }
  const auto number = [&](double value) { append_number(text, cost ? -value : value); };
  for (const NBestList& list : file.lists)
    for (size_t i = 0; i < list.hypotheses.size(); ++i) {
      const NBestHypothesis& h = list.hypotheses[i];
      require_writable(list, h, format);
      scores = h.scores;
      if (scores.empty()) scores.push_back(h.score);
      require(scores.size() == file.scores.size(), "[n_best_text] ", scores.size(), " scores for ",
              file.scores.size(), " names");
      text += list.utterance;
      switch (format) {
        case NBestFormat::tsv:
          for (const double score : scores) {
            text += '\t';
            number(score);
          }
          text.append("\t").append(h.words);
          break;
        case NBestFormat::kaldi:
          text.append("-").append(std::to_string(i + 1));
          for (const double score : scores) {
            text += ' ';
            number(score);
          }
          if (!h.words.empty()) text.append(" ").append(h.words);
          break;
        case NBestFormat::srilm:
          split_words(h.words, words);
          text += ' ';
          number(scores[0]);
          text += ' ';
          number(scores.size() > 1 ? scores[1] : 0);
          text.append(" ").append(std::to_string(words.size()));
          if (!h.words.empty()) text.append(" ").append(h.words);
          break;
        case NBestFormat::moses:
          text.append(" ||| ").append(h.words).append(" ||| ");
          for (size_t k = 0; k < scores.size() && !h.scores.empty(); ++k) {
            text.append(file.scores[k]).append("= ");
            number(scores[k]);
            text += ' ';
          }
          if (!h.scores.empty()) text += "||| ";
          number(h.score);
          break;
        default:
          break;
      }
      text += '\n';
    }
  return text;
}

}  // namespace nine
