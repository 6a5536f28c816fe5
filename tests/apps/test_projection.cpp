// Pictures of word vectors: principal components, t-SNE, polar places, labels; and the words on
// which two models differ.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/report/pca.h"
#include "apps/report/place_labels.h"
#include "apps/report/tsne.h"
#include "apps/report/word_groups.h"
#include "apps/report/word_page.h"
#include "apps/report/word_vectors.h"
#include "apps/svg/text.h"
#include "core/json.h"
#include "core/random.h"
#include "core/safetensors.h"
#include "data/sample/sample.h"
#include "nn/models/compare_models.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_projection {
namespace {

using namespace nine::app;

Tensor noise(int64_t rows, int64_t cols, uint64_t seed) {
  Tensor x({rows, cols}, DType::float64);
  RandomStream random({.seed = seed, .op = stream_id("test")});
  for (int64_t i = 0; i < x.elements(); ++i) x.data<double>()[i] = random.uniform() - 0.5;
  return x;
}

// `count` rows around each of three far corners.
Tensor three_clusters(int64_t count) {
  Tensor x = noise(3 * count, 8, 5);
  for (int64_t i = 0; i < 3 * count; ++i) x.data<double>()[i * 8 + i / count] += 12;
  return x;
}

double distance(const std::vector<double>& y, size_t i, size_t j) {
  return std::hypot(y[2 * i] - y[2 * j], y[2 * i + 1] - y[2 * j + 1]);
}

}  // namespace

TEST_CASE("principal components: a case by hand") {
  // (+-2, 0) and (0, +-1), turned by 30 degrees and moved: variances 2 and 1/2 along 30 and 120
  // degrees.
  const double c = std::sqrt(3.0) / 2, s = 0.5;
  const Tensor x = Tensor::from<double>(
      {2 * c + 7, 2 * s - 3, -2 * c + 7, -2 * s - 3, -s + 7, c - 3, s + 7, -c - 3}, {4, 2});
  const PrincipalComponents p = principal_components(x, 2, true, 1);
  CHECK(p.variances[0] == doctest::Approx(2).epsilon(1e-12));
  CHECK(p.variances[1] == doctest::Approx(0.5).epsilon(1e-12));
  const std::vector<double> axes = p.axes.to_vector(), wanted{c, s, -s, c};
  for (size_t i = 0; i < 4; ++i) CHECK(axes[i] == doctest::Approx(wanted[i]).epsilon(1e-7));
  const std::vector<double> scores = p.scores.to_vector(), expected{2, 0, -2, 0, 0, 1, 0, -1};
  for (size_t i = 0; i < 8; ++i) CHECK(std::fabs(scores[i] - expected[i]) < 1e-6);
  // About the origin the mean, (7, -3), is the main direction.
  const std::vector<double> first = principal_components(x, 1, false, 1).axes.to_vector();
  CHECK(first[1] / first[0] == doctest::Approx(-3.0 / 7).epsilon(0.05));
}

TEST_CASE("principal components: properties") {
  const Tensor x = noise(60, 17, 3);
  for (int64_t i = 0; i < 60; ++i)
    for (int64_t j = 0; j < 17; ++j) x.data<double>()[i * 17 + j] *= 1 + static_cast<double>(j);
  const PrincipalComponents p = principal_components(x, 17, true, 1);
  const std::vector<double> axes = p.axes.to_vector(), scores = p.scores.to_vector();
  for (size_t a = 0; a < 17; ++a)
    for (size_t b = 0; b <= a; ++b) {
      const double dot = std::inner_product(axes.begin() + static_cast<long>(17 * a),
                                            axes.begin() + static_cast<long>(17 * (a + 1)),
                                            axes.begin() + static_cast<long>(17 * b), 0.0);
      CHECK(dot == doctest::Approx(a == b ? 1 : 0).epsilon(1e-10));
      double product = 0;  // scores of different axes are uncorrelated
      for (size_t i = 0; i < 60; ++i) product += scores[i * 17 + a] * scores[i * 17 + b] / 60;
      CHECK(std::fabs(product - (a == b ? p.variances[a] : 0)) < 1e-6 * p.variances[0]);
    }
  CHECK(std::is_sorted(p.variances.rbegin(), p.variances.rend()));
  double total = 0;
  for (int64_t j = 0; j < 17; ++j) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < 60; ++i)
      sum += x.data<double>()[i * 17 + j], squares += std::pow(x.data<double>()[i * 17 + j], 2);
    total += squares / 60 - sum * sum / 3600;
  }
  CHECK(std::accumulate(p.variances.begin(), p.variances.end(), 0.0) ==
        doctest::Approx(total).epsilon(1e-12));
  // Another start finds the same axes; equal rows have directions too.
  const std::vector<double> again = principal_components(x, 2, true, 99).axes.to_vector(),
                            two = principal_components(x, 2, true, 1).axes.to_vector();
  for (size_t i = 0; i < two.size(); ++i) CHECK(std::fabs(again[i] - two[i]) < 1e-5);
  const PrincipalComponents flat =
      principal_components(Tensor::from<double>({1, 2, 1, 2, 1, 2}, {3, 2}), 2, true, 1);
  CHECK(flat.variances == std::vector<double>{0, 0});
  CHECK(has(error_of([&] { principal_components(x, 18, true, 1); }), "do not have 18 components"));
}

