#include "apps/report/angles.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "apps/report/pca.h"
#include "apps/report/tsne.h"
#include "core/error.h"
#include "core/quote.h"
#include "data/measures/significance.h"
#include "data/measures/word_angles.h"

namespace nine::app {
namespace {

constexpr size_t kMeasured = 100;  // words whose nearest neighbours and directions are measured
constexpr int64_t kComponents = 50;

// Where a word is in the list; the list's length where it is not.
size_t place_of(const WordVectors& words, const std::string& word) {
  return static_cast<size_t>(std::find(words.words.begin(), words.words.end(), word) -
                             words.words.begin());
}

std::vector<double> about_mean(const Tensor& vectors) {
  std::vector<double> v = vectors.to_vector();
  const auto width = static_cast<size_t>(vectors.view().cols()), n = v.size() / width;
  for (size_t d = 0; d < width; ++d) {
    double mean = 0;
    for (size_t i = 0; i < n; ++i) mean += v[i * width + d] / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) v[i * width + d] -= mean;
  }
  return v;
}

// Turns and scales places so that the reference lies at (1, 0) and `other` above.
std::vector<Place> turned(const std::vector<double>& y, size_t reference, size_t other) {
  const double x0 = y[2 * reference], y0 = y[2 * reference + 1], square = x0 * x0 + y0 * y0;
  require(square > 0,
          "[angles] the reference word lies in the middle of the picture, and has no "
          "direction: change --perplexity");
  std::vector<Place> places;
  // Division by the complex number x0 + i y0.
  for (size_t i = 0; i < y.size(); i += 2)
    places.push_back({(y[i] * x0 + y[i + 1] * y0) / square, (y[i + 1] * x0 - y[i] * y0) / square});
  if (places[other].y < 0)
    for (Place& p : places) p.y = -p.y;
  return places;
}

// The difference of two pairs' angles, |angle(she, herself) - angle(he, himself)|, in `vectors`;
// nothing where one of the words is missing.
void add_pronouns(const WordVectors& words, std::span<const double> vectors, size_t width,
                  const std::string& name, std::map<std::string, double>& measures) {
  std::vector<std::span<const double>> v;
  for (const char* word : {"she", "herself", "he", "himself"}) {
    const size_t i = place_of(words, word);
    if (i == words.words.size()) return;
    v.push_back(vectors.subspan(i * width, width));
  }
  measures[name] = std::fabs(angle_between(v[0], v[1]) - angle_between(v[2], v[3]));
}

// The cosines of two models' words, those of `a` that `b` has too.
AngleStudy::Pair compare(const std::vector<ModelAngles>& models, size_t a, size_t b,
                         const AngleSettings& settings) {
  AngleStudy::Pair pair{.a = a, .b = b};
  const std::vector<double> all_a = about_mean(models[a].words.vectors),
                            all_b = about_mean(models[b].words.vectors);
  const auto width_a = static_cast<size_t>(models[a].words.vectors.view().cols()),
             width_b = static_cast<size_t>(models[b].words.vectors.view().cols());
  std::vector<double> rows_a, rows_b;
  const auto append = [](std::vector<double>& rows, const std::vector<double>& all, size_t i,
                         size_t width) {
    rows.insert(rows.end(), all.begin() + static_cast<std::ptrdiff_t>(i * width),
                all.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
  };
  for (size_t i = 0; i < models[a].words.words.size(); ++i) {
    const size_t j = place_of(models[b].words, models[a].words.words[i]);
    if (j == models[b].words.words.size()) continue;
    append(rows_a, all_a, i, width_a);
    append(rows_b, all_b, j, width_b);
    ++pair.words;
  }
  require(pair.words >= 3, "[angles] ", models[a].model, " and ", models[b].model, " have ",
          pair.words, " of these words in common: three or more are needed");
  const MantelTest test =
      mantel_test(cosine_matrix(rows_a, width_a), cosine_matrix(rows_b, width_b),
                  settings.permutations, settings.seed);
  pair.correlation = test.correlation;
  pair.p = test.p;
  return pair;
}

}  // namespace

AngleGroup AngleGroup::parse(const std::string& text) {
  const size_t equals = text.find('=');
  AngleGroup group{text.substr(0, equals), {}};
  if (equals != std::string::npos)
    for (size_t at = equals + 1; at <= text.size();) {
      const size_t comma = std::min(text.find(',', at), text.size());
      group.words.push_back(text.substr(at, comma - at));
      at = comma + 1;
    }
  if (group.name.empty() || group.words.empty() ||
      std::find(group.words.begin(), group.words.end(), "") != group.words.end())
    throw UsageError(concat(quote(text), " is not a group of words, such as royal=king,queen"));
  return group;
}

ModelAngles measure_angles(const std::filesystem::path& directory, const std::string& model,
                           const AngleSettings& settings) {
  ModelAngles m{.model = model, .words = read_word_vectors(directory, settings.words)};
  const WordVectors& words = m.words;
  const size_t n = words.words.size(), top = std::min(kMeasured, n);
  require(n >= 10, "[angles] ", directory.string(), " has ", n,
          " words besides the specials: too few to measure");
  const View all = words.vectors.view();
  const PrincipalComponents pca = principal_components(
      all, std::min({kComponents, all.rows(), all.cols()}), true, settings.seed);
  m.perplexity = std::min(settings.perplexity, std::floor(static_cast<double>(n) / 3));
  const size_t reference = reference_word(words);
  m.places =
      turned(tsne(pca.scores, {.perplexity = m.perplexity, .iterations = settings.iterations},
                  settings.seed),
             reference, reference == 0 ? 1 : 0);
  std::vector<double> plane, directions;
  for (const Place& p : m.places) plane.insert(plane.end(), {p.x, p.y});
  for (size_t i = 0; i < top; ++i)
    directions.push_back(std::atan2(m.places[i].y, m.places[i].x) * 180 / std::numbers::pi);
  const std::vector<double> full = about_mean(words.vectors);
  const auto width = static_cast<size_t>(all.cols());
  m.measures["nearest angle, full space"] =
      mean_nearest_angle(std::span(full).first(top * width), width);
  m.measures["nearest angle, plane"] = mean_nearest_angle(std::span(plane).first(2 * top), 2);
  m.measures["circular variance, plane"] = circular_variance(directions);
  m.measures["largest gap, plane"] = largest_gap(directions);
  add_pronouns(words, full, width, "pronouns, full space", m.measures);
  add_pronouns(words, plane, 2, "pronouns, plane", m.measures);
  return m;
}

AngleStudy study_angles(std::vector<ModelAngles> models, const AngleSettings& settings) {
  AngleStudy study{.models = std::move(models)};
  std::map<std::string, std::vector<double>> values;
  for (const ModelAngles& m : study.models)
    for (const auto& [name, value] : m.measures) values[name].push_back(value);
  for (const auto& [name, all] : values) {
    if (all.size() < 2) continue;
    const auto n = static_cast<double>(all.size());
    double mean = 0, squares = 0;
    for (const double v : all) mean += v / n;
    for (const double v : all) squares += (v - mean) * (v - mean);
    const double half =
        student_quantile(0.975, n - 1) * std::sqrt(squares / (n - 1)) / std::sqrt(n);
    study.statistics[name] = {mean, mean - half, mean + half, std::ssize(all)};
  }
  for (size_t a = 0; a < study.models.size(); ++a)
    for (size_t b = a + 1; b < study.models.size(); ++b)
      study.pairs.push_back(compare(study.models, a, b, settings));
  return study;
}

Json angles_json(const AngleStudy& study, const AngleSettings& settings) {
  Json j = {{"words", settings.words},
            {"perplexity", settings.perplexity},
            {"iterations", settings.iterations},
            {"seed", settings.seed}};
  Json models = Json::array(), statistics = Json::object(), pairs = Json::array();
  for (const ModelAngles& m : study.models)
    models.push_back({{"model", m.model},
                      {"words", m.words.words.size()},
                      {"perplexity", m.perplexity},
                      {"measures", m.measures}});
  for (const auto& [name, s] : study.statistics)
    statistics[name] = {{"mean", s.mean}, {"interval", {s.low, s.high}}, {"models", s.models}};
  for (const AngleStudy::Pair& p : study.pairs)
    pairs.push_back({{"a", study.models[p.a].model},
                     {"b", study.models[p.b].model},
                     {"words", p.words},
                     {"spearman", p.correlation},
                     {"p", p.p}});
  j["models"] = std::move(models);
  j["over_models"] = std::move(statistics);
  j["pairs"] = std::move(pairs);
  j["test"] = {{"name", "Mantel, one-sided"},
               {"permutations", settings.permutations},
               {"count", study.pairs.size()},
               {"correction", "none"}};
  return j;
}

}  // namespace nine::app
