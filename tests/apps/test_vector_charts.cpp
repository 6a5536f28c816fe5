// What a run says about a head's vectors: norms of contexts and words, angles to the targets; in
// the log and on the report page.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/report/report.h"
#include "apps/report/vector_charts.h"
#include "core/safetensors.h"
#include "nn/head_stats.h"
#include "nn/models/model_directory.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_vector_charts {
namespace {

using Strings = std::vector<std::string>;

Outcome train(const std::string& run, const std::string& updates, const Strings& more) {
  Strings arguments = tiny_lm_flags(run, updates);
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program("lm_train", arguments);
}

Json last_event(const std::string& run, const std::string& kind) {
  Json found;
  for (const Json& event : log_of(run))
    if (event["event"] == kind) found = event;
  return found;
}

// What the page's script gets of the chart with that title.
Json chart_data(const std::string& html, const std::string& title) {
  const size_t heading = html.find("<h3>" + title + "</h3>");
  REQUIRE(heading != std::string::npos);
  const std::string opening = "<script type=\"application/json\">";
  const size_t begin = html.find(opening, heading) + opening.size();
  return Json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

}  // namespace

TEST_CASE("vector charts: angles and norms by hand") {
  HeadStats stats;
  const Tensor words = Tensor::from(std::vector<double>{1, 0, 0, 2, -3, 0, 0, 0}, {4, 2}),
               hidden = Tensor::from(std::vector<double>{3, 4, 5, 0, 2, 2, 0, 1, 7, 7}, {5, 2}),
               targets = Tensor::from(std::vector<int32_t>{3, 2, 0, 1, -1}, {5});
  stats.count_angles(true);
  stats.add_angles(hidden, targets, words);
  // 90 degrees (a vector of length 0), 180, 45, 0; the last row has no target.
  std::vector<int64_t> expected(HeadStats::kBins);
  for (const int bin : {22, 44, 11, 0}) ++expected[static_cast<size_t>(bin)];
  CHECK(stats.angles() == expected);
  CHECK(stats.mean_norm() == 0);
  stats.add_norms(hidden, targets);
  stats.add_norms(hidden, targets);
  CHECK(stats.mean_norm() == doctest::Approx((5 + 5 + std::sqrt(8) + 1) / 4).epsilon(1e-14));
  stats.clear_norms();
  CHECK(stats.mean_norm() == 0);
}

TEST_CASE("vector charts: the line over log x") {
  std::vector<app::Point> points;
  for (const double x : {1.0, 2.0, 8.0, 100.0}) points.push_back({x, 3 + 0.5 * std::log(x)});
  points.push_back({0, 9});
  points.push_back({4, NAN});
  CHECK(app::fit_log_line(points).at_one == doctest::Approx(3).epsilon(1e-12));
  CHECK(app::fit_log_line(points).slope == doctest::Approx(0.5).epsilon(1e-12));
  // Residuals of a least-squares fit are orthogonal to 1 and to log x.
  points = {{1, 2}, {3, 7}, {10, 1}, {50, 4}};
  const app::LogLine fit = app::fit_log_line(points);
  double sum = 0, along = 0;
  for (const app::Point& p : points) {
    const double off = p.y - fit.at_one - fit.slope * std::log(p.x);
    sum += off;
    along += off * std::log(p.x);
  }
  CHECK(std::abs(sum) < 1e-12);
  CHECK(std::abs(along) < 1e-12);
  CHECK(app::fit_log_line({{5, 1}, {5, 3}}).at_one == doctest::Approx(2));
  CHECK(app::fit_log_line({}).slope == 0);
}

TEST_CASE("vector charts: a run's log and its page") {
  const TemporaryDirectory dir;
  const std::string run = dir / "run", parts = dir / "parts";
  const Strings norms{"--margin", "arc:0.1", "--word-norm", "log-rank", "--context-norm", "max"};
  const Outcome trained = train(run, "20u", norms);
  REQUIRE_MESSAGE(trained.code == 0, trained.err);
  const Safetensors weights =
      read_safetensors((model_directory(run) / "model.safetensors").string());
  const Json words = last_event(run, "word_norms"), angles = last_event(run, "target_angles"),
             valid = last_event(run, "valid"), last = last_event(run, "train");
  REQUIRE(words.is_object());
  REQUIRE(words["counts"].size() == words["norms"].size());
  REQUIRE(words["counts"].size() == words["given"].size());
  CHECK(words["counts"].size() > 20);

  // The first is the most frequent word, the others descend; the norms are those of the tensors.
  const std::vector<double> counts = weights.at("head.counts").to_vector(),
                            w = weights.at("head.weight").to_vector();
  const size_t first =
      static_cast<size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  double square = 0;
  for (size_t k = 0; k < 12; ++k) square += w[12 * first + k] * w[12 * first + k];
  CHECK(words["counts"][0] == counts[first]);
  CHECK(words["norms"][0].get<double>() == doctest::Approx(std::sqrt(square)).epsilon(1e-6));
  CHECK(words["given"][0].get<double>() == doctest::Approx(std::sqrt(square)).epsilon(1e-6));
  CHECK(words["given"].back() == 0);  // log-rank gives the last word 0
  CHECK(std::is_sorted(words["counts"].rbegin(), words["counts"].rend()));

  CHECK(angles["degrees"] == 4);
  double tokens = 0;
  for (const Json& n : angles["tokens"]) tokens += n.get<double>();
  CHECK(tokens == valid["tokens"]);
  // The mean is of no more than the largest, which is the buffer of evaluation.
  CHECK(last["context_norm"] > 0);
  CHECK(last["context_norm"] <= last["context_max"][0]);
  CHECK(last["context_max"][0] == weights.at("head.context_max").to_vector()[0]);

  // Going on within a line of the log gives the same numbers, and the ends' events once.
  REQUIRE(train(parts, "7u", norms).code == 0);
  REQUIRE(train(parts, "20u", norms).code == 0);
  CHECK(last_event(parts, "train")["context_norm"] == last["context_norm"]);
  int ends = 0;
  for (const Json& event : log_of(parts)) ends += event["event"] == "word_norms";
  CHECK(ends == 1);
  CHECK(last_event(parts, "word_norms")["norms"] == words["norms"]);

  app::write_report({run}, dir.path() / "one.html");
  const std::string page = slurp(dir.path() / "one.html");
  const Json scatter = chart_data(page, "Norms of word vectors");
  CHECK(scatter["x_name"] == "count");
  CHECK(scatter["x_log"] == true);
  REQUIRE(scatter["series"].size() == 3);  // norms, line, given norms
  CHECK(scatter["series"][0]["y"].size() == words["norms"].size());
  CHECK(scatter["series"][1]["x"].size() == 2);
  const Json histogram = chart_data(page, "Angle between target and context");
  double share = 0;
  for (const Json& y : histogram["series"][0]["y"]) share += y.get<double>();
  CHECK(share == doctest::Approx(100).epsilon(1e-4));
  CHECK(chart_data(page, "Norm of contexts")["series"].size() == 2);

  // Beside a plain model, which has none of it.
  REQUIRE(train(dir / "plain", "20u", {}).code == 0);
  CHECK(last_event(dir / "plain", "word_norms").is_null());
  CHECK_FALSE(last_event(dir / "plain", "train").contains("context_norm"));
  app::write_report({run, dir / "plain"}, dir.path() / "both.html");
  CHECK(chart_data(slurp(dir.path() / "both.html"), "Norms of word vectors")["series"].size() == 3);
  app::write_report({dir / "plain"}, dir.path() / "plain.html");
  CHECK_FALSE(has(slurp(dir.path() / "plain.html"), "Norms of word vectors"));
}

TEST_CASE("vector charts: translation and mixtures") {
  const TemporaryDirectory dir;
  const Outcome mixture =
      train(dir / "mix", "10u", {"--head", "mix:2*lin", "--context-norm", "max"});
  REQUIRE_MESSAGE(mixture.code == 0, mixture.err);
  CHECK(last_event(dir / "mix", "train")["context_max"].size() == 2);
  CHECK(last_event(dir / "mix", "target_angles").is_null());  // each component has its own
  CHECK_FALSE(last_event(dir / "mix", "word_norms").contains("given"));
  const Outcome translation = run_program("mt_train", {"--sample", "--sample-pairs",
                                                       "200",      "--hidden",
                                                       "16",       "--ffn",
                                                       "16",       "--heads",
                                                       "2",        "--encoder-layers",
                                                       "1",        "--decoder-layers",
                                                       "1",        "--after",
                                                       "4u",       "--batch-tokens",
                                                       "200",      "--valid-beam",
                                                       "0",        "--margin",
                                                       "cos:0.1",  "--run",
                                                       dir / "mt"});
  REQUIRE_MESSAGE(translation.code == 0, translation.err);
  const Json angles = last_event(dir / "mt", "target_angles");
  double tokens = 0;
  for (const Json& n : angles["tokens"]) tokens += n.get<double>();
  CHECK(tokens == last_event(dir / "mt", "valid")["tokens"]);
  CHECK(last_event(dir / "mt", "train")["context_norm"] > 0);
}

}  // namespace nine::tests::test_vector_charts
