// Clusters of words: distances and clusters by hand, vectors of positive PMI against a matrix by
// hand, and lm_score --clusters.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include "core/safetensors.h"
#include "data/ppmi.h"
#include "data/word_clusters.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_word_clusters {
namespace {

using doctest::Approx;

double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
  return ab / std::sqrt(aa * bb);
}

}  // namespace

TEST_CASE("word_distances: by hand") {
  const std::vector<double> v{3, 4, 0, 5, -4, 3};
  const auto inner = word_distances(v, 2, WordDistance::inner),
             euclidean = word_distances(v, 2, WordDistance::euclidean),
             cosines = word_distances(v, 2, WordDistance::cosine);
  CHECK(inner[1] == -20);
  CHECK(inner[3] == -20);
  CHECK(euclidean[1] == Approx(std::sqrt(10)));
  CHECK(euclidean[0] == 0);
  CHECK(cosines[1] == Approx(0.2));
  CHECK(cosines[2] == Approx(1));
  CHECK(word_distances(std::vector<double>{0, 0, 1, 1}, 2, WordDistance::cosine)[1] == 1);
  CHECK(has(error_of([&] { word_distances(v, 4, WordDistance::inner); }), "rows of 4"));
}

// Words on a line at 0, 1, 3, 10, 11.5, 30: with two neighbours each, the sums are 4 (at 0: 1 + 3),
// 3 (1 + 2), 5 (2 + 3), 8.5 (at 10: 1.5 + 7), 10 (1.5 + 8.5), 38.5.
TEST_CASE("closest_clusters: smallest sum first, without a common word") {
  const std::vector<double> at{0, 1, 3, 10, 11.5, 30};
  const auto distances = word_distances(at, 1, WordDistance::euclidean);
  const auto clusters = closest_clusters(distances, 3, 5);
  REQUIRE(clusters.size() == 2);  // those of 0, 3, 10 and 11.5 share a word with the first
  CHECK(clusters[0].words == std::vector<size_t>{1, 0, 2});
  CHECK(clusters[0].distance == Approx(3));
  CHECK(clusters[1].words == std::vector<size_t>{5, 4, 3});
  CHECK(clusters[1].distance == Approx(38.5));
  const auto pairs = closest_clusters(distances, 2, 2);
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].words == std::vector<size_t>{0, 1});
  CHECK(pairs[1].words == std::vector<size_t>{3, 4});
  CHECK(closest_clusters(distances, 6, 9).size() == 1);
  CHECK(has(error_of([&] { closest_clusters(distances, 7, 1); }), "7 words of 6"));
  CHECK(has(error_of([&] { closest_clusters(distances, 1, 1); }), "at least 2"));
  CHECK(has(error_of([&] { closest_clusters(std::vector<double>(5), 2, 1); }), "all pairs"));
}

TEST_CASE("ppmi_vectors: with all dimensions, the cosines of the matrix's rows") {
  const TemporaryDirectory dir;
  const std::string text = dir.write("t.txt", "a b c d\nb a d c a\nzz a zz b\nc e a\ne d b\nd\n");
  WordCounts counts;
  for (const char* word : {"a", "b", "c", "d", "e"}) counts.add(word, 9);
  const Vocabulary vocabulary = Vocabulary::build(counts, Specials::kLanguageModel);
  // n(w, c) within two words of each other, counted here by looking at every pair of places.
  std::map<std::string, std::map<std::string, double>> n;
  std::map<std::string, double> sums;
  double total = 0;
  for (const std::string& line : split(slurp(text), '\n')) {
    const Strings words = split(line, ' ');
    for (size_t i = 0; i < words.size(); ++i)
      for (size_t j = 0; j < words.size(); ++j)
        if (i != j && (i > j ? i - j : j - i) <= 2 && words[i] != "zz" && words[j] != "zz") {
          ++n[words[i]][words[j]];
          ++sums[words[i]];
          ++total;
        }
  }
  const Strings words{"a", "b", "c", "d", "e"};
  std::vector<std::vector<double>> rows;
  std::vector<int32_t> ids;
  for (const std::string& w : words) {
    rows.emplace_back();
    for (const std::string& c : words) {
      const double both = n[w][c];
      rows.back().push_back(both > 0 ? std::max(0.0, std::log(both * total / (sums[w] * sums[c])))
                                     : 0);
    }
    ids.push_back(vocabulary.id(w));
  }
  const std::vector<double> vectors = ppmi_vectors({text}, vocabulary, ids, {});
  REQUIRE(vectors.size() == 25);
  const auto row = [&](size_t i) {
    return std::vector<double>(vectors.begin() + static_cast<long>(5 * i),
                               vectors.begin() + static_cast<long>(5 * i + 5));
  };
  for (size_t i = 0; i < 5; ++i)
    for (size_t j = 0; j < i; ++j)
      CHECK(std::fabs(cosine(row(i), row(j)) - cosine(rows[i], rows[j])) < 1e-9);
  // Two dimensions keep at most the whole length.
  const std::vector<double> two = ppmi_vectors({text}, vocabulary, ids, {.dimensions = 2});
  REQUIRE(two.size() == 10);
  double kept = 0, whole = 0;
  for (const double v : two) kept += v * v;
  for (const double v : vectors) whole += v * v;
  CHECK(kept < whole);
  CHECK(kept > 0.4 * whole);

  const std::string lone = dir.write("lone.txt", "a\nzz b zz\n");
  CHECK(has(error_of([&] { ppmi_vectors({lone}, vocabulary, ids, {}); }), "no two neighbouring"));
  const std::string few = dir.write("few.txt", "a b\nc zz zz d\n");
  CHECK(has(error_of([&] { ppmi_vectors({few}, vocabulary, ids, {}); }), "does not have 'c'"));
  // Those that have a neighbour, and their vectors as they are without the others.
  std::vector<int32_t> with_neighbours = ids;
  const std::vector<double> of_neighbours =
      ppmi_vectors_of_neighbours({few}, vocabulary, with_neighbours, {});
  CHECK(with_neighbours == std::vector<int32_t>{vocabulary.id("a"), vocabulary.id("b")});
  CHECK(of_neighbours == ppmi_vectors({few}, vocabulary, with_neighbours, {}));
  std::vector<int32_t> all = ids;
  CHECK(ppmi_vectors_of_neighbours({text}, vocabulary, all, {}) == vectors);
  CHECK(all == ids);
  CHECK(has(error_of([&] { ppmi_vectors_of_neighbours({lone}, vocabulary, all, {}); }),
            "no two neighbouring"));
}

