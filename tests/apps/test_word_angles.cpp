// Angles of word vectors: measures by hand, Spearman against scipy's figures, Mantel's test on
// matrices that belong together and on those that do not, and nine_report --angles.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numbers>

#include "apps/report/angles.h"
#include "core/random.h"
#include "core/safetensors.h"
#include "data/measures/word_angles.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_word_angles {
namespace {

using doctest::Approx;
using Values = std::vector<double>;

Values random_vectors(size_t n, uint64_t seed) {
  Values v;
  for (size_t i = 0; i < n; ++i) v.push_back(random_normal({.seed = seed}, i));
  return v;
}

}  // namespace

TEST_CASE("angles: by hand") {
  CHECK(angle_between(Values{1, 0}, Values{0, 3}) == Approx(90));
  CHECK(angle_between(Values{1, 0}, Values{-2, 0}) == Approx(180));
  CHECK(angle_between(Values{1, 1, 0}, Values{1, 0, 0}) == Approx(45));
  CHECK(angle_between(Values{0, 0}, Values{1, 0}) == Approx(90));
  // At 0, 10, 30 and 200 degrees: nearest 10, 10, 20 and 160.
  Values v;
  const Values degrees{0, 10, 30, 200};
  for (const double d : degrees)
    for (const double x :
         {std::cos(d * std::numbers::pi / 180), std::sin(d * std::numbers::pi / 180)})
      v.push_back(2 * x);
  CHECK(mean_nearest_angle(v, 2) == Approx(200.0 / 4));
  CHECK(largest_gap(degrees) == Approx(170));
  CHECK(largest_gap(Values{-170, 170}) == Approx(340));
  CHECK(largest_gap(Values{5}) == Approx(360));
  CHECK(circular_variance(Values{20, 20, 380}) == Approx(0).epsilon(1e-9));
  CHECK(circular_variance(Values{0, 120, 240}) == Approx(1));
  CHECK(circular_variance(Values{0, 90}) == Approx(1 - std::sqrt(0.5)));
  CHECK(has(error_of([&] { mean_nearest_angle(v, 3); }), "rows of 3"));
  CHECK(has(error_of([] { largest_gap({}); }), "no angle"));
}

// scipy.stats.spearmanr.
TEST_CASE("spearman: scipy's figures, with ties") {
  CHECK(spearman(Values{1, 2, 3, 4, 5}, Values{5, 6, 7, 8, 7}) ==
        Approx(0.8207826816681233).epsilon(1e-12));
  CHECK(spearman(Values{10, 20, 20, 40, 15, 7}, Values{3, 1, 4, 1, 5, 9}) ==
        Approx(-0.7500000000000001).epsilon(1e-12));
  CHECK(spearman(Values{1, 2, 3}, Values{9, 4, 1}) == Approx(-1));
  CHECK(spearman(Values{1, 2, 3}, Values{4, 4, 4}) == 0);
  CHECK(has(error_of([] { spearman(Values{1}, Values{1}); }), "at least two"));
}

TEST_CASE("mantel_test: what belongs together, what does not, and the same for any threads") {
  const size_t n = 30, width = 8;
  const Values a = random_vectors(n * width, 1), other = random_vectors(n * width, 2);
  Values near = a;
  for (size_t i = 0; i < near.size(); ++i) near[i] += 0.5 * other[i];
  const Values cosines = cosine_matrix(a, width);
  const MantelTest alike = mantel_test(cosines, cosine_matrix(near, width), 999, 1);
  CHECK(alike.correlation > 0.5);
  CHECK(alike.p == Approx(0.001));  // no permutation comes near: 1 / 1000
  CHECK(mantel_test(cosines, cosines, 99, 1).correlation == Approx(1));
  // Unrelated: p is uniform. Of forty, some are below a half and some above, few below 0.05.
  int low = 0, half = 0;
  for (uint64_t s = 0; s < 40; ++s) {
    const double p =
        mantel_test(cosines, cosine_matrix(random_vectors(n * width, 100 + s), width), 199, s).p;
    low += p < 0.05 ? 1 : 0;
    half += p < 0.5 ? 1 : 0;
  }
  CHECK(low <= 7);
  CHECK(half >= 9);
  CHECK(half <= 31);
  const Restore restore;
  set_threads(1);
  const double one = mantel_test(cosines, cosine_matrix(other, width), 199, 5).p;
  set_threads(2);
  CHECK(mantel_test(cosines, cosine_matrix(other, width), 199, 5).p == one);
  CHECK(has(error_of([&] { mantel_test(cosines, Values{1}, 9, 1); }), "n x n"));
}

