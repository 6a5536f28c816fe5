// What the report reads: logs that are long, unfinished or damaged.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "apps/report/downsample.h"
#include "apps/report/figures.h"
#include "apps/report/report.h"
#include "apps/report/run_log.h"
#include "core/error.h"
#include "tests/apps/report_pages.h"

namespace nine::tests::test_report_logs {

namespace fs = std::filesystem;
using nine::Json;

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
  SUBCASE("a log that ends at its test, made with the best model of an earlier step") {
    const std::string html =
        page_of(dir, {dir.run("tested", kStart + train(10, 50) + valid(10, 9) + train(20, 40) +
                                            valid(20, 12) + valid(10, 11, "test"))});
    check_page(html);
    CHECK(has(html, ">finished<"));
    CHECK_FALSE(has(html, "not finished"));
    CHECK(has(html, "<dt>Steps</dt><dd><b>20</b>"));
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
    CHECK(has(html, "log.jsonl is empty"));
  }
  SUBCASE("a log without an event: an array, on one line or several, other text, cut text") {
    for (const std::string log : {R"([{"event":"train","step":1,"nll":2}])", "[\n{}\n]\n"})
      CHECK(has(page_of(dir, {dir.run("array", log)}), "log.jsonl is a JSON array"));
    for (const std::string log : {"step 1 loss 2\n", "step 1 loss 2", "{\"loss\":2}\n"})
      CHECK(has(page_of(dir, {dir.run("other", log)}), "log.jsonl has no line with an event"));
    CHECK(has(page_of(dir, {dir.run("end", kStart + train(1, 5) + "Killed")}),
              "1 line of log.jsonl could not be read"));
    CHECK_FALSE(
        has(page_of(dir, {dir.run("fine", kStart + train(1, 5) + "{\"ev")}), "could not be read"));
  }
  SUBCASE("a broken configuration") {
    const std::string html =
        page_of(dir, {dir.run("broken", kStart + train(1, 5), "{\"head\": <script>")});
    check_page(html);
    CHECK(has(html, "config.json is not a JSON object"));
    CHECK(has(html, "&lt;script&gt;"));
  }
  SUBCASE("a configuration that is nested too deeply") {
    std::string deep;
    for (int i = 0; i < 20'000; ++i) deep += R"({"a":)";
    deep += '1' + std::string(20'000, '}');
    CHECK(has(page_of(dir, {dir.run("deep", kStart + train(1, 5), deep)}),
              "config.json is not a JSON object"));
  }
  SUBCASE("learned numbers whose names no head has") {
    const std::string html =
        page_of(dir, {dir.run("names", kStart + R"({"event":"train","step":22,"learned":{".x.y":1,)"
                                                R"("99999999999999999999.a.y":2}})"
                                                "\n")});
    check_page(html);
    CHECK(chart_data(html, "Learned: y")["series"].size() == 2);
  }
  SUBCASE("values that are not finite leave a gap") {
    std::string log = kStart + train(10, 50);
    log += R"({"event":"train","step":20,"loss":null,"nll":"NaN","ppl":null})"
           "\n"
           R"({"event":"train","step":30,"loss":"-Infinity"})"
           "\n"
           R"({"event":"valid","step":35,"nll":4550.9,"ppl":null})"  // e^4550.9 is too large
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

TEST_CASE("report: a log that no run can have written is named on the page") {
  const TempDir dir;
  const auto note_of = [&](const std::string& log) {
    const nine::app::Run run = nine::app::read_run(dir.run("log", log));
    std::string all;
    for (const std::string& note : run.notes) all += note;
    return all;
  };
  const auto event = [](const std::string& rest) { return R"({"event":)" + rest + "}\n"; };
  CHECK(note_of(kStart + train(10, 50) + valid(10, 40) + train(20, 30)).empty());
  CHECK(note_of(kStart + train(10, 50) + train(20, 30) + event(R"("resume","step":10)") +
                train(20, 30))
            .empty());
  const std::string back = note_of(kStart + train(20, 50) + train(10, 40) + train(30, 30));
  CHECK_MESSAGE(back ==
                    "1 line of log.jsonl has what no run writes (line 3: step 10 after 20): the "
                    "log is damaged, or not of one run. The page shows it as it is.",
                back);
  CHECK(has(note_of(kStart + event(R"("train","step":1,"epoch":3)") +
                    event(R"("train","step":2,"epoch":2)")),
            "line 3: epoch 2 after 3"));
  CHECK(has(note_of(kStart + kStart), "line 2: a second start"));
  for (const auto& [value, what] :
       {std::pair(R"("step":-1)", "step is -1"),
        {R"("step":1.5)", "step is 1.5"},
        {R"("step":null)", "step is null"},
        {R"("step":1,"nll":-3)", "nll is -3"},
        {R"("step":1,"ppl":0.5)", "ppl is 0.5"},
        {R"("step":1,"nll":2,"ppl":9)", "ppl is 9, and nll 2 makes it 7.38905609893065"},
        {R"("step":1,"bleu":101)", "bleu is 101"},
        {R"("step":1,"tokens":-9)", "tokens is -9"},
        {R"("step":1,"time_s":-1)", "time_s is -1"}}) {
    const std::string note = note_of(kStart + event(std::string(R"("valid",)") + value));
    CHECK_MESSAGE(has(note, nine::concat("has what no run writes (line 2: ", what, "):")), note);
  }
  CHECK(has(note_of(event(R"("resume","step":5,"lost_updates":-5)")), "lost_updates is -5"));
  // Values of another type are named, since the page cannot show them.
  for (const auto& [kind, value, what] :
       {std::tuple("valid", R"("nll":"2.5")", R"(nll is "2.5", not a number)"),
        {"train", R"("step":"7","nll":2)", R"(step is "7", not a number)"},
        {"train", R"("epoch":true)", "epoch is true, not a number"},
        {"test", R"("ppl":[4])", "ppl is [4], not a number"},
        {"valid", R"("tokens":[4])", "tokens is [4], not a number"},
        {"valid", R"("nll":2,"best":"true")", R"(best is "true", not true or false)"},
        {"valid", R"("pi_mean":[0.5,"0.5"])", R"(pi_mean is [0.5,"0.5"], not a list of numbers)"},
        {"train", R"("pi_var":0.1)", "pi_var is 0.1, not a list of numbers"},
        {"train", R"("context_norm":"1")", R"(context_norm is "1", not a number)"},
        {"train", R"("learned":{"g":"1"})", R"(learned is {"g":"1"}, not an object of numbers)"},
        {"start", R"("parameters":"12")", R"(parameters is "12", not a number)"},
        {"done", R"("best_step":"7")", R"(best_step is "7", not a number)"},
        {"word_norms", R"("counts":["1"],"norms":[1])",
         R"(counts is ["1"], not a list of numbers)"},
        {"target_angles", R"("degrees":1,"tokens":3)", "tokens is 3, not a list of numbers"},
        {"translation", R"("attention":[["1"]])",
         R"(attention is [["1"]], not rows of numbers)"}}) {
    const std::string note = note_of(event(nine::concat('"', kind, R"(","step":1,)", value)));
    CHECK_MESSAGE(
        has(note, nine::concat("1 line of log.jsonl has what no run writes (line 1: ", what,
                               "): the log is damaged, or not of one run. The page "
                               "shows it as it is, without what has another type.")),
        note);
  }
  for (const char* fine : {R"("valid","step":1,"nll":null,"ppl":"NaN","bleu":"-Infinity")",
                           R"("other","step":1,"nll":"2.5","best":2)"})
    CHECK(note_of(event(fine)).empty());
  // The loss may be below 0.
  CHECK(note_of(kStart + event(R"("train","step":1,"loss":-3)")).empty());
  check_page(page_of(dir, {dir.path() / "log"}));
}

TEST_CASE("report: a best model that was lost is not the best, and a note says so") {
  const TempDir dir;
  const auto valid_at = [](int step, int ppl, bool best) {
    return nine::concat(R"({"event":"valid","step":)", step, R"(,"ppl":)", ppl, R"(,"best":)",
                        best ? "true" : "false", "}\n");
  };
  const auto resumed = [](int step) {
    return nine::concat(R"({"event":"resume","step":)", step, R"(,"lost_best":"it is gone"})",
                        "\n");
  };
  const std::string before = kStart + valid_at(10, 40, true) + valid_at(20, 60, false);
  const auto best_step = [&](const std::string& log) {
    const nine::app::Run run = nine::app::read_run(dir.run("log", log));
    REQUIRE(run.notes.size() == (log == before ? 0 : 1));
    if (log != before)
      CHECK(has(run.notes.back(), "was lost (it is gone): the model of that step"));
    const nine::app::Entry* best = nine::app::best_validation(run);
    return best == nullptr ? 0 : best->step;
  };
  CHECK(best_step(before) == 10);
  CHECK(best_step(before + resumed(20)) == 20);
  CHECK(best_step(before + resumed(20) + valid_at(30, 65, false)) == 20);
  CHECK(best_step(before + resumed(20) + valid_at(30, 50, true)) == 30);
  CHECK(best_step(before + resumed(25)) == 0);  // whose validation is not in the log
}

TEST_CASE("report: a log or a configuration that is a pipe or a directory is refused") {
  const TempDir dir;
  for (const char* name : {"log.jsonl", "config.json"}) {
    const fs::path run = dir.run(std::string("run_") + name, kStart + train(1, 5));
    fs::remove(run / name);
    REQUIRE(mkfifo((run / name).c_str(), 0600) == 0);
    CHECK(has(error_of([&] { nine::app::read_run(run); }), name));
    fs::remove(run / name);
    fs::create_directory(run / name);
    CHECK(has(error_of([&] { nine::app::read_run(run); }), name));
  }
}

TEST_CASE(
    "nine_report: a checkpoint, an empty name, another format; what a page notes is printed") {
  const TempDir dir;
  const fs::path run = dir.run("run", kStart + train(1, 5)), checkpoint = run / "checkpoints/1";
  fs::create_directories(checkpoint);
  put(checkpoint / "state.json", R"({"files":{},"crc32c":1})");
  const auto refused = [&](const std::vector<std::string>& arguments) {
    const Outcome r = run_program("nine_report", arguments);
    CHECK(r.code == 2);
    return r.err;
  };
  const std::string of_checkpoint = refused({checkpoint});
  CHECK_MESSAGE(has(of_checkpoint, concat(checkpoint.string(),
                                          " is a checkpoint, and a page is about "
                                          "a run: give ",
                                          fs::canonical(run).string(), ", or --words")),
                of_checkpoint);
  CHECK_FALSE(has(of_checkpoint, "--output"));
  CHECK(has(refused({run, "--output", ""}), "--output '': is empty"));
  CHECK(has(refused({run, "--output", dir / "page.pdf"}), "an HTML page is written"));
  CHECK_FALSE(fs::exists(run / "report.html"));
  const Outcome fine = run_program("nine_report", {run});
  CHECK(fine.code == 0);
  CHECK(fine.err.empty());
  const Outcome noted = run_program("nine_report", {dir.run("empty", "")});
  CHECK(noted.code == 0);
  CHECK_MESSAGE(has(noted.err, "nine_report: empty: log.jsonl is empty"), noted.err);
}

}  // namespace nine::tests::test_report_logs