TEST_CASE("t-SNE: affinities") {
  const Tensor x = noise(40, 6, 8);
  const std::vector<double> p = tsne_affinities(x, 7);
  CHECK(std::accumulate(p.begin(), p.end(), 0.0) == doctest::Approx(1).epsilon(1e-12));
  for (size_t i = 0; i < 40; ++i) {
    CHECK(p[i * 40 + i] == 0);
    for (size_t j = 0; j < 40; ++j) CHECK(p[i * 40 + j] == p[j * 40 + i]);
  }
  // Four equally distant rows: every pair alike, whatever the width.
  const std::vector<double> equal = tsne_affinities(
      Tensor::from<double>({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, {4, 4}), 4.0 / 3);
  CHECK(equal[1] == doctest::Approx(1.0 / 12));
  // On a circle each row sees the same, so its share of p is its conditional distribution: its
  // entropy is log 5.
  Tensor circle({30, 2}, DType::float64);
  for (int64_t i = 0; i < 30; ++i) {
    circle.data<double>()[2 * i] = std::cos(M_PI * static_cast<double>(i) / 15);
    circle.data<double>()[2 * i + 1] = std::sin(M_PI * static_cast<double>(i) / 15);
  }
  const std::vector<double> q = tsne_affinities(circle, 5);
  double entropy = 0;
  for (size_t j = 1; j < 30; ++j) entropy -= 30 * q[j] * std::log(30 * q[j]);
  CHECK(std::exp(entropy) == doctest::Approx(5).epsilon(1e-6));
  CHECK(has(error_of([&] { tsne_affinities(x, 20); }), "lower the perplexity"));
}

TEST_CASE("t-SNE: the gradient is that of the divergence") {
  const std::vector<double> p = tsne_affinities(noise(13, 4, 2), 3);
  std::vector<double> y = noise(13, 2, 9).to_vector(), gradient(26), ignored(26);
  const double value = tsne_gradient(p, y, 1, gradient);
  CHECK(value > 0);
  double sum = 0;
  for (size_t i = 0; i < 26; ++i) {
    const double at = y[i], step = 1e-5;
    y[i] = at + step;
    const double above = tsne_gradient(p, y, 1, ignored);
    y[i] = at - step;
    const double below = tsne_gradient(p, y, 1, ignored);
    y[i] = at;
    CHECK(gradient[i] == doctest::Approx((above - below) / (2 * step)).epsilon(1e-6));
    sum += gradient[i];
  }
  CHECK(std::fabs(sum) < 1e-12);  // moving all points changes nothing
}

TEST_CASE("t-SNE: the divergence falls, clusters stay apart, bits repeat") {
  const Tensor x = three_clusters(20);
  const TsneSettings settings{.perplexity = 8, .iterations = 1000};
  const std::vector<double> y = tsne(x, settings, 1), p = tsne_affinities(x, 8);
  std::vector<double> gradient(y.size());
  const auto divergence = [&](const std::vector<double>& places) {
    return tsne_gradient(p, places, 1, gradient);
  };
  const double first = divergence(tsne(x, {.perplexity = 8, .iterations = 1}, 1));
  for (const int64_t iterations : {400, 1000})
    CHECK(divergence(tsne(x, {.perplexity = 8, .iterations = iterations}, 1)) < first / 2);
  double widest = 0, nearest = INFINITY;
  for (size_t i = 0; i < 60; ++i)
    for (size_t j = 0; j < i; ++j) {
      const double apart = distance(y, i, j);
      if (i / 20 == j / 20) widest = std::max(widest, apart);
      if (i / 20 != j / 20) nearest = std::min(nearest, apart);
    }
  CHECK(nearest > 2 * widest);
  const Restore restore;
  for (const int threads : {1, 2}) {
    set_threads(threads);
    CHECK(tsne(x, settings, 1) == y);
  }
}

TEST_CASE("words: vectors of a checkpoint, in polar coordinates") {
  const TemporaryDirectory dir;
  std::filesystem::create_directories(dir / "model");
  Tensor weights({8, 3}, DType::float32);
  RandomStream random({.seed = 4, .op = stream_id("test")});
  for (int64_t i = 0; i < 24; ++i)
    weights.data<float>()[i] = static_cast<float>(random.uniform() - 0.5);
  write_safetensors(dir / "model/model.safetensors", {{"embedding.weight", weights}});
  std::ofstream(dir / "model/dict.txt") << "a 90\nthe 80\ndog 7\ncat 6\nred 5\nx 4\n";
  const WordVectors words = read_word_vectors(dir / "model", 5);
  CHECK(words.tensor == "embedding.weight");
  CHECK(words.words == std::vector<std::string>{"a", "the", "dog", "cat", "red"});
  CHECK(words.counts[1] == 80);
  CHECK(words.vectors.to_vector()[3] == weights.data<float>()[9]);  // after </s> and <unk>
  const std::vector<Place> places = polar_places(words, 1);
  for (size_t i = 0; i < 5; ++i)
    CHECK(std::hypot(places[i].x, places[i].y) == doctest::Approx(words.norms[i]));
  CHECK(std::fabs(places[1].x) < 1e-9);  // "the" is above
  CHECK(places[1].y > 0);
  CHECK(places[0].x >= 0);       // and "a" to its right
  WordVectors mirrored = words;  // the same picture from vectors seen in a mirror
  mirrored.vectors = words.vectors.clone();
  for (int64_t i = 0; i < 5; ++i) mirrored.vectors.data<double>()[3 * i] *= -1;
  const std::vector<Place> again = polar_places(mirrored, 1);
  for (size_t i = 0; i < 5; ++i)
    CHECK(std::hypot(again[i].x - places[i].x, again[i].y - places[i].y) < 1e-6);

  // A dictionary in another order, as lm_train --vocab takes one: by count, ties by id.
  std::ofstream(dir / "model/dict.txt") << "x 4\nthe 80\ndog 7\na 90\ncat 6\nred 7\n";
  const WordVectors ordered = read_word_vectors(dir / "model", 4);
  CHECK(ordered.words == std::vector<std::string>{"a", "the", "dog", "red"});
  CHECK(ordered.counts == std::vector<int64_t>{90, 80, 7, 7});
  const std::vector<double> vectors = ordered.vectors.to_vector(), all = weights.to_vector();
  for (size_t i = 0; i < 4; ++i) {
    const size_t id = std::array<size_t, 4>{5, 3, 4, 7}[i];
    for (size_t j = 0; j < 3; ++j) CHECK(vectors[3 * i + j] == all[3 * id + j]);
  }

  CHECK(word_group("the") == word_group("two"));
  CHECK(word_group("her") != word_group("the"));
  CHECK(word_group("zebra") == kNoGroup);
  CHECK(has(error_of([&] { write_word_page(dir / "model", "small", {}, dir / "page.html"); }),
            "too few for a picture"));
  // A dictionary of another model would give its words the vectors of others.
  std::ofstream(dir / "model/dict.txt") << "a 90\nthe 80\n";
  CHECK(has(error_of([&] { read_word_vectors(dir / "model", 2); }),
            "dict.txt has 4 entries with </s> and <unk>, but embedding.weight of its model has the "
            "shape (8, 3)"));
}

TEST_CASE("words: a directory of transformers has the first tokens of its tokenizer") {
  const TemporaryDirectory dir;
  const std::string folder = dir / "llama";
  std::filesystem::create_directory(folder);
  const std::vector<std::string> tokens{"a", "b", "c", "d", "e", "f", "g",
                                        "h", "i", "j", "k", ".", "Ċ", "Ġ"};
  Json vocabulary = Json::object();
  for (const std::string& token : tokens) vocabulary[token] = vocabulary.size();
  const Json tokenizer{
      {"version", "1.0"},
      {"added_tokens", Json::array()},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}};
  dir.write("llama/tokenizer.json", tokenizer.dump());
  dir.write("llama/config.json", Json{{"model_type", "llama"},
                                      {"num_hidden_layers", 1},
                                      {"num_attention_heads", 2},
                                      {"hidden_size", 4},
                                      {"hidden_act", "silu"},
                                      {"max_position_embeddings", 16},
                                      {"bos_token_id", 12},
                                      {"eos_token_id", 12}}
                                     .dump());
  std::map<std::string, Tensor> tensors;
  const auto add = [&](const char* name, const Shape& shape) {
    Tensor t(shape, DType::float32);
    RandomStream random({.seed = 4, .op = stream_id(name)});
    for (int64_t i = 0; i < t.elements(); ++i)
      t.data<float>()[i] = static_cast<float>(random.uniform() - 0.5);
    tensors[name] = t;
  };
  // Two rows more than the tokenizer has tokens.
  for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) add(name, {16, 4});
  for (const char* name : {"model.norm.weight", "model.layers.0.input_layernorm.weight",
                           "model.layers.0.post_attention_layernorm.weight"})
    add(name, {4});
  for (const char* name :
       {"model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_proj.weight",
        "model.layers.0.self_attn.v_proj.weight", "model.layers.0.self_attn.o_proj.weight"})
    add(name, {4, 4});
  for (const char* name :
       {"model.layers.0.mlp.gate_proj.weight", "model.layers.0.mlp.up_proj.weight"})
    add(name, {6, 4});
  add("model.layers.0.mlp.down_proj.weight", {4, 6});
  std::vector<NamedView> views;
  for (const auto& [name, tensor] : tensors) views.push_back({name, tensor});
  write_safetensors(folder + "/model.safetensors", views);

  const WordVectors words = read_word_vectors(folder, 13);
  CHECK_FALSE(words.counted);
  CHECK(words.words == std::vector<std::string>(tokens.begin(), tokens.begin() + 13));
  const std::vector<double> vectors = words.vectors.to_vector(),
                            all = tensors.at("lm_head.weight").to_vector();
  CHECK(std::equal(vectors.begin(), vectors.end(), all.begin()));
  CHECK(read_word_vectors(folder, 100).words.back() == "<id_15>");

  const auto report = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all_of{"--words", folder, "--output", dir / "page.html"};
    all_of.insert(all_of.end(), more.begin(), more.end());
    return run_program("nine_report", all_of);
  };
  const Outcome page = report({});
  REQUIRE_MESSAGE(page.code == 0, page.err);
  const std::string html = slurp(dir / "page.html");
  CHECK(has(html, "The 16 first tokens of the tokenizer, 4 numbers each (head.weight)"));
  CHECK(has(html, "[\"a\",null,"));
  CHECK_FALSE(has(html, "most frequent words"));
  CHECK_FALSE(has(html, "occurrences, from"));
  CHECK_FALSE(has(html, "dict.txt"));
  const Outcome angles = report({"--angles"});
  REQUIRE_MESSAGE(angles.code == 0, angles.err);
  CHECK(has(slurp(dir / "page.html"), "At most 1000 first tokens of the tokenizer of each model"));
  // Neither a dictionary nor a tokenizer.
  std::filesystem::remove(folder + "/tokenizer.json");
  CHECK(has(report({}).err, "a model of transformers needs its tokenizer.json there"));
}