namespace {

// Writes weights without the metadata that name the model's own dictionary, as other programs do.
void write_without_dictionary(const std::string& from, const std::string& to) {
  Safetensors weights = read_safetensors(from);
  std::vector<NamedView> tensors;
  for (const auto& [name, tensor] : weights.tensors) tensors.push_back({name, tensor});
  weights.metadata.erase("words");
  write_safetensors(to, tensors, weights.metadata);
}

}  // namespace

TEST_CASE("lm_score --clusters: the frequent words of a dictionary in another order") {
  const TemporaryDirectory dir;
  const std::string best = model_a() + "/checkpoints/best/";
  write_without_dictionary(best + "model.safetensors", dir / "model.safetensors");
  std::string reversed;
  for (const std::string& line : split(slurp(best + "dict.txt"), '\n'))
    reversed = line + "\n" + reversed;
  dir.write("dict.txt", reversed);
  const auto clusters = [](const std::string& model) {
    return split(lm_score({"--checkpoint", model, "--clusters", "2:inner", "--cluster-size", "3",
                           "--cluster-min-count", "20"},
                          ""),
                 '\n');
  };
  const Strings sorted = clusters(model_a()), made = clusters(dir.path().string());
  REQUIRE(made.size() == sorted.size());
  CHECK(made[0].substr(0, made[0].find(';')) == sorted[0].substr(0, sorted[0].find(';')));
  for (size_t i = 2; i < made.size(); ++i) {
    const Strings halves = split(made[i], '\t');
    REQUIRE(halves.size() == 2);
    const Strings words = split(halves[0], ' '), counts = split(halves[1], ' ');
    REQUIRE(words.size() == 3);
    REQUIRE(counts.size() == 3);
    for (size_t k = 0; k < 3; ++k) {
      CHECK(std::stoi(counts[k]) >= 20);
      CHECK(has("\n" + reversed, "\n" + words[k] + " " + counts[k] + "\n"));
    }
  }
}

TEST_CASE("lm_score --clusters: words that begin with # make sets that --restrict reads") {
  const TemporaryDirectory dir;
  const std::string best = model_a() + "/checkpoints/best/";
  write_without_dictionary(best + "model.safetensors", dir / "model.safetensors");
  std::string dict;
  for (const std::string& line : split(slurp(best + "dict.txt"), '\n')) dict += "#" + line + "\n";
  dir.write("dict.txt", dict);
  const std::string model = dir.path().string();
  const std::string sets = lm_score({"--checkpoint", model, "--clusters", "2:inner",
                                     "--cluster-size", "3", "--cluster-min-count", "20"},
                                    "");
  Strings words;
  for (const std::string& line : split(sets, '\n'))
    if (!line.starts_with("# ")) words.push_back(split(line, '\t').at(0));
  REQUIRE(words.size() == 2);
  const std::string table =
      lm_score({"--checkpoint", model, "--restrict", dir.write("sets", sets)}, words[0] + "\n");
  for (const std::string& set : words) {
    REQUIRE(set.starts_with(" #"));
    CHECK_MESSAGE(has(table, "\n" + set.substr(1) + " "), table);
  }
}

