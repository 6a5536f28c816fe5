#include "apps/lm_score/lm_top_page.h"

#include <array>
#include <cmath>
#include <map>

#include "apps/report/page.h"
#include "apps/report/table.h"
#include "apps/svg/text.h"
#include "core/error.h"
#include "core/number_format.h"
#include "core/quote.h"
#include "data/text.h"
#include "nn/models/language_model.h"
#include "nn/models/model_directory.h"

namespace nine::app {
namespace {

constexpr size_t kMostPlaces = 1000;
using Words = std::vector<std::string_view>;

// A sentence's words with the end of the sentence.
Words words_of(const std::string& line) {
  Words words;
  split_words(line, words);
  words.push_back(Specials::kLanguageModel.text(Specials::kLanguageModel.end));
  return words;
}

std::vector<TextPlace> places_of(std::span<const std::string> lines, const TopPageOptions& o) {
  std::vector<TextPlace> places;
  for (const std::string& text : o.at) {
    const TextPlace place = TextPlace::parse(text);
    require(place.line <= std::ssize(lines), "--at ", text, ": the text has ", lines.size(),
            " lines");
    const auto words = std::ssize(words_of(lines[static_cast<size_t>(place.line - 1)]));
    require(place.position <= words, "--at ", text, ": that line has ", words,
            " positions, including the end of the sentence");
    places.push_back(place);
  }
  if (o.at.empty())
    for (int64_t l = 1; l <= std::ssize(lines); ++l)
      for (int64_t p = 1; p <= std::ssize(words_of(lines[static_cast<size_t>(l - 1)])); ++p)
        places.push_back({l, p});
  require(places.size() <= kMostPlaces, places.size(),
          " places are too many for one page: name at most ", kMostPlaces, " with --at LINE:WORD");
  return places;
}

// What one model expected at the places, and its words.
struct Expected {
  std::vector<WordExpectation> at;
  std::vector<std::vector<std::string>> words;  // of each place's likeliest
  std::vector<bool> known;                      // whether the text's word is in the vocabulary
};

Expected expected_of(const std::string& checkpoint, std::span<const std::string> lines,
                     std::span<const TextPlace> places, const TopPageOptions& o) {
  const LanguageModel model = LanguageModel::load(checkpoint, o.device);
  // Only the lines that have a place.
  std::map<int64_t, size_t> row;
  std::vector<std::string> own;
  for (const TextPlace& p : places)
    if (row.emplace(p.line, own.size()).second)
      own.push_back(lines[static_cast<size_t>(p.line - 1)]);
  const auto all = model.top_words(own, o.top, o.batch_tokens);
  Expected e;
  for (const TextPlace& p : places) {
    const auto position = static_cast<size_t>(p.position - 1);
    e.at.push_back(all[row[p.line]][position]);
    e.words.emplace_back();
    for (const int32_t id : e.at.back().top) e.words.back().push_back(model.vocabulary().word(id));
    const Words words = words_of(own[row[p.line]]);
    e.known.push_back(position + 1 == words.size() ||
                      model.vocabulary().id(words[position]) != Specials::kLanguageModel.unknown);
  }
  return e;
}

std::string probability(double log_p) {
  const double p = std::exp(log_p);
  return p >= 0.001 ? fixed(p, 4) : figure(p);
}

std::string own_text(const Expected& e, size_t i) {
  return concat(probability(e.at[i].log_p), ", rank ", count(static_cast<double>(e.at[i].rank)),
                e.known[i] ? "" : " (of &lt;unk&gt;)");
}

std::string section(const TextPlace& place, const std::string& line,
                    const std::array<Expected, 2>& models, size_t i) {
  const Words words = words_of(line);
  const auto position = static_cast<size_t>(place.position - 1);
  std::string sentence;
  for (size_t w = 0; w + (position + 1 < words.size() ? 1 : 0) < words.size(); ++w)
    sentence +=
        (w > 0 ? " " : "") + (w == position ? "<strong>" + escaped_sentence(words[w]) + "</strong>"
                                            : escaped_sentence(words[w]));
  Table table{concat("“", isolated(words[position]), "”: ", own_text(models[0], i), " under A; ",
                     own_text(models[1], i), " under B"),
              {"Rank", "A", "p", "B", "p"}};
  const size_t rows = std::max(models[0].words[i].size(), models[1].words[i].size());
  for (size_t r = 0; r < rows; ++r) {
    std::vector<std::string> cells{concat(r + 1)};
    for (const Expected& e : models) {
      const bool has = r < e.words[i].size();
      const std::string word = has ? isolated(e.words[i][r]) : "";
      cells.push_back(has && e.words[i][r] == words[position] ? "<strong>" + word + "</strong>"
                                                              : word);
      cells.push_back(has ? probability(e.at[i].top_log_p[r]) : "");
    }
    table.rows.push_back(std::move(cells));
  }
  return concat("<section>\n<h2>Line ", place.line, ", word ", place.position,
                "</h2>\n<p dir=\"auto\">", sentence, "</p>\n", table_html(table), "</section>\n");
}

}  // namespace

TextPlace TextPlace::parse(const std::string& text) {
  const size_t colon = text.find(':');
  TextPlace place;
  if (colon == std::string::npos || !parse_count(text.substr(0, colon), place.line) ||
      !parse_count(text.substr(colon + 1), place.position) || place.line < 1 || place.position < 1)
    throw UsageError(
        concat(quote(text), " must be a line and a word, both counted from 1, such as 12:5"));
  return place;
}

void write_top_page(const std::string& a, const std::string& b, std::span<const std::string> lines,
                    const TopPageOptions& o, std::ostream& out) {
  const std::vector<TextPlace> places = places_of(lines, o);
  model_directory(b, kDictionaryFile);  // a wrong name is an error now, not after the work of A
  const std::array<Expected, 2> models{expected_of(a, lines, places, o),
                                       expected_of(b, lines, places, o)};
  std::string body = concat(
      "<header>\n<p class=\"kicker\">Nine language models</p>\n<h1>What each would have "
      "said</h1>\n",
      "<p class=\"lead\">A: ", isolated(a), "; B: ", isolated(b), "</p>\n</header>\n");
  for (size_t i = 0; i < places.size(); ++i)
    body += section(places[i], lines[static_cast<size_t>(places[i].line - 1)], models, i);
  out << page_html("What each would have said – Nine",
                   body + "<footer>Written by Nine's lm_score.</footer>\n");
}

}  // namespace nine::app