TEST_CASE(
    "words: of an untied mixture the first component's vectors, tied to the embedding or not") {
  const TemporaryDirectory dir;
  std::ofstream(dir / "dict.txt") << "a 9\nb 5\n";
  // The number of its tensor, component, word and column.
  const auto numbered = [](const Shape& shape, float tensor) {
    Tensor t(shape, DType::float32);
    for (int64_t i = 0; i < t.elements(); ++i) t.data<float>()[i] = tensor + static_cast<float>(i);
    return t;
  };
  const Tensor embedding = numbered({4, 3}, 100), other = numbered({1, 4, 3}, 200),
               both = numbered({2, 4, 3}, 300);
  const auto vectors = [&](const Tensor& head, const std::map<std::string, std::string>& metadata) {
    write_safetensors(dir / "model.safetensors",
                      {{"embedding.weight", embedding}, {"head.weight", head}}, metadata);
    return read_word_vectors(dir.path(), 2);
  };
  const std::vector<double> tied{106, 107, 108, 109, 110, 111}, own{306, 307, 308, 309, 310, 311};
  const std::map<std::string, std::string> mixture{{"head", "mix:2*lin"}, {"untied", "true"}};
  CHECK(vectors(other, mixture).vectors.to_vector() == tied);
  CHECK(vectors(other, mixture).tensor == "embedding.weight");
  CHECK(vectors(both, mixture).vectors.to_vector() == own);
  CHECK(vectors(both, mixture).tensor == "head.weight");
  // A configuration says it too, and wins.
  std::ofstream(dir / "config.json") << R"({"head": "mix:2*lin", "untied": true})";
  CHECK(vectors(other, {}).vectors.to_vector() == tied);
  CHECK(vectors(both, {}).vectors.to_vector() == own);
  std::ofstream(dir / "dict.txt") << "a 9\nb 5\nc 4\n";
  CHECK(has(error_of([&] { vectors(both, {}); }), "head.weight of its model has the shape (2, 4,"));
}