TEST_CASE("lm_score --clusters N:ppmi: a word that stands beside no other is no candidate") {
  const TemporaryDirectory dir;
  const auto clusters = [&](const std::string& text) {
    return run_program("lm_score",
                       {"--checkpoint", model_a(), "--clusters", "2:ppmi", "--cluster-size", "3",
                        "--cluster-min-count", "20", "--cluster-text", dir.write("text", text)});
  };
  // The frequent words in a row, "today" alone.
  std::string without;
  for (const std::string& line : split(slurp(model_a() + "/checkpoints/best/dict.txt"), '\n'))
    if (const Strings entry = split(line, ' '); entry[0] != "today" && std::stoi(entry[1]) >= 20)
      without += entry[0] + " ";
  without += "\ntoday\n";
  const Outcome r = clusters(without), whole = clusters(without + "the cat today\n");
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK_MESSAGE(
      has(r.err, "stand next to another word of the vocabulary in " + dir / "text" + ": 1\n"),
      r.err);
  CHECK(!has(r.out, "today"));
  CHECK(!has(whole.err, "beside no other"));
  const auto candidates = [](const Outcome& o) {
    const size_t at = o.out.find("among the ");
    REQUIRE(at != std::string::npos);
    return std::stoi(o.out.substr(at + 10));
  };
  CHECK(candidates(r) == candidates(whole) - 1);
  const Outcome few = clusters("the cat\ntoday\n");
  CHECK(few.code == 1);
  CHECK_MESSAGE(has(few.err, concat("of the ", candidates(whole),
                                    " words with 20 occurrences or more, only 2 stand next to")),
                few.err);
}

TEST_CASE("lm_score --clusters: sets that --restrict reads") {
  const TemporaryDirectory dir;
  const std::string text = dir.write("text.txt", longer_text());
  const auto clusters = [&](Strings more) {
    more.insert(more.begin(), {"--checkpoint", model_a(), "--cluster-min-count", "20"});
    return run_program("lm_score", more);
  };
  for (const char* spec : {"2:inner", "2:euclidean", "2:cosine", "2:ppmi"}) {
    CAPTURE(spec);
    Strings arguments{"--clusters", spec, "--cluster-size", "3", "--output", dir / "sets"};
    if (std::string(spec) == "2:ppmi") arguments.insert(arguments.end(), {"--cluster-text", text});
    const Outcome r = clusters(arguments);
    REQUIRE_MESSAGE(r.code == 0, r.err);
    const std::string dict = "\n" + slurp(model_a() + "/checkpoints/latest/dict.txt");
    std::set<std::string> seen;
    int sets = 0;
    for (const std::string& line : split(slurp(dir / "sets"), '\n')) {
      if (line.starts_with("#")) continue;
      ++sets;
      const Strings halves = split(line, '\t');
      REQUIRE(halves.size() == 2);
      const Strings words = split(halves[0], ' '), counts = split(halves[1], ' ');
      REQUIRE(words.size() == 3);
      REQUIRE(counts.size() == 3);
      for (size_t i = 0; i < 3; ++i) {
        CHECK(seen.insert(words[i]).second);
        CHECK(std::stoi(counts[i]) >= 20);
        CHECK(dict.find("\n" + words[i] + " " + counts[i] + "\n") != std::string::npos);
      }
    }
    CHECK(sets == 2);
    CHECK(run_program("lm_score", {"--checkpoint", model_a(), "--restrict", dir / "sets"},
                      longer_text())
              .code == 0);
  }
  CHECK(has(clusters({"--clusters", "2:ppmi"}).err, "--cluster-text FILE"));
  CHECK(has(clusters({"--clusters", "2:inner", "--cluster-text", text}).err, "2:inner") == false);
  CHECK(clusters({"--clusters", "2:inner", "--cluster-text", text}).code == 2);
  CHECK(has(clusters({"--clusters", "2"}).err, "20:ppmi"));
  CHECK(has(clusters({"--clusters", "2:coasine"}).err, "cosine"));
  const Outcome many = clusters({"--clusters", "2:inner", "--cluster-size", "500"});
  CHECK(many.code == 1);
  CHECK(has(many.err, "lower --cluster-min-count"));
  const Outcome all = clusters({"--clusters", "500:inner", "--cluster-size", "3"});
  CHECK(all.code == 0);
  CHECK(has(all.err, "but 500 were asked for"));
}

}  // namespace nine::tests::test_word_clusters
