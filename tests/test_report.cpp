// The report page: what it shows, what it survives, and that it is one well-formed file that
// fetches nothing.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "apps/report/downsample.h"
#include "apps/report/figures.h"
#include "apps/report/report.h"
#include "apps/report/run_log.h"
#include "apps/svg/scale.h"
#include "apps/svg/text.h"
#include "core/error.h"
#include "core/json.h"
#include "tests/programs.h"
#include "tests/support.h"

using nine::tests::has;

namespace {

namespace fs = std::filesystem;
using nine::Json;
// A directory of its own for each test case, gone at its end.
struct TempDir : nine::tests::TemporaryDirectory {
  fs::path run(const std::string& name, const std::string& log,
               const std::string& config = R"({"head": "lin", "hidden": 64})") const {
    fs::create_directories(path() / name);
    nine::tests::put(path() / name / "log.jsonl", log);
    if (!config.empty()) nine::tests::put(path() / name / "config.json", config);
    return path() / name;
  }
};

std::string page_of(const TempDir& dir, const std::vector<fs::path>& runs) {
  nine::app::write_report(runs, dir.path() / "page.html");
  return nine::tests::slurp(dir.path() / "page.html");
}

std::string train(int step, double ppl) {
  return Json{{"event", "train"},
              {"step", step},
              {"epoch", 1},
              {"time_s", step * 0.5},
              {"loss", std::log(ppl)},
              {"nll", std::log(ppl)},
              {"ppl", ppl},
              {"lr", 1e-3},
              {"grad_norm", 0.5},
              {"tokens_per_s", 1000 + step},
              {"ms_per_step", 500},
              {"peak_mib", 64}}
             .dump() +
         "\n";
}

std::string valid(int step, double ppl, const char* event = "valid") {
  return Json{{"event", event},        {"step", step},         {"epoch", 1}, {"time_s", step * 0.5},
              {"loss", std::log(ppl)}, {"nll", std::log(ppl)}, {"ppl", ppl}, {"tokens", 99}}
             .dump() +
         "\n";
}

const std::string kStart =
    R"({"event":"start","step":0,"epoch":0,"time_s":0.1,"parameters":123456,"vocab":100,"entropy_floor_ppl":21.5})"
    "\n";

int times(const std::string& text, const std::string& part) {
  int n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++n;
  return n;
}

// The first thing wrong with the nesting of tags, quotes and ids; empty when the page is fine.
std::string first_flaw(const std::string& html) {
  std::vector<std::string> open;
  std::set<std::string> ids;
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at)) {
    const size_t end = html.find('>', at);
    if (end == std::string::npos) return "a tag without end";
    const std::string tag = html.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.starts_with('!')) continue;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1))
        return "</" + tag.substr(1) + "> closes " + (open.empty() ? "nothing" : open.back());
      open.pop_back();
      continue;
    }
    const std::string name = tag.substr(0, tag.find_first_of(" /\n"));
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0 || has(tag, "<"))
      return "unbalanced: <" + tag + ">";
    if (const size_t id = tag.find(" id=\""); id != std::string::npos)
      if (!ids.insert(tag.substr(id + 5, tag.find('"', id + 5) - id - 5)).second)
        return "an id twice: <" + tag + ">";
    if (tag.ends_with('/') || name == "meta" || name == "br") continue;
    open.push_back(name);
    if (name == "script" || name == "style") {  // raw text: no tags inside
      at = html.find("</" + name, at);
      if (at == std::string::npos) return name + " without end";
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

// Nothing that a browser would load from elsewhere.
void check_self_contained(const std::string& html) {
  for (const char* part :
       {"http://", "https://", "<link", " src=", "url(", "@import", "<img", "<iframe", "fetch("}) {
    CAPTURE(part);
    CHECK_FALSE(has(html, part));
  }
}

void check_page(const std::string& html) {
  CHECK(first_flaw(html) == "");
  check_self_contained(html);
  for (const char* wrong : {"nan", "inf\"", ">-nan<", ">inf<", ">nan<"})
    CHECK_FALSE(has(
        html.substr(html.find("<body>"), html.find("'use strict'") - html.find("<body>")), wrong));
}

// The data of the chart with this title, as the page's script gets it.
Json chart_data(const std::string& html, const std::string& title) {
  const size_t heading = html.find("<h3>" + title + "</h3>");
  REQUIRE(heading != std::string::npos);
  const std::string opening = "<script type=\"application/json\">";
  const size_t begin = html.find(opening, heading) + opening.size();
  return Json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

const Json& series(const Json& chart, const std::string& name) {
  for (const Json& s : chart["series"])
    if (s["name"] == name) return s;
  FAIL("no curve is called " << name);
  return chart;
}

double largest(const Json& numbers) {
  double best = -INFINITY;
  for (const Json& n : numbers)
    if (!n.is_null()) best = std::max(best, n.get<double>());
  return best;
}

}  // namespace

TEST_CASE("report: a run's figures and curves") {
  const TempDir dir;
  std::string log = kStart;
  for (int step = 10; step <= 400; step += 10) {
    log += train(step, 20 + 8000.0 / step);
    if (step % 100 == 0) log += valid(step, 22 + 6000.0 / step);
  }
  log +=
      valid(400, 37.5, "test") +
      R"({"event":"done","step":400,"epoch":1,"time_s":7530,"best_valid_ppl":37,"best_step":400,"test_ppl":37.5,"why":"a < b"})" +
      "\n";
  const std::string html = page_of(dir, {dir.run("base", log)});
  check_page(html);
  for (const char* part :
       {"<h1>base</h1>", ">37.00<", ">37.50<", "best, at step 400", "1.721× the floor of 21.50",
        ">123.5k<", "2 h 5 min", "finished", "a &lt; b", "entropy floor 21.50",
        "prefers-color-scheme: dark", "name=\"viewport\"", "role=\"img\"", "<caption>",
        "scope=\"col\"", "scope=\"row\""}) {
    CAPTURE(part);
    CHECK(has(html, part));
  }
  const Json chart = chart_data(html, "Perplexity");
  CHECK(chart["log"] == true);
  CHECK(series(chart, "Training")["y"].size() == 40);
  CHECK(largest(series(chart, "Training")["y"]) == doctest::Approx(820));
  CHECK(series(chart, "Validation")["y"].back() == doctest::Approx(37));
  CHECK(has(html,
            "Training: from 820.0 at step 10 to 40.00 at step 400; lowest 40.00 at step 400, "
            "highest 820.0 at step 10."));
  for (const char* title : {"Learning rate", "Gradient norm", "Speed"})
    CHECK(chart_data(html, title)["series"].size() == 1);
  CHECK_FALSE(has(html, "<h3>Loss</h3>"));  // no objective of its own, no mixture, no BLEU
  CHECK_FALSE(has(html, "<h3>BLEU</h3>"));
}

TEST_CASE("report: sample translations of the last validation, with attention, escaped") {
  const TempDir dir;
  const auto sample = [](int step, int line, const std::string& hyp) {
    return Json{{"event", "translation"},
                {"step", step},
                {"line", line},
                {"src", "ein <b>hund</b>"},
                {"ref", "a dog"},
                {"hyp", hyp},
                {"src_tokens", {"ein", "<b>hund</b>"}},
                {"hyp_tokens", {"a", "cat"}},
                {"attention", {{900, 50, 50}, {120, 730, 150}}}}
               .dump() +
           "\n";
  };
  const std::string log = kStart + train(10, 50) + valid(10, 60) + sample(10, 3, "an early try") +
                          train(20, 40) + valid(20, 50) + sample(20, 3, "a late try") +
                          sample(20, 7, "another line");
  const std::string html = page_of(dir, {dir.run("a", log)});
  check_page(html);
  CHECK(has(html, "a late try"));
  CHECK(has(html, "another line"));
  CHECK_FALSE(has(html, "an early try"));
  CHECK(has(html, "at step 20"));
  CHECK(has(html, "ein &lt;b&gt;hund&lt;/b&gt;"));
  CHECK(times(html, "table class=\"attention\"") == 2);
  CHECK(times(html, "--a:73%") == 2);
  CHECK(times(html, "&lt;/s&gt;") == 2);

  SUBCASE("attention that does not fit its words is left out") {
    const Json broken{{"event", "translation"},
                      {"step", 20},
                      {"line", 9},
                      {"src", "x"},
                      {"hyp", "y z"},
                      {"src_tokens", {"x"}},
                      {"hyp_tokens", {"y"}},
                      {"attention", {{1}}}};
    const std::string page = page_of(dir, {dir.run("b", log + broken.dump() + "\n")});
    check_page(page);
    CHECK(has(page, "y z"));
    CHECK(times(page, "table class=\"attention\"") == 2);
  }
  SUBCASE("several runs: a sentence once, a translation each") {
    const std::string other = kStart + valid(30, 40) + sample(30, 7, "what the other says");
    const std::string page = page_of(dir, {dir.run("a", log), dir.run("c", other)});
    check_page(page);
    CHECK(has(page, "what the other says"));
    CHECK(times(page, "<dt>Source</dt>") == 2);
    CHECK(times(page, "<dt>Reference</dt>") == 2);
  }
}

TEST_CASE("report: a Transformer language model's attention, of the last validation, escaped") {
  const TempDir dir;
  const auto sample = [](int step, const std::string& word, const Json& rows) {
    return Json{{"event", "attention"},
                {"step", step},
                {"line", 3},
                {"read", {"</s>", word}},
                {"predicted", {word, "</s>"}},
                {"attention", rows}}
               .dump() +
           "\n";
  };
  const Json rows{{1000, 0}, {270, 730}};
  const std::string log = kStart + train(10, 50) + valid(10, 60) + sample(10, "early", rows) +
                          train(20, 40) + valid(20, 50) + sample(20, "<b>late</b>", rows) +
                          sample(20, "misshapen", Json{{1000}});
  const std::string html = page_of(dir, {dir.run("a", log)});
  check_page(html);
  CHECK(has(html, "<h2>Attention"));
  CHECK(times(html, "table class=\"attention\"") == 1);
  CHECK(has(html, "<summary>&lt;b&gt;late&lt;/b&gt;</summary>"));
  CHECK(times(html, "--a:73%") == 1);
  CHECK_FALSE(has(html, "early"));
  CHECK_FALSE(has(html, "misshapen"));
  CHECK_FALSE(has(page_of(dir, {dir.run("a", log), dir.run("b", log)}), "<h2>Attention"));
}

TEST_CASE("report: settings of the network that a run does not have are left out") {
  const TempDir dir;
  const auto page = [&](const char* name, const char* arch) {
    const Json config{{"arch", arch}, {"embed", 512},         {"ffn", 2048},
                      {"heads", 8},   {"activation", "gelu"}, {"positions", "learned"}};
    return page_of(dir, {dir.run(name, kStart + train(1, 5), config.dump())});
  };
  const std::string lstm = page("l", "lstm"), transformer = page("t", "transformer");
  CHECK(has(lstm, "<dt>embedding</dt>"));
  CHECK_FALSE(has(lstm, "<dt>attention heads</dt>"));
  CHECK(has(transformer, "<dt>attention heads</dt>"));
  CHECK_FALSE(has(transformer, "<dt>embedding</dt>"));
}

TEST_CASE("report: what comes from files is escaped") {
  const TempDir dir;
  const std::string evil = "</script><script>alert(1)</script>\\u0000 \" onload='x";
  const Json config{{"head", "<script>alert('config')</script>"}, {"<b>key</b>", "\"><img>"}};
  const std::string log = kStart + train(1, 5) + valid(1, 6) +
                          Json{{"event", "done"}, {"step", 1}, {"<i>", "<script>"}}.dump() + "\n";
  const auto a = dir.run("<script>run & \"co\"", log, config.dump());
  const auto b = dir.run("b", log);
  for (const auto& html : {page_of(dir, {a}), page_of(dir, {a, b})}) {
    check_page(html);
    CHECK_FALSE(has(html, "<script>alert"));
    CHECK_FALSE(has(html, "<b>key"));
    CHECK_FALSE(has(html, "<script>run"));
    CHECK(has(html, "&lt;script&gt;run &amp; &quot;co&quot;"));
    CHECK(has(html, "&lt;script&gt;alert(&#39;config&#39;)&lt;/script&gt;"));
  }
  CHECK(
      series(chart_data(page_of(dir, {a, b}), "Validation perplexity"), "<script>run & \"co\"")["y"]
          .size() == 1);
  CHECK(Json::parse(nine::app::json_string(evil)) == evil);
  CHECK_FALSE(has(nine::app::json_string(evil), "<"));
  CHECK(nine::app::escaped("a\xC3\xA9\xFFz\xC0\xAF\x01") ==
        "a\xC3\xA9\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("report: downsampling keeps spikes, ends, gaps and the order") {
  using nine::app::Point;
  std::vector<Point> points;
  for (int i = 0; i < 100000; ++i) points.push_back({static_cast<double>(i), std::sin(i * 0.001)});
  points[31337].y = 50;
  points[77777].y = -50;
  auto sampled = nine::app::downsampled(points);
  const auto check_order = [&] {
    CHECK(sampled.size() <= nine::app::kCurvePoints);
    CHECK(sampled.size() > nine::app::kCurvePoints / 3);
    CHECK(std::is_sorted(sampled.begin(), sampled.end(),
                         [](const Point& a, const Point& b) { return a.x < b.x; }));
    CHECK(sampled.front().x == 0);
    CHECK(sampled.back().x == 99999);
    CHECK(std::any_of(sampled.begin(), sampled.end(),
                      [](const Point& p) { return p.x == 31337 && p.y == 50; }));
    CHECK(std::any_of(sampled.begin(), sampled.end(),
                      [](const Point& p) { return p.x == 77777 && p.y == -50; }));
  };
  check_order();
  points[50000].y = NAN;
  sampled = nine::app::downsampled(points);
  check_order();
  CHECK(
      std::any_of(sampled.begin(), sampled.end(), [](const Point& p) { return std::isnan(p.y); }));
  points.resize(nine::app::kCurvePoints);
  CHECK(nine::app::downsampled(points).size() == points.size());

  const TempDir dir;
  std::string log = kStart;
  for (int step = 1; step <= 5000; ++step) log += train(step, step == 3210 ? 4321 : 60);
  const Json curve =
      series(chart_data(page_of(dir, {dir.run("long", log)}), "Perplexity"), "Training");
  CHECK(curve["y"].size() <= nine::app::kCurvePoints);
  CHECK(largest(curve["y"]) == doctest::Approx(4321));
}

TEST_CASE("report: unfinished and damaged logs") {
  const TempDir dir;
  SUBCASE("a cut last line") {
    const std::string html = page_of(dir, {dir.run("cut", kStart + train(10, 50) + train(20, 40) +
                                                              train(30, 30).substr(0, 40))});
    check_page(html);
    CHECK(series(chart_data(html, "Perplexity"), "Training")["x"] == Json({10, 20}));
    CHECK_FALSE(has(html, "could not be read"));
    CHECK(has(html, "not finished"));
  }
  SUBCASE("unreadable lines in between, unknown events and fields") {
    const std::string html = page_of(
        dir, {dir.run("odd", kStart + train(10, 50) +
                                 "{broken\n[1,2]\n\n{\"event\":\"novel\",\"step\":12,\"x\":{}}\n" +
                                 train(20, 40))});
    check_page(html);
    CHECK(series(chart_data(html, "Perplexity"), "Training")["x"] == Json({10, 20}));
    CHECK(has(html, "2 lines of log.jsonl could not be read and were left out."));
  }
  SUBCASE("only a start") {
    const std::string html = page_of(dir, {dir.run("started", kStart)});
    check_page(html);
    CHECK(has(html, "There are no curves yet"));
    CHECK(has(html, ">21.50<"));
  }
  SUBCASE("an empty log, no configuration") {
    const std::string html = page_of(dir, {dir.run("empty", "", "")});
    check_page(html);
    CHECK(has(html, "There is no config.json."));
  }
  SUBCASE("a broken configuration") {
    const std::string html =
        page_of(dir, {dir.run("broken", kStart + train(1, 5), "{\"head\": <script>")});
    check_page(html);
    CHECK(has(html, "config.json is not a JSON object"));
    CHECK(has(html, "&lt;script&gt;"));
  }
  SUBCASE("values that are not finite leave a gap") {
    std::string log = kStart + train(10, 50);
    log += R"({"event":"train","step":20,"loss":null,"nll":"NaN","ppl":null})"
           "\n"
           R"({"event":"train","step":30,"loss":"-Infinity"})"
           "\n";
    const std::string html = page_of(dir, {dir.run("diverged", log + train(40, 60))});
    check_page(html);
    CHECK(series(chart_data(html, "Perplexity"), "Training")["y"] == Json({50, nullptr, 60}));
    CHECK(has(html, "not finite in 2 entries of the log, first at step 20"));
    CHECK(times(html.substr(html.find("<path class=\"line c0\"")), "h0") >=
          2);  // lone points are dots
  }
  SUBCASE("all values not finite, huge or equal") {
    std::string log =
        kStart +
        R"({"event":"train","step":1,"nll":1e300,"lr":0,"grad_norm":1e300,"tokens_per_s":1e-300})"
        "\n";
    log += R"({"event":"train","step":2,"nll":700,"lr":0,"grad_norm":1e-300,"tokens_per_s":1e-300})"
           "\n";
    check_page(page_of(dir, {dir.run("huge", log)}));
    check_page(page_of(dir, {dir.run("null", kStart + R"({"event":"train","step":1,"nll":null})"
                                                      "\n")}));
    check_page(page_of(dir, {dir.run("equal", kStart + train(5, 5) + train(5, 5) + valid(5, 5))}));
  }
  SUBCASE("missing fields: perplexity from nll, loss when there is neither") {
    const std::string from_nll =
        page_of(dir, {dir.run("nll", R"({"event":"train","step":3,"nll":2})"
                                     "\n")});
    CHECK(series(chart_data(from_nll, "Perplexity"), "Training")["y"][0].get<double>() ==
          doctest::Approx(std::exp(2.0)));
    const std::string loss_only = page_of(
        dir,
        {dir.run(
            "loss",
            "{\"event\":\"train\",\"loss\":2}\n{\"event\":\"train\",\"step\":2,\"loss\":1}\n")});
    check_page(loss_only);
    CHECK(series(chart_data(loss_only, "Loss"), "Training")["y"] == Json({2, 1}));
  }
  SUBCASE("a resume takes back what came after its step") {
    const std::string log = kStart + train(10, 50) + train(20, 40) + valid(20, 41) +
                            R"({"event":"resume","step":10})"
                            "\n" +
                            train(20, 39) + train(30, 38);
    const nine::app::Run run = nine::app::read_run(dir.run("resumed", log));
    REQUIRE(run.train.size() == 3);
    CHECK(run.train[1][nine::app::Field::ppl] == doctest::Approx(39));
    CHECK(run.valid.empty());
    CHECK(run.last_step == 30);
    CHECK(has(page_of(dir, {dir.path() / "resumed"}), "resumed once"));
  }
}

TEST_CASE("report: the page holds the style sheet and the script as they are in their files") {
  const TempDir dir;
  const std::string html = page_of(dir, {dir.run("run", kStart + train(10, 50))});
  const std::string folder = NINE_SOURCE_DIR "/apps/report/";
  CHECK(has(html, "<style>\n\n" + nine::tests::slurp(folder + "report.css") + "</style>"));
  CHECK(has(html, "<script>\n\n" + nine::tests::slurp(folder + "report.js") + "</script>"));
}

TEST_CASE("report: curves have the colours of kernel_inspect's figures") {
  const std::string page = nine::tests::slurp(NINE_SOURCE_DIR "/apps/report/report.css"),
                    figure = nine::tests::slurp(NINE_SOURCE_DIR "/apps/inspect/figure.css");
  const auto first_six = [](const std::string& css, size_t from) {
    const size_t begin = css.find("--c0:", from), end = css.find(';', css.find("--c5:", begin));
    REQUIRE(end != std::string::npos);
    return css.substr(begin, end - begin);
  };
  CHECK(first_six(page, 0) == first_six(figure, 0));
  const char* const dark = "prefers-color-scheme: dark";
  CHECK(first_six(page, page.find(dark)) == first_six(figure, figure.find(dark)));
}

TEST_CASE("report: several runs") {
  const TempDir dir;
  const auto log = [](double scale) {
    std::string text = kStart;
    for (int step = 10; step <= 100; step += 10)
      text +=
          train(step, scale * 900 / step) + (step % 50 == 0 ? valid(step, scale * 950 / step) : "");
    return text;
  };
  std::vector<fs::path> runs{
      dir.run("a/base", log(1), R"({"head":"lin","hidden":64,"model":{"layers":1}})"),
      dir.run("b/base", log(2), R"({"head":"mix:2*lin","hidden":64})"), dir.run("late", kStart)};
  const std::string html = page_of(dir, runs);
  check_page(html);
  CHECK(has(html, "<h1>3 runs compared</h1>"));
  const Json chart = chart_data(html, "Validation perplexity");
  CHECK(chart["series"].size() == 2);
  CHECK(series(chart, "a/base")["y"].back() == doctest::Approx(9.5));
  CHECK(largest(series(chart, "b/base")["y"]) == doctest::Approx(38));
  CHECK(series(chart, "a/base")["class"] != series(chart, "b/base")["class"]);
  CHECK(times(html, "<ul class=\"legend\">") >= 4);
  CHECK(has(html, "Settings that differ"));
  CHECK(has(html, "model.layers"));
  CHECK(has(html, "mix:2*lin"));
  CHECK_FALSE(has(html, "<th scope=\"row\">hidden</th><td>64</td><td>64</td><td>64</td>"));
  CHECK(times(html, "<tr class=\"marked\">") >= 1);
  CHECK(times(html, "entropy floor 21.50") ==
        2);  // one line a chart (validation, training), not one a run

  CHECK(has(html, "chart large ended"));
  const std::string long_name(23, 'x');  // would be cut at the lines' ends
  CHECK_FALSE(has(page_of(dir, {runs[0], dir.run(long_name, log(3))}), "chart large ended"));

  CHECK(has(page_of(dir, {dir.run("texts", log(1), R"({"train":["a.txt","b.txt"]})")}),
            "<dd>a.txt, b.txt</dd>"));

  // The same run twice, and more runs than colours.
  runs.assign(9, runs[0]);
  const std::string nine_runs = page_of(dir, runs);
  check_page(nine_runs);
  CHECK(has(nine_runs, "a/base (9)"));
  CHECK(has(nine_runs, "dash1"));
}

TEST_CASE("report: mixtures, translation and an objective of its own") {
  const TempDir dir;
  std::string log = kStart;
  for (int step = 10; step <= 30; step += 10)
    log += Json{{"event", "valid"},
                {"step", step},
                {"loss", 2.5},
                {"nll", 2.0},
                {"bleu", step + 0.5},
                {"pi_mean", {0.7, 0.2, 0.1}},
                {"pi_var", {0, 0.01, 0.02}}}
               .dump() +
           "\n";
  const std::string html = page_of(dir, {dir.run("mt", log)});
  check_page(html);
  CHECK(series(chart_data(html, "Mixture weights"), "π1")["y"] == Json({0.7, 0.7, 0.7}));
  CHECK(series(chart_data(html, "Mixture weights, variance"), "π3")["y"] ==
        Json({0.02, 0.02, 0.02}));
  CHECK(largest(chart_data(html, "BLEU")["series"][0]["y"]) == doctest::Approx(30.5));
  CHECK(series(chart_data(html, "Loss"), "Validation")["y"][0] == doctest::Approx(2.5));
  CHECK(has(html, "Best BLEU"));
  // A component is called after its kernel, where the head has as many as the log.
  const std::string named = page_of(dir, {dir.run("n", log, R"({"head":"mix:lin,log:p=1,rbf"})")});
  CHECK(series(chart_data(named, "Mixture weights"), "π3 rbf")["y"] == Json({0.1, 0.1, 0.1}));
  CHECK(series(chart_data(named, "Mixture weights"), "π2 log")["y"] == Json({0.2, 0.2, 0.2}));
}

TEST_CASE("report: errors name the way out and leave nothing behind") {
  const TempDir dir;
  const auto page = dir.path() / "page.html";
  const auto message = [&](const std::vector<fs::path>& runs, const fs::path& output) {
    try {
      nine::app::write_report(runs, output);
    } catch (const nine::Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(has(message({}, page), "name at least one run directory"));
  CHECK(has(message({dir.path() / "absent"}, page), "is not a directory"));
  CHECK(has(message({dir.path()}, page), "the one that holds log.jsonl"));
  const auto run = dir.run("run", kStart);
  CHECK(has(message({run}, dir.path() / "no" / "such" / "page.html"), "cannot write"));
  CHECK(has(message({run}, run), "cannot write"));  // a directory stands there
  CHECK_FALSE(fs::exists(page));
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(dir.path()))
    files += entry.is_regular_file();
  CHECK(files == 2);  // the run's own
}

TEST_CASE("report: formatted numbers") {
  using namespace nine::app;
  CHECK(figure(61.2345) == "61.23");
  CHECK(figure(5123.4) == "5,123");
  CHECK(figure(0.001) == "0.001");
  CHECK(figure(-0.5) == "-0.5");
  CHECK(figure(1.2e-7) == "1.2e-7");
  CHECK(figure(kAbsent) == "–");
  CHECK(count(1234567) == "1,234,567");
  CHECK(count(999) == "999");
  CHECK(count(-1234) == "-1,234");
  CHECK(compact(12000) == "12k");
  CHECK(compact(1.5e6) == "1.5M");
  CHECK(compact(0.0002) == "0.0002");
  CHECK(compact(1e-5) == "1e-5");
  CHECK(duration(8.25) == "8.2 s");
  CHECK(duration(192) == "3 min 12 s");
  CHECK(duration(8040) == "2 h 14 min");
  CHECK(duration(200000) == "2 d 7 h");
}

TEST_CASE("report: axes have a few round ticks inside") {
  using nine::app::value_axis;
  for (const auto& range : std::vector<std::pair<double, double>>{{61, 9000},
                                                                  {0.2, 4.8},
                                                                  {3, 3},
                                                                  {0, 0},
                                                                  {-5, 12},
                                                                  {1e-300, 1e300},
                                                                  {99.9, 100},
                                                                  {1e-9, 3e-9}}) {
    const double low = range.first, high = range.second;
    for (const bool from_zero : {false, true}) {
      const auto axis = value_axis(low, high, from_zero);
      CAPTURE(low);
      CAPTURE(high);
      CHECK(axis.scale.low <= low);
      CHECK(axis.scale.high >= high);
      CHECK(axis.ticks.size() >= 2);
      CHECK(axis.ticks.size() <= 12);
      for (const double tick : axis.ticks)
        CHECK((axis.scale.at(tick) >= -0.01 && axis.scale.at(tick) <= 1.01));
    }
  }
}