TEST_CASE("AngleGroup: a name and its words") {
  const app::AngleGroup g = app::AngleGroup::parse("royal=king,queen");
  CHECK(g.name == "royal");
  CHECK(g.words == Strings{"king", "queen"});
  CHECK(!g.syntactic());
  CHECK(app::AngleGroup::parse("syntactic: number=dog,dogs").syntactic());
  for (const char* bad : {"royal", "=king", "royal=", "royal=king,,queen", "royal=king,"})
    CHECK(has(error_of([&] { app::AngleGroup::parse(bad); }), "such as royal=king,queen"));
}

TEST_CASE("nine_report --angles: one model, two models, the page and the numbers") {
  const TemporaryDirectory dir;
  const auto report = [&](Strings more) {
    more.insert(more.begin(), {"--angles", "--iterations", "50", "--permutations", "99"});
    return run_program("nine_report", more);
  };
  // Another bias and the same vectors: one model twice is refused.
  changed_model(dir, "again", model_a(), "head.bias", 0, 0);
  const Outcome json = report({"--words", model_a(), model_b(), dir / "again", "--json"});
  REQUIRE_MESSAGE(json.code == 0, json.err);
  const Json j = Json::parse(json.out);
  REQUIRE(j["models"].size() == 3);
  CHECK(j["models"][0]["measures"] == j["models"][2]["measures"]);
  for (const auto& measure : j["models"][1]["measures"].items()) {
    const std::string& name = measure.key();
    const auto value = measure.value().get<double>();
    CAPTURE(name);
    CHECK(value >= 0);
    CHECK(value <= 360);
    const double a = j["models"][0]["measures"][name];
    CHECK(j["over_models"][name]["mean"].get<double>() == Approx((2 * a + value) / 3));
    CHECK(j["over_models"][name]["interval"][0] <= j["over_models"][name]["mean"]);
  }
  REQUIRE(j["pairs"].size() == 3);
  CHECK(j["pairs"][1]["spearman"].get<double>() == Approx(1));  // a with itself
  CHECK(j["pairs"][1]["p"].get<double>() == Approx(0.01));
  CHECK(j["pairs"][0]["spearman"].get<double>() < 1);
  CHECK(report({"--words", model_a(), model_b(), dir / "again", "--json", "--threads", "1"}).out ==
        json.out);
  const std::string file = dir / "angles.html";
  const Outcome page = report({"--words", model_a(), model_c(), "--output", file, "--group",
                               "syntactic=the,a", "animals=dog,cat"});
  REQUIRE_MESSAGE(page.code == 0, page.err);
  CHECK(has(page.out, "wrote " + file));
  CHECK(has(page.out, "nearest angle, full space"));
  const std::string html = slurp(file);
  CHECK(has(html, ">animals<"));
  CHECK(has(html, "lies at distance 1 to the right"));
  CHECK(!has(html, "nan"));
  CHECK(report({"--words", model_a(), "--output", file}).code == 0);
  // A word that no model shows is a mistake; one that some lack is said.
  const Outcome unknown =
      report({"--words", model_a(), "--output", dir / "none.html", "--group", "animals=dog,katze"});
  CHECK(unknown.code == 1);
  CHECK(has(unknown.err,
            "--group: 'katze' of the group 'animals' is not among the 1000 most "
            "frequent words of " +
                model_a()));
  CHECK(slurp(dir / "none.html").empty());
}

TEST_CASE("nine_report --angles: the words and the perplexity that were used, of each model") {
  const TemporaryDirectory dir;
  const auto report = [&](const Strings& more) {
    Strings all{"--words", model_a(),      model_c(), "--angles",       "--iterations",
                "20",      "--perplexity", "300",     "--permutations", "9"};
    all.insert(all.end(), more.begin(), more.end());
    const Outcome r = run_program("nine_report", all);
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return r.out;
  };
  const Json j = Json::parse(report({"--json"}));
  CHECK(j["words"] == 1000);  // the settings
  CHECK(j["perplexity"] == 300);
  const std::string file = dir / "angles.html";
  report({"--output", file});
  const std::string page = slurp(file);
  CHECK(has(page, "At most 1000 most frequent words of each model"));
  for (const Json& model : j["models"]) {
    const auto words = model["words"].get<int64_t>(), third = words / 3;
    CHECK(words < 100);
    CHECK(model.value("perplexity", 0.0) == third);
    CHECK(has(page, concat("The ", words, " most frequent words and the groups; t-SNE of ", words,
                           " words with perplexity ", third, ",")));
  }
  CHECK(j["models"][0]["words"] != j["models"][1]["words"]);
}

