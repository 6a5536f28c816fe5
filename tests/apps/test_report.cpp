// The report page: what it shows, what it survives, and that it is one well-formed file that
// fetches nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "apps/report/page.h"
#include "apps/report/report.h"
#include "apps/svg/text.h"
#include "core/error.h"
#include "tests/apps/report_pages.h"
#include "tests/support/programs.h"

namespace nine::tests::test_report {

namespace fs = std::filesystem;
using nine::concat;
using nine::Json;

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
       {"<h1><bdi>base</bdi></h1>", ">37.00<", ">37.50<", "best, at step 400",
        "1.721× the floor of 21.50", ">123.5k<", "2 h 5 min", "finished", "a &lt; b",
        "entropy floor 21.50", "prefers-color-scheme: dark", "name=\"viewport\"", "role=\"img\"",
        "<caption>", "scope=\"col\"", "scope=\"row\""}) {
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

TEST_CASE("report: a perplexity stands beside the floor of its own text") {
  const TempDir dir;
  const auto test = [](const char* floor) {
    return R"({"event":"test","step":10,"ppl":40)" + std::string(floor) + "}\n";
  };
  const std::string log = kStart + valid(10, 43);  // the validation text's floor is 21.5
  const std::string with =
                        page_of(dir, {dir.run("with", log + test(R"(,"entropy_floor_ppl":20)"))}),
                    without = page_of(dir, {dir.run("without", log + test(""))});
  for (const std::string& page : {with, without}) {
    check_page(page);
    CHECK(has(page, "2.000× the floor of 21.50"));
    CHECK(has(page, "Entropy floor <span class=\"quiet\">of the validation text</span>"));
  }
  CHECK(has(with, "2.000× the floor of 20.00"));
  CHECK(has(with, "Entropy floor <span class=\"quiet\">of the test text</span>"));
  CHECK(times(with, "× the floor") == 2);
  CHECK(times(without, "× the floor") == 1);  // a log of before test lines had it
  CHECK_FALSE(has(without, "of the test text"));
}

TEST_CASE("report: the best validation is the one that the run took for the best") {
  const TempDir dir;
  const auto validation = [](int step, double ppl, double bleu, bool best) {
    return Json{{"event", "valid"}, {"step", step}, {"ppl", ppl}, {"bleu", bleu}, {"best", best}}
               .dump() +
           "\n";
  };
  const std::string log = kStart + validation(10, 60, 5, true) + validation(20, 30, 4, false) +
                          validation(30, 50, 9, true) + validation(40, 40, 8, false);
  // A run that has ended says so itself.
  const std::string done = R"({"event":"done","step":40,"best_valid_ppl":50,"best_step":30})"
                           "\n";
  for (const std::string& end : {std::string(), done}) {
    const std::string html = page_of(dir, {dir.run("bleu", log + end)});
    check_page(html);
    CHECK(has(html, "<dt>Validation perplexity</dt><dd><b>50.00</b><span>best, at step 30"));
    CHECK(has(html, "Best validation <span class=\"quiet\">at step 30</span>"));
    CHECK(has(html, "30 <span class=\"badge best\">best</span>"));
    CHECK(times(html, "badge best\">best<") == 1);
  }
  // A log without the flag: the lowest perplexity.
  const std::string html =
      page_of(dir, {dir.run("old", kStart + valid(10, 60) + valid(20, 30) + valid(30, 50))});
  CHECK(has(html, "<b>30.00</b><span>best, at step 20"));
  CHECK(has(html, "20 <span class=\"badge best\">best</span>"));
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
  CHECK(has(html, "ein <bdi>&lt;b&gt;hund&lt;/b&gt;</bdi>"));
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
  CHECK(has(html, "<summary><bdi><bdi>&lt;b&gt;late&lt;/b&gt;</bdi></bdi></summary>"));
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

TEST_CASE("report: layers of encoder and decoder in place of their default") {
  const TempDir dir;
  const auto run = [&](const char* name, const char* config) {
    return dir.run(name, kStart + train(1, 5), config);
  };
  // As mt_train writes them: with --encoder-layers 1 --decoder-layers 3, and with --layers 2.
  const auto own = run("own", R"({"layers":6,"encoder_layers":1,"decoder_layers":3})"),
             both = run("both", R"({"layers":2,"encoder_layers":2,"decoder_layers":2})"),
             same = run("same", R"({"layers":6,"encoder_layers":2,"decoder_layers":2})"),
             model = run("model", R"({"layers":2})");
  const auto says = [&](const fs::path& directory, const char* layers) {
    std::string html = page_of(dir, {directory});
    CAPTURE(layers);
    CHECK(has(html, concat("layers <b><bdi>", layers, "</bdi></b>")));
    return html;
  };
  const std::string page = says(own, "1 + 3");
  CHECK(has(page, "<dt>encoder layers</dt><dd>1</dd>"));
  CHECK(has(page, "<dt>decoder layers</dt><dd>3</dd>"));
  CHECK_FALSE(has(page, "<dt>layers</dt>"));
  CHECK_FALSE(has(says(both, "2 + 2"), "<dt>layers</dt>"));
  CHECK(has(says(model, "2"), "<dt>layers</dt><dd>2</dd>"));
  CHECK(has(page_of(dir, {both, same}), "All runs have the same settings."));
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
  // Controls of direction, which <bdi> holds only where they are balanced; marks of it stay.
  CHECK(nine::app::isolated("a\u202Eb\u2066c\u2069d\u202Ae\u2065f\u200F") ==
        "<bdi>a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\u2065f\u200F</bdi>");
  CHECK(nine::app::json_string("a\u202E") == "\"a\uFFFD\"");
}

TEST_CASE("report: in a sentence, words with marks at their ends are isolated") {
  CHECK(nine::app::escaped_sentence("שלום &amp; C++ a .  (b) 5 ע&") ==
        "שלום <bdi>&amp;amp;</bdi> <bdi>C++</bdi> a .  <bdi>(b)</bdi> 5 ע&amp;");
  CHECK(nine::app::escaped_sentence("").empty());
}

TEST_CASE("report: names, words and sentences from right to left keep to themselves") {
  const TempDir dir;
  const std::string log = kStart + train(10, 50) + valid(10, 60) +
                          Json{{"event", "translation"},
                               {"step", 10},
                               {"line", 3},
                               {"src", "שלום עולם ."},
                               {"ref", "hello world ."},
                               {"hyp", "hello ."},
                               {"src_tokens", {"שלום", "."}},
                               {"hyp_tokens", {"hello"}},
                               {"attention", {{900, 50, 50}}}}
                              .dump() +
                          "\n";
  const auto arabic = dir.run("تجربة", log), other = dir.run("b", kStart + valid(10, 70));
  const std::string one = page_of(dir, {arabic}), two = page_of(dir, {arabic, other});
  for (const std::string& html : {one, two}) {
    check_page(html);
    CHECK(has(html, "<dd dir=\"auto\">שלום עולם .</dd>"));
    CHECK_FALSE(has(html, "aria-label=\"<"));
    CHECK_FALSE(has(html, "=\"Validations of <"));
  }
  CHECK(has(one, "<h1><bdi>تجربة</bdi></h1>"));
  CHECK(has(one, "<th scope=\"col\"><span><bdi>שלום</bdi></span></th>"));
  CHECK(has(two, "<caption>Validations of <bdi>تجربة</bdi></caption>"));
  CHECK(has(two, "aria-label=\"Validations of تجربة\""));
  CHECK(has(two, "<span class=\"of\"><bdi>تجربة</bdi></span>"));  // a legend
}

TEST_CASE("report: what is printed neither scrolls nor is dark") {
  const TempDir dir;
  const std::string html = page_of(dir, {dir.run("run", kStart + train(10, 50))});
  const size_t print = html.find("@media print {");
  REQUIRE(print != std::string::npos);
  CHECK(html.find(".scroll, pre { overflow: visible;", print) != std::string::npos);
  CHECK(has(html, "@media screen and (prefers-color-scheme: dark)"));
  CHECK_FALSE(has(html, "@media (prefers-color-scheme: dark)"));
}

TEST_CASE("report: the page holds the style sheet and the scripts as they are in their files") {
  const TempDir dir;
  const std::string html = page_of(dir, {dir.run("run", kStart + train(10, 50))});
  const std::string folder = NINE_SOURCE_DIR "/apps/report/";
  CHECK(has(html, "<style>\n\n" + nine::tests::slurp(folder + "report.css") + "</style>"));
  std::string scripts;
  for (const char* file : {"charts.js", "legend.js", "map.js"})
    scripts += nine::tests::slurp(folder + file);
  CHECK(has(html, "<script>\n\n" + scripts + "</script>"));
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
  // A curve has one colour in all charts, as the legend shows it.
  const auto colour = [&](const char* title, const char* name) {
    return series(chart_data(html, title), name)["class"].get<std::string>();
  };
  CHECK(colour("BLEU", "Validation") == colour("Loss", "Validation"));
  std::set<std::string> seen{colour("Loss", "Validation")};
  for (const char* name : {"π1", "π2", "π3"}) {
    CHECK(colour("Mixture weights", name) == colour("Mixture weights, variance", name));
    CHECK(seen.insert(colour("Mixture weights", name)).second);
  }
  // A component is called after its kernel, where the head has as many as the log.
  const std::string named = page_of(dir, {dir.run("n", log, R"({"head":"mix:lin,log:p=1,rbf"})")});
  CHECK(series(chart_data(named, "Mixture weights"), "π3 rbf")["y"] == Json({0.1, 0.1, 0.1}));
  CHECK(series(chart_data(named, "Mixture weights"), "π2 log")["y"] == Json({0.2, 0.2, 0.2}));
}

TEST_CASE("report: runs of other texts or vocabularies are not compared by their perplexity") {
  const TempDir dir;
  const auto run = [&](const std::string& name, const std::string& task, int valid, int vocab) {
    return dir.run(name, kStart + nine::tests::train(1, 5) + nine::tests::valid(1, 5),
                   concat(R"({"task":")", task, R"(","resolved":{"identity":{"valid":)", valid,
                          R"(,"vocab":)", vocab, "}}}"));
  };
  const fs::path a = run("a", "lm", 1, 7);
  const std::string note = "The runs differ in their ";
  const auto marked = [](const std::string& html) {
    return has(html.substr(0, html.find("</table>")), "<tr class=\"marked\">");
  };
  const std::string alike = page_of(dir, {a, run("b", "lm", 1, 7)});
  CHECK_FALSE(has(alike, note));
  CHECK(marked(alike));
  const std::string unlike = page_of(dir, {a, run("b", "lm", 2, 7)});
  CHECK(has(unlike, note + "validation texts: their perplexities do not compare"));
  CHECK_FALSE(marked(unlike));
  CHECK(has(page_of(dir, {a, run("b", "mt", 1, 8)}), note + "tasks, vocabularies"));
  CHECK_FALSE(has(page_of(dir, {a, dir.run("c", kStart, R"({"task":"lm"})")}), note));
  const auto with = [&](const std::string& name, const std::string& resolved) {
    return dir.run(name, kStart + nine::tests::train(1, 5) + nine::tests::valid(1, 5),
                   concat(R"({"task":"lm","resolved":{)", resolved, "}}"));
  };
  const std::string own = R"("identity":{"valid":1,"vocab":7})";
  const std::string carried =
      page_of(dir, {a, with("sentences", own + R"(,"evaluation":"sentences")")});
  CHECK(has(carried, note + "validations, of which some carry the state"));
  CHECK_FALSE(marked(carried));
  CHECK(has(page_of(dir, {with("x", R"("identity":{"valid_tgt":1,"tgt_dict":7})"),
                          with("y", R"("identity":{"valid_tgt":1,"tgt_dict":8})")}),
            note + "vocabularies"));
  CHECK(has(page_of(dir, {with("x", R"("valid_crc32c":7)"), with("y", R"("valid_crc32c":8)")}),
            note + "validation texts or vocabularies: "));
}

// The programs' configurations name no task, and their texts have other keys.
TEST_CASE("report: a language model and a translation model are not compared; other test texts") {
  const TempDir dir;
  const auto run = [&](const std::string& name, const std::string& config) {
    return dir.run(name, kStart + nine::tests::train(1, 5) + nine::tests::valid(1, 5), config);
  };
  const auto lm = [&](const std::string& name, int test) {
    return run(name, concat(R"({"bptt":35,"resolved":{"identity":{"valid":1,"vocab":2,"test":)",
                            test, "}}}"));
  };
  const fs::path a = lm("a", 7),
                 mt = run("mt", R"({"encoder_layers":1,"resolved":{"identity":{"valid_src":1,)"
                                R"("valid_tgt":1,"test_src":3,"test_tgt":4}}})");
  const auto marked = [](const std::string& html) {
    return has(html.substr(0, html.find("</table>")), "<tr class=\"marked\">");
  };
  const std::string tasks = page_of(dir, {a, mt});
  CHECK(has(tasks, "The runs differ in their tasks: their perplexities do not compare"));
  CHECK_FALSE(marked(tasks));
  const std::string tests = page_of(dir, {a, lm("b", 8)}), note = "differ in their test texts";
  CHECK(has(tests, note));
  CHECK(marked(tests));
  CHECK_FALSE(has(page_of(dir, {a, lm("c", 7)}), "The runs differ"));
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

}  // namespace nine::tests::test_report
