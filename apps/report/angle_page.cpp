#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "apps/cli/text_io.h"
#include "apps/cli/text_table.h"
#include "apps/report/angles.h"
#include "apps/report/page.h"
#include "apps/report/place_labels.h"
#include "apps/report/table.h"
#include "apps/svg/svg.h"
#include "apps/svg/text.h"
#include "core/number_format.h"

namespace nine::app {
namespace {

constexpr size_t kTop = 100;          // most frequent words that are shown
constexpr double kAngleWide = 720;    // pixels of the figure on a desk
constexpr double kAngleLetter = 7.5;  // pixels of an average letter
constexpr std::array<const char*, 4> kReds{"#c62828", "#e0564f", "#9c2f55", "#d9622b"},
    kBlues{"#1565c0", "#3f83d6", "#3a4fb0", "#1f8aa0"};

const std::vector<AngleGroup>& english_pairs() {
  static const std::vector<AngleGroup> groups{
      {"he, she", {"he", "she", "him", "her", "himself", "herself"}},
      {"man, woman", {"man", "woman", "boy", "girl", "men", "women"}},
      {"syntactic: number", {"is", "are", "dog", "dogs", "child", "children"}},
      {"syntactic: form", {"walk", "walks", "walking", "play", "plays", "playing"}}};
  return groups;
}

// A word of the picture: its place in 0..1 from the upper left corner.
struct Marked {
  std::string word;
  Place at;
  std::string style;  // CSS of a group's colour; empty: of the most frequent words
};

std::string colour_of(const std::vector<AngleGroup>& groups, size_t group) {
  size_t same = 0;
  for (size_t g = 0; g < group; ++g) same += groups[g].syntactic() == groups[group].syntactic();
  const auto& colours = groups[group].syntactic() ? kBlues : kReds;
  return concat("--c:", colours[same % colours.size()]);
}

std::vector<Marked> marked_words(const ModelAngles& m, const std::vector<AngleGroup>& groups) {
  std::vector<size_t> shown;
  std::vector<std::string> styles(m.places.size());
  for (size_t g = 0; g < groups.size(); ++g)
    for (const std::string& word : groups[g].words) {
      const auto found = std::find(m.words.words.begin(), m.words.words.end(), word);
      if (found == m.words.words.end()) continue;
      const auto i = static_cast<size_t>(found - m.words.words.begin());
      if (styles[i].empty()) shown.push_back(i);
      styles[i] = colour_of(groups, g);
    }
  for (size_t i = 0; i < std::min(kTop, m.places.size()); ++i)
    if (styles[i].empty()) shown.push_back(i);
  double reach = 1;
  for (const size_t i : shown) reach = std::max(reach, std::hypot(m.places[i].x, m.places[i].y));
  reach *= 1.1;
  std::vector<Marked> words;
  for (const size_t i : shown)
    words.push_back({m.words.words[i],
                     {0.5 + 0.5 * m.places[i].x / reach, 0.5 - 0.5 * m.places[i].y / reach},
                     styles[i]});
  return words;
}

std::string labels_html(const std::vector<Marked>& words) {
  static constexpr std::array<const char*, 5> kSides{"", "r", "l", "a", "b"};
  std::vector<Place> pixels;
  std::vector<double> widths;
  for (const Marked& w : words) {
    pixels.push_back({kAngleWide * w.at.x, kAngleWide * w.at.y});
    widths.push_back(kAngleLetter * static_cast<double>(w.word.size()));
  }
  const std::vector<Side> sides = place_labels(pixels, widths, kAngleWide, kAngleWide, {});
  std::string labels;
  for (size_t i = 0; i < words.size(); ++i)
    if (sides[i] != Side::none)
      labels += element("span",
                        {{"class", concat("at ", kSides[static_cast<size_t>(sides[i])], " desk")},
                         {"style", concat("left:", coordinate(100 * words[i].at.x),
                                          "%;top:", coordinate(100 * words[i].at.y), "%")}},
                        isolated(words[i].word));
  return element("div", {{"aria-hidden", "true"}}, labels) + '\n';
}

std::string figure_html(const ModelAngles& m, size_t number,
                        const std::vector<AngleGroup>& groups) {
  const std::vector<Marked> words = marked_words(m, groups);
  std::string drawing = path("grid", PathData().move_to(500, 500).horizontal_to(1000));
  for (const Marked& w : words) {
    Attributes attributes{{"class", w.style.empty() ? "point marked" : "point"},
                          {"d", PathData().move_to(1000 * w.at.x, 1000 * w.at.y).dot().text()}};
    if (!w.style.empty()) attributes.insert(attributes.begin() + 1, {"style", w.style});
    drawing += element("path", attributes) + '\n';
  }
  const std::string id = concat("angles-", number);
  const std::string picture =
      image({{"viewBox", "0 0 1000 1000"}},
            {.id = id,
             .title = escaped(m.model),
             .description = "Words around the origin: t-SNE of their vectors, turned so that the "
                            "reference word lies to the right."},
            drawing);
  return concat("<figure class=\"map polar\"><figcaption><h2>", isolated(m.model), "</h2><p>The ",
                std::min(kTop, m.places.size()), " ", m.words.chosen(),
                " and the groups; t-SNE of ", m.places.size(), " words with perplexity ",
                plain(m.perplexity), ", turned and scaled so that “",
                isolated(m.words.words[reference_word(m.words)]),
                "” lies at distance 1 to the right</p></figcaption>\n<div class=\"plane\">\n",
                picture, labels_html(words), "</div></figure>\n");
}

std::string groups_html(const std::vector<AngleGroup>& groups) {
  std::string items;
  for (size_t g = 0; g < groups.size(); ++g) {
    const PathData dot = PathData().move_to(11, 4).dot();
    items += element(
        "li", {},
        swatch(element("path",
                       {{"class", "point"}, {"style", colour_of(groups, g)}, {"d", dot.text()}})) +
            isolated(groups[g].name));
  }
  return "<ul class=\"legend\">" + items + "</ul>\n";
}

// Cells of the measures, the header first.
std::vector<std::vector<std::string>> measure_cells(const AngleStudy& study) {
  std::vector<std::vector<std::string>> cells{{"measure"}};
  for (const ModelAngles& m : study.models) cells[0].push_back(m.model);
  const bool several = study.models.size() > 1;
  if (several) cells[0].emplace_back("mean [95% interval]");
  std::set<std::string> names;
  for (const ModelAngles& m : study.models)
    for (const auto& [name, value] : m.measures) names.insert(name);
  for (const std::string& name : names) {
    std::vector<std::string> row{name};
    for (const ModelAngles& m : study.models) {
      const auto found = m.measures.find(name);
      row.push_back(found == m.measures.end() ? "–" : fixed(found->second, 3));
    }
    const auto s = study.statistics.find(name);
    if (several)
      row.push_back(s == study.statistics.end()
                        ? "–"
                        : concat(fixed(s->second.mean, 3), " [", fixed(s->second.low, 3), ", ",
                                 fixed(s->second.high, 3), "]"));
    cells.push_back(std::move(row));
  }
  return cells;
}

std::vector<std::vector<std::string>> pair_cells(const AngleStudy& study) {
  std::vector<std::vector<std::string>> cells{{"models", "words", "Spearman", "p"}};
  for (const AngleStudy::Pair& p : study.pairs)
    cells.push_back({study.models[p.a].model + ", " + study.models[p.b].model, concat(p.words),
                     fixed(p.correlation, 3), p_text(p.p)});
  return cells;
}

std::string pairs_note(const AngleStudy& study, const AngleSettings& settings) {
  return concat(
      "cosines between the words of two models: Spearman's rank correlation; p by "
      "Mantel's test, one-sided, ",
      settings.permutations, " permutations, seed ", settings.seed, "; ", study.pairs.size(),
      study.pairs.size() == 1 ? " test" : " tests", ", not adjusted");
}

const char* const kMeasuresNote =
    "angles in degrees; over the models: mean and 95% interval by Student's t";

std::string cells_html(const std::string& caption, std::vector<std::vector<std::string>> cells) {
  for (auto& row : cells)
    for (std::string& cell : row) cell = isolated(cell);
  return table_html({.caption = escaped(caption),
                     .columns = cells.front(),
                     .rows = {cells.begin() + 1, cells.end()}});
}

}  // namespace

std::string angles_text(const AngleStudy& study, const AngleSettings& settings) {
  std::string text = concat("# ", kMeasuresNote, "\n", text_table(measure_cells(study)));
  if (!study.pairs.empty())
    text += concat("# ", pairs_note(study, settings), "\n", text_table(pair_cells(study)));
  return text;
}

void write_angle_page(const AngleStudy& study, const AngleSettings& settings,
                      const std::filesystem::path& output) {
  const std::vector<AngleGroup>& groups =
      settings.groups.empty() ? english_pairs() : settings.groups;
  std::string figures;
  const auto same_origin = [&](const ModelAngles& m) {
    return m.words.counted == study.models.front().words.counted;
  };
  const bool one_kind = std::ranges::all_of(study.models, same_origin);
  const WordVectors& first = study.models.front().words;
  for (size_t i = 0; i < study.models.size(); ++i)
    figures += concat("<section>\n", figure_html(study.models[i], i, groups), "</section>\n");
  const std::string body = concat(
      "<header>\n<p class=\"kicker\">Nine word vectors</p>\n<h1>Angles of words</h1>\n",
      "<p class=\"lead\">At most ", settings.words, " ",
      one_kind ? first.chosen() : "most frequent words, or first tokens of the tokenizer,",
      " of each model</p>\n</header>\n<section>\n", cells_html(kMeasuresNote, measure_cells(study)),
      study.pairs.empty() ? "" : cells_html(pairs_note(study, settings), pair_cells(study)),
      groups_html(groups), "</section>\n", figures, "<footer>Written by Nine from ",
      one_kind ? first.origin() : "the models’ tensors, dictionaries and tokenizers",
      ".</footer>\n");
  write_whole(output.string(), page_html("Angles of words – Nine", body));
}

}  // namespace nine::app