TEST_CASE("measure_angles: the reference word lies at (1, 0), and angles do not depend on scale") {
  app::AngleSettings settings{.iterations = 50};
  const std::string directory = model_a() + "/checkpoints/best";
  const app::ModelAngles m = app::measure_angles(directory, "a", settings);
  const size_t the = app::reference_word(m.words);
  CHECK(m.words.words[the] == "the");
  CHECK(m.places[the].x == Approx(1));
  CHECK(std::fabs(m.places[the].y) < 1e-12);
  CHECK(m.places[the == 0 ? 1 : 0].y >= 0);
  CHECK(m.measures.at("nearest angle, full space") > m.measures.at("nearest angle, plane"));
  settings.words = 5;
  CHECK(has(error_of([&] { app::measure_angles(directory, "a", settings); }), "too few"));
}

TEST_CASE("nine_report --words: vectors whose squared norms no double holds are an error") {
  const TemporaryDirectory dir;
  for (const double scale : {1e-200, 1e100}) {
    const std::string model = changed_model(dir, concat("m", scale), model_a(), "head.bias", 7, 0),
                      file = model + "/model.safetensors";
    const Safetensors weights = read_safetensors(file);
    std::vector<Tensor> wide;
    std::vector<NamedView> views;
    for (const auto& [name, numbers] : weights.tensors) {
      std::vector<double> values = numbers.to_vector();
      if (name.ends_with("weight"))
        for (double& x : values) x *= scale;
      views.push_back({name, wide.emplace_back(Tensor::from(values, numbers.shape()))});
    }
    write_safetensors(file, views, weights.metadata);
    const std::string page = dir / "page.html";
    for (const Strings& arguments :
         std::vector<Strings>{{"nine_report", "--words", model, "--output", page},
                              {"nine_report", "--words", model, "--angles", "--output", page},
                              {"lm_score", "--checkpoint", model, "--clusters", "2:cosine",
                               "--cluster-min-count", "1"}}) {
      const Outcome r = run_program(arguments[0], Strings(arguments.begin() + 1, arguments.end()));
      CHECK(r.code == 1);
      CHECK_MESSAGE(has(r.err, scale < 1 ? "is too short for angles" : "is too long for angles"),
                    r.err);
    }
    CHECK_FALSE(std::filesystem::exists(page));
  }
}

TEST_CASE("nine_report --angles: what is refused") {
  const auto refused = [](const Strings& arguments, const std::string& why) {
    const Outcome r = run_program("nine_report", arguments);
    CHECK(r.code == 2);
    CHECK_MESSAGE(has(r.err, why), r.err);
  };
  refused({"--words", model_a(), model_b()}, "give --angles to compare several models");
  refused({"--angles", model_a()}, "--words CHECKPOINT");
  refused({"--words", model_a(), "--json"}, "--angles");
  refused({"--words", model_a(), "--group", "a=b"}, "--angles");
  refused({"--words", model_a(), "--angles", "--group", "a"}, "royal=king,queen");
  refused({"--words", model_a(), "--angles", "--json", "--group", "x=the,a"}, "--group is for");
  refused({"--words", model_a(), "--angles", "--json", "--output", "x"}, "--json writes no page");
  // One model under two names: it would count twice.
  const TemporaryDirectory dir;
  std::filesystem::copy(model_a(), dir.path() / "copy", std::filesystem::copy_options::recursive);
  refused({"--words", model_a(), dir / "copy", "--angles"},
          concat("--words ", dir / "copy", " has the weights of ", model_a(),
                 ", and the model would count twice"));
  refused({"--words", model_a(), model_a() + "/checkpoints/best", "--angles"}, "would count twice");
}

}  // namespace nine::tests::test_word_angles