TEST_CASE("words: labels cover neither each other nor labelled points") {
  std::vector<Place> points;
  RandomStream random({.seed = 6, .op = stream_id("test")});
  for (int i = 0; i < 80; ++i) points.push_back({400 * random.uniform(), 300 * random.uniform()});
  points.push_back(points[0]);
  const std::vector<double> widths(points.size(), 50.0);
  const std::vector<Side> sides = place_labels(points, widths, 400, 300, {});
  CHECK(sides[0] != Side::none);      // the first has the first choice
  CHECK(sides.back() == Side::none);  // on top of the first
  CHECK(std::count(sides.begin(), sides.end(), Side::none) < 60);
  const std::vector<Side> narrow = place_labels(points, widths, 200, 300, sides);
  for (size_t i = 0; i < sides.size(); ++i)
    CHECK((narrow[i] == Side::none || narrow[i] == sides[i]));
  const auto middle = [&](size_t i) {
    const double along = sides[i] == Side::right  ? 30
                         : sides[i] == Side::left ? -30
                                                  : 0,
                 down = sides[i] == Side::above   ? -12
                        : sides[i] == Side::below ? 12
                                                  : 0;
    return Place{points[i].x + along, points[i].y + down};
  };
  for (size_t i = 0; i < sides.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (sides[i] != Side::none && sides[j] != Side::none)
        CHECK((std::fabs(middle(i).x - middle(j).x) >= 49.9 ||
               std::fabs(middle(i).y - middle(j).y) >= 13.9));
}

TEST_CASE("words on which two models differ add up to what lm_score --compare says") {
  const TemporaryDirectory dir;
  for (const std::string size : {"12", "32"}) {
    const Outcome r = run_program(
        "lm_train", {"--sample", "--sample-sentences", "800", "--layers", "1", "--hidden", size,
                     "--embed", size, "--batch", "8", "--after", "60u", "--run", dir / size});
    REQUIRE_MESSAGE(r.code == 0, r.err);
  }
  const std::vector<std::string> lines = SampleLanguage().generate(1, "valid", 300).lines;
  const WordDifferences gains =
      word_differences(dir / "12", dir / "32", lines, {.carry_state = true}, kCpu);
  double sum = 0;
  int64_t count = 0;
  for (const WordDifference& w : gains.words) sum += w.gain, count += w.count;
  CHECK(count == gains.tokens);
  CHECK(sum == doctest::Approx(gains.gain));
  CHECK(std::is_sorted(gains.words.begin(), gains.words.end(),
                       [](const auto& x, const auto& y) { return x.gain > y.gain; }));
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const Outcome compared =
      run_program("lm_score", {"--compare", dir / "12", dir / "32", "--carry-state"}, text);
  REQUIRE_MESSAGE(compared.code == 0, compared.err);
  const size_t at = compared.out.find("mean gain\t");
  REQUIRE(at != std::string::npos);
  CHECK(std::stod(compared.out.substr(at + 10)) ==
        doctest::Approx(gains.gain / static_cast<double>(gains.tokens)).epsilon(1e-4));

  const Outcome page = run_program(
      "nine_report", {dir / "12", dir / "32", "--differences", "--output", dir / "page.html"});
  REQUIRE_MESSAGE(page.code == 0, page.err);
  const std::string html = slurp(dir / "page.html");
  CHECK(has(html, "Likelier under 32"));
  CHECK(has(html, "The state is carried from sentence to sentence, as in both validations."));
  CHECK(has(html, "<th scope=\"row\"><bdi>" + gains.words.front().word));
  // "-" is standard output, of every page.
  std::filesystem::create_directory(dir / "here");
  const std::string here = dir / "here";
  const auto prints = [&](const std::string& arguments) {
    const Outcome o =
        run_program("/bin/sh", {"-c", concat("cd ", here, " && ", NINE_BIN_DIR, "/nine_report ",
                                             arguments, " --output -")});
    CHECK_MESSAGE(o.code == 0, o.err);
    CHECK(o.out.starts_with("<!DOCTYPE html>"));
    CHECK(o.out.ends_with("</html>\n"));
    CHECK(std::filesystem::is_empty(here));
    return o.out;
  };
  CHECK(prints(concat(dir / "12", " ", dir / "32", " --differences")) == html);
  const std::string model = concat("--words ", dir / "12", " --iterations 5 --most-frequent 20");
  prints(model);
  prints(model + " --angles --permutations 9");
  CHECK(has(run_program("nine_report", {dir / "12", "--differences"}).err, "give two"));
  CHECK(run_program("nine_report", {}).code == 2);
  for (const std::vector<std::string>& twice :
       std::vector<std::vector<std::string>>{{dir / "12", std::string(dir / "12") + "/"},
                                             {"--angles", "--words", dir / "12", dir / "32/../12"}})
    CHECK(has(run_program("nine_report", twice).err, "that is named twice: leave one of them out"));
  CHECK(has(run_program("nine_report", {dir / "12", "--output", dir / "12/log.jsonl"}).err,
            "is also a file of the run and would be lost"));
  CHECK(run_program("nine_report", {dir / "12", "--perplexity", "9"}).code == 2);
}

TEST_CASE("nine_report --differences: the text is read as in the validations") {
  const TemporaryDirectory dir;
  const auto train = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> all{"--sample", "--sample-sentences",
                                 "300",      "--layers",
                                 "1",        "--hidden",
                                 "8",        "--lr",
                                 "0.02",     "--embed",
                                 "8",        "--after",
                                 "20u",      "--run",
                                 dir / name};
    all.insert(all.end(), more.begin(), more.end());
    const Outcome r = run_program("lm_train", all);
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return log_of(dir / name).back()["best_valid_ppl"].get<double>();
  };
  const double a = train("a", {"--sentences"}),
               b = train("b", {"--sentences", "--seed", "1", "--head", "pow"});
  train("carried", {});
  const auto page = [&](const std::string& first, const std::string& second) {
    const Outcome r = run_program(
        "nine_report", {dir / first, dir / second, "--differences", "--output", dir / "page.html"});
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return slurp(dir / "page.html");
  };
  const std::string both = page("a", "b");
  CHECK(has(both, concat("has ", figure(b / a), " times the perplexity")));
  CHECK(has(both, "The state is fresh at the start of each sentence, as in both validations."));
  const std::string mixed = page("carried", "b");
  CHECK(has(mixed, "fresh at the start of each sentence, as in the validation of "));
  CHECK(has(mixed, ", but not of "));
}

}  // namespace nine::tests::test_projection
