#include "apps/report/word_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "apps/cli/text_io.h"
#include "apps/report/page.h"
#include "apps/report/place_labels.h"
#include "apps/report/table.h"
#include "apps/report/tsne.h"
#include "apps/report/word_groups.h"
#include "apps/report/word_vectors.h"
#include "apps/svg/svg.h"
#include "apps/svg/text.h"
#include "core/error.h"

namespace nine::app {
namespace {

constexpr size_t kMarked = 100;                // words marked in the polar figure
constexpr size_t kFrequencies = 6;             // colours for frequencies
constexpr double kLetter = 6.9;                // pixels of an average letter in a label
constexpr double kWide = 1030, kNarrow = 350;  // pixels of a figure on a desk and on a phone
constexpr double kUnits = 1000;                // of the SVG's width

// A figure of points. Places are in 0..1 from the upper left corner.
struct Map {
  std::string id, title, note, description, legend;  // HTML
  std::string behind, over;                          // SVG behind the points, HTML above them
  double aspect = 1;                                 // height / width
  double wide = kWide;
  std::vector<Place> places;         // of all words
  std::vector<std::string> classes;  // of all words
  // Labels besides those of words, widths in pixels. Groups are named only on a wide figure.
  std::vector<PlacedText> ring_labels, group_labels;
  size_t labels = 0;     // only the first `labels` words may have a label
  size_t reference = 0;  // the word whose label is placed before all others
};

std::string place_css(const Place& p) {
  return concat("left:", coordinate(100 * p.x), "%;top:", coordinate(100 * p.y), "%");
}

// A generous estimate of a label's width in pixels, since browsers choose the font.
double label_width(const std::string& word) {
  double letters = 0;
  for (const char c : word) {
    const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    letters += continues ? 0 : c == 'm' || c == 'w' || c == 'M' || c == 'W' ? 1.5 : 1;
  }
  return kLetter * letters;
}

// The sides of the words' labels in a figure of this width; only those of `wanted` where it is not
// empty.
std::vector<Side> sides_at(const Map& map, const WordVectors& words, double width,
                           std::vector<Side> wanted) {
  std::vector<Place> pixels;
  std::vector<double> widths;
  for (size_t i = 0; i < map.labels; ++i) {
    pixels.push_back({map.places[i].x * width, map.places[i].y * width * map.aspect});
    widths.push_back(label_width(words.words[i]));
  }
  std::vector<PlacedText> texts = map.ring_labels;
  if (width == map.wide)
    texts.insert(texts.end(), map.group_labels.begin(), map.group_labels.end());
  for (PlacedText& text : texts)
    text.middle = {text.middle.x * width, text.middle.y * width * map.aspect};
  // The reference word goes first.
  std::swap(pixels[0], pixels[map.reference]);
  std::swap(widths[0], widths[map.reference]);
  if (!wanted.empty()) std::swap(wanted[0], wanted[map.reference]);
  std::vector<Side> sides = place_labels(pixels, widths, width, width * map.aspect, wanted, texts);
  std::swap(sides[0], sides[map.reference]);
  return sides;
}

// Labels that fit a wide figure; those that do not fit a narrow one too are hidden there.
std::string labels_html(const Map& map, const WordVectors& words) {
  static constexpr std::array<const char*, 5> kSides{"", "r", "l", "a", "b"};
  const std::vector<Side> wide = sides_at(map, words, map.wide, {}),
                          narrow = sides_at(map, words, kNarrow, wide);
  std::string labels;
  for (size_t i = 0; i < map.labels; ++i)
    if (wide[i] != Side::none)
      labels += element("span",
                        {{"class", concat("at ", kSides[static_cast<size_t>(wide[i])],
                                          narrow[i] == Side::none ? " desk" : "")},
                         {"style", place_css(map.places[i])}},
                        isolated(words.words[i]));
  return element("div", {{"aria-hidden", "true"}}, labels) + '\n';
}

// One path a class; the rare words first, so that the frequent ones lie above.
std::string points_svg(const Map& map) {
  std::vector<std::pair<std::string, PathData>> paths;
  for (size_t i = map.places.size(); i-- > 0;) {
    auto found = std::find_if(paths.begin(), paths.end(),
                              [&](const auto& p) { return p.first == map.classes[i]; });
    if (found == paths.end()) found = paths.insert(paths.end(), {map.classes[i], {}});
    found->second.move_to(kUnits * map.places[i].x, kUnits * map.aspect * map.places[i].y).dot();
  }
  std::string out;
  for (const auto& [name, data] : paths) out += path("point " + name, data);
  return out;
}

std::string data_json(const Map& map, const WordVectors& words) {
  std::string rows;
  for (size_t i = 0; i < map.places.size(); ++i)
    rows += concat(i > 0 ? ",\n" : "", "[", json_string(words.words[i]), ",",
                   words.counted ? std::to_string(words.counts[i]) : "null", ",",
                   json_number(words.norms[i], 4), ",", json_number(map.places[i].x, 5), ",",
                   json_number(map.places[i].y, 5), "]");
  return "[" + rows + "]";
}

std::string find_field(const std::string& map_id) {
  const std::string id = map_id + "-find";
  return concat("<p class=\"find\"><label for=\"", id, "\">Find a word</label> <input id=\"", id,
                "\" type=\"search\" dir=\"auto\" autocomplete=\"off\" autocapitalize=\"none\" ",
                "spellcheck=\"false\"> <span class=\"quiet\" role=\"status\"></span></p>\n");
}

std::string map_html(const Map& map, const WordVectors& words) {
  const std::string picture =
      image({{"viewBox", concat("0 0 1000 ", coordinate(kUnits * map.aspect))}},
            {.id = map.id, .title = map.title, .description = map.description},
            map.behind + points_svg(map));
  return concat("<figure class=\"map ", map.id, "\" id=\"", map.id, "\">\n<figcaption><h2>",
                map.title, "</h2><p>", map.note, "</p></figcaption>\n", map.legend,
                find_field(map.id), "<div class=\"plane\">\n", picture, map.over,
                labels_html(map, words), "</div>\n<script type=\"application/json\">",
                data_json(map, words), "</script>\n</figure>\n");
}

// Frequencies in classes of equal ratio.
struct FrequencyScale {
  double low, high;
  explicit FrequencyScale(const std::vector<int64_t>& counts)
      : low(std::log(std::max<double>(1, static_cast<double>(counts.back())))),
        high(std::log(std::max<double>(2, static_cast<double>(counts.front())))) {}
  size_t of(int64_t count) const {
    const double share = (std::log(std::max<double>(1, static_cast<double>(count))) - low) /
                         std::max(1e-9, high - low);
    return static_cast<size_t>(std::clamp(share * kFrequencies, 0.0, kFrequencies - 1.0));
  }
  double from(size_t f) const {
    return std::ceil(std::exp(low + (high - low) * static_cast<double>(f) / kFrequencies) - 1e-9);
  }
};

std::string legend_item(const std::string& classes, const std::string& text) {
  const PathData dot = PathData().move_to(11, 4).dot();
  const Attributes attributes{{"class", "point " + classes}, {"d", dot.text()}};
  return element("li", {}, swatch(element("path", attributes)) + text);
}

Map tsne_map(const WordVectors& words, const WordPageSettings& settings) {
  const double perplexity =
      std::min(settings.perplexity, std::floor(static_cast<double>(words.words.size()) / 3));
  const std::vector<double> y = tsne(
      words.vectors, {.perplexity = perplexity, .iterations = settings.iterations}, settings.seed);
  Map map{.id = "tsne", .title = "Neighbours", .labels = words.words.size()};
  map.note = concat(
      "t-SNE with perplexity ", plain(perplexity),
      ": words whose vectors are close stand close; directions and far distances say little");
  map.description =
      concat("Each word is a point", words.counted ? ", coloured by how often it occurs" : "",
             "; the words with the closest vectors stand side by side.");
  Place low{INFINITY, INFINITY}, high{-INFINITY, -INFINITY};
  for (size_t i = 0; i < y.size(); i += 2) {
    low = {std::min(low.x, y[i]), std::min(low.y, y[i + 1])};
    high = {std::max(high.x, y[i]), std::max(high.y, y[i + 1])};
  }
  const double across = std::max(high.x - low.x, 1e-12);
  map.aspect = std::clamp((high.y - low.y) / across + 0.06, 0.3, 1.2);
  const double unit =  // the same for both axes
      std::min(0.94 / across, 0.94 * map.aspect / std::max(high.y - low.y, 1e-12));
  const FrequencyScale scale(words.counts);
  for (size_t i = 0; i < words.words.size(); ++i) {
    map.places.push_back({0.5 + unit * (y[2 * i] - (low.x + high.x) / 2),
                          0.5 - unit / map.aspect * (y[2 * i + 1] - (low.y + high.y) / 2)});
    map.classes.push_back("f" + std::to_string(scale.of(words.counts[i])));
  }
  if (!words.counted) return map;
  map.legend = "<ul class=\"legend\"><li class=\"quiet\">occurrences, from</li>";
  for (size_t f = 0; f < kFrequencies; ++f)
    map.legend += legend_item("f" + std::to_string(f), count(scale.from(f)));
  map.legend += "</ul>\n";
  return map;
}

// Circles for round norms, and the direction of the reference word.
std::string rings_svg(const Axis& axis, double reach) {
  const double centre = kUnits / 2;
  std::string out;
  for (const double tick : axis.ticks)
    if (tick > 0)
      out += element("circle", {{"class", "grid"},
                                {"cx", coordinate(centre)},
                                {"cy", coordinate(centre)},
                                {"r", coordinate(centre * tick / reach)}}) +
             '\n';
  return out + path("grid", PathData().move_to(centre, centre).vertical_to(0));
}

// The norms of the circles.
std::string ring_labels(const Axis& axis, double reach) {
  std::string labels;
  for (const double tick : axis.ticks)
    if (tick > 0)
      labels += element(
          "span",
          {{"class", "ring"}, {"style", concat("top:", coordinate(50 + 50 * tick / reach), "%")}},
          compact(tick));
  return element("div", {{"aria-hidden", "true"}}, labels) + '\n';
}

// The mean direction of the group's marked words, NaN when there are fewer than three.
double group_angle(const Map& map, const WordVectors& words, size_t group) {
  constexpr int kFewest = 3;
  Place sum;
  int members = 0;
  for (size_t i = 0; i < map.labels; ++i) {
    if (word_group(words.words[i]) != group) continue;
    const double x = map.places[i].x - 0.5, y = map.places[i].y - 0.5,
                 r = std::max(std::hypot(x, y), 1e-12);
    sum = {sum.x + x / r, sum.y + y / r};
    ++members;
  }
  return members < kFewest ? NAN : std::atan2(sum.y, sum.x);
}

// Puts the groups' names at the rim, each at the free place nearest to its words' direction.
void name_groups(const WordVectors& words, Map& map) {
  constexpr double kRim = 0.475;  // the distance from the centre, as a share of the picture
  constexpr double kTurn = 0.04;  // radians
  constexpr double kHeight = 18, kSwatch = 24;  // pixels
  for (size_t g = 0; g < kWordGroups; ++g) {
    const double angle = group_angle(map, words, g),
                 width = label_width(word_group_name(g)) + kSwatch;
    if (!std::isfinite(angle)) continue;
    const auto overlaps = [&](const Place& p) {
      return std::any_of(map.group_labels.begin(), map.group_labels.end(),
                         [&](const PlacedText& t) {
                           return std::fabs(t.middle.x - p.x) * map.wide < (t.width + width) / 2 &&
                                  std::fabs(t.middle.y - p.y) * map.wide < kHeight;
                         });
    };
    Place p;
    int tries = 0;
    do {  // 0, 1, -1, 2, -2, ... turns
      const double turned = angle + kTurn * (tries % 2 == 1 ? tries / 2 + 1 : -(tries / 2));
      p = {0.5 + kRim * std::cos(turned), 0.5 + kRim * std::sin(turned)};
    } while (overlaps(p) && ++tries < 150);
    map.group_labels.push_back({p, width});
    map.over += element("span",
                        {{"class", concat("at group desk g", g)},
                         {"style", place_css(p)},
                         {"aria-hidden", "true"}},
                        word_group_name(g)) +
                '\n';
  }
}

Map polar_map(const WordVectors& words, uint64_t seed) {
  Map map{.id = "polar",
          .title = "Angle and norm",
          .wide = 720,
          .labels = std::min(kMarked, words.words.size())};
  const double reach = 1.12 * *std::max_element(words.norms.begin(), words.norms.end());
  const Axis axis = linear_axis(0, reach, 4);
  std::array<bool, kWordGroups> present{};
  for (const Place& p : polar_places(words, seed)) {
    const size_t i = map.places.size(), group = i < kMarked ? word_group(words.words[i]) : kNoGroup;
    map.places.push_back({0.5 + 0.5 * p.x / reach, 0.5 - 0.5 * p.y / reach});
    map.classes.push_back(i >= kMarked        ? "other"
                          : group == kNoGroup ? "marked"
                                              : "marked g" + std::to_string(group));
    if (group != kNoGroup) present[group] = true;
  }
  map.reference = std::min(reference_word(words), map.labels - 1);
  map.note = concat(
      "distance from the centre: the vector's norm in all dimensions; angle: that of the two first "
      "principal components, turned so that “",
      isolated(words.words[reference_word(words)]), "” points up; marked: the ",
      count(static_cast<double>(map.labels)), " ", words.chosen());
  map.description =
      "Words around the origin: the distance is the vector's norm, the angle that of the first two "
      "principal components.";
  map.behind = rings_svg(axis, reach);
  map.over = ring_labels(axis, reach);
  for (const double tick : axis.ticks)
    map.ring_labels.push_back({{0.5, 0.5 + 0.5 * tick / reach}, 28});
  name_groups(words, map);
  map.legend = "<ul class=\"legend\">";
  for (size_t g = 0; g < kWordGroups; ++g)
    if (present[g]) map.legend += legend_item("marked g" + std::to_string(g), word_group_name(g));
  map.legend +=
      legend_item("marked", words.counted ? "others of the most frequent" : "others of the first") +
      legend_item("other", words.counted ? "rarer words" : "later tokens") + "</ul>\n";
  return map;
}

std::string table_of(const WordVectors& words) {
  Table table{
      concat("The ", words.chosen()), {"Word", "Occurrences", "Norm", "Group"}, {}, true, -1};
  for (size_t i = 0; i < std::min(kMarked, words.words.size()); ++i) {
    const size_t group = word_group(words.words[i]);
    table.rows.push_back({isolated(words.words[i]),
                          words.counted ? count(static_cast<double>(words.counts[i])) : "unknown",
                          figure(words.norms[i]), group == kNoGroup ? "" : word_group_name(group)});
  }
  return folded(concat(table.caption, " as a table"), table_html(table));
}

}  // namespace

void write_word_page(const std::filesystem::path& directory, const std::string& title,
                     const WordPageSettings& settings, const std::filesystem::path& output) {
  const WordVectors words = read_word_vectors(directory, settings.words);
  require(words.words.size() >= 10, "[report] ", directory.string(), " has ", words.words.size(),
          " words besides the specials: too few for a picture");
  const std::string body =
      concat("<header>\n<p class=\"kicker\">Nine word vectors</p>\n<h1>", isolated(title),
             "</h1>\n<p class=\"lead\">The ", count(static_cast<double>(words.words.size())), " ",
             words.chosen(), ", ", words.vectors.view().cols(), " numbers each (", words.tensor,
             ")</p>\n</header>\n<section>\n", map_html(tsne_map(words, settings), words),
             "</section>\n<section>\n", map_html(polar_map(words, settings.seed), words),
             "</section>\n<section>\n", table_of(words), "</section>\n",
             "<footer>Written by Nine from ", words.origin(), ".</footer>\n");
  write_whole(output.string(), page_html(title + " – Nine word vectors", body));
}

}  // namespace nine::app
