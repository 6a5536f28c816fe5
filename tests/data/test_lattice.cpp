// Lattices: both formats, the best word sequences against a list of all paths, files that are
// refused.
#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/number_format.h"
#include "data/lattice_paths.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_lattice {
namespace {

const std::string kSlf =
    "VERSION=1.0\nUTTERANCE=u1\nlmscale=2.0 wdpenalty=-0.5\n# a comment\nN=5 L=6\n"
    "I=0 t=0.00 W=!NULL\nI=1 t=0.25 W=the\nI=2 t=0.5 W=cat(2)\nI=3 t=0.6 W=mat\nI=4 t=0.9 W=!NULL\n"
    "J=0 S=0 E=1 a=-10 l=-1\nJ=1 S=1 E=2 a=-5.5 l=-2\nJ=2 S=1 E=3 a=-5 l=-2.5\n"
    "J=3 S=2 E=4 a=-1\nJ=4 S=3 E=4 a=-1.25 l=-0.125\nJ=5 S=0 E=2 a=-22 l=-1\n";

const std::string kKaldi =
    "u1\n0 1 the 1.0,10.0,3_4_5\n1 2 cat 2.0,5.5,\n1 3 mat 2.5,5.0,7\n2 0.0,1.0,\n"
    "3 0.125,1.25,8_8\n0 2 cat 1,22\n\nu2\n0 1 12 0 4,5\n1 2 12 7 1,1\n2\n";

std::vector<Lattice> read(const std::string& text, LatticeFormat format = LatticeFormat::slf,
                          const std::string& name = "u.lat") {
  const TemporaryDirectory dir;
  return read_lattices(dir.write(name, text), {.format = format});
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

struct Listed {
  std::string words;
  double score;
};
std::vector<Listed> listed(const Lattice& lattice, const LatticeScales& scales, int64_t count) {
  std::vector<Listed> all;
  for (const LatticePath& path : n_best_paths(lattice, scales, count))
    all.push_back({text_of(lattice, path.words), path.score});
  return all;
}

// The oracle: all paths, one after another; the best score of each word sequence.
void walk(const Lattice& lattice, const LatticeScales& scales, int32_t node, double score,
          const std::string& words, std::map<std::string, double>& best) {
  for (const LatticeLink& end : lattice.ends)
    if (end.from == node) {
      const double whole = score + scales.acoustic * end.acoustic + scales.language * end.language;
      const auto at = best.emplace(words, whole).first;
      at->second = std::max(at->second, whole);
    }
  for (const LatticeLink& link : lattice.links)
    if (link.from == node) {
      const double part = scales.acoustic * link.acoustic + scales.language * link.language;
      if (link.word < 0)
        walk(lattice, scales, link.to, score + part, words, best);
      else
        walk(lattice, scales, link.to, score + part + scales.word_penalty,
             words + (words.empty() ? "" : " ") + std::string(lattice.words.text(link.word)), best);
    }
}

std::string random_slf(uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> score(-6, 0);
  const int nodes = 4 + static_cast<int>(random() % 6);
  const std::vector<std::string> words{"a", "b", "c", "!NULL", "!NULL", "b(2)"};
  std::string lines;
  int links = 0;
  for (int from = 0; from + 1 < nodes; ++from)
    for (int to = from + 1; to < nodes; ++to)
      for (auto parallel = random() % 3; parallel > 0 || to == from + 1;
           parallel = parallel == 0 ? 0 : parallel - 1) {
        lines +=
            concat("J=", links++, " S=", from, " E=", to, " W=", words[random() % words.size()],
                   " a=", shortest(score(random)), " l=", shortest(score(random)), "\n");
        if (parallel == 0) break;
      }
  std::string text = concat("N=", nodes, " L=", links, "\n");
  for (int node = nodes; node-- > 0;) text += concat("I=", node, "\n");
  return text + lines;
}

}  // namespace

TEST_CASE("read_lattices: HTK's format, words at nodes") {
  const Lattice lattice = read(kSlf).at(0);
  CHECK(lattice.utterance == "u1");
  CHECK(lattice.nodes == 5);
  CHECK(lattice.links.size() == 6);
  CHECK(lattice.times == std::vector<double>{0, 0.25, 0.5, 0.6, 0.9});
  CHECK(lattice.scales.language == 2);
  const auto paths = listed(lattice, lattice.scales, 10);
  REQUIRE(paths.size() == 3);
  CHECK(paths[0].words == "the cat");
  CHECK(paths[0].score == doctest::Approx(-16.5 + 2 * -3.0 - 1.0));
  CHECK(paths[1].words == "the mat");
  CHECK(paths[1].score == doctest::Approx(-16.25 + 2 * -3.625 - 1.0));
  CHECK(paths[2].words == "cat");
  CHECK(paths[2].score == doctest::Approx(-23 + 2 * -1.0 - 0.5));
}

TEST_CASE("read_lattices: words at links, quotes, bases, start and end, gzip") {
  const std::string text =
      "base=10\nstart=7 end=3\nN=3 L=3\nI=7\nI=5\nI=3\nJ=0 S=7 E=5 W=\"two=words\" a=-1 l=-2\n"
      "J=1 S=5 E=3 W=b\\=c a=-1\nJ=2 S=5 E=3 W=<sil> a=-2\n";
  const TemporaryDirectory dir;
  const std::string packed = dir / "s1.lat.gz";
  const gzFile file = gzopen(packed.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  for (const std::string& path : {dir.write("s1.lat", text), packed}) {
    const Lattice lattice = read_lattices(path, {}).at(0);
    CHECK(lattice.utterance == "s1");
    CHECK(lattice.times.empty());
    const auto paths = listed(lattice, lattice.scales, 5);
    REQUIRE(paths.size() == 2);
    CHECK(paths[0].words == "two=words b=c");
    CHECK(paths[0].score == doctest::Approx(-4 * std::log(10.0)));
    CHECK(paths[1].words == "two=words");
  }
  const Lattice linear = read("base=0\nN=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W=x a=0.25 l=0.5\n").at(0);
  CHECK(listed(linear, linear.scales, 1)[0].score == doctest::Approx(std::log(0.125)));
  // A word at the start node is on every path.
  const Lattice first = read("N=2 L=1\nI=0 W=oh\nI=1 W=no\nJ=0 S=0 E=1 a=-1\n").at(0);
  CHECK(listed(first, first.scales, 1)[0].words == "oh no");
}

TEST_CASE("read_lattices: Kaldi's format") {
  const std::vector<Lattice> lattices = read(kKaldi, LatticeFormat::kaldi);
  REQUIRE(lattices.size() == 2);
  CHECK(lattices[0].utterance == "u1");
  const LatticeScales scales{.language = 2, .word_penalty = -0.5};
  const auto paths = listed(lattices[0], scales, 10), slf = listed(read(kSlf)[0], scales, 10);
  REQUIRE(paths.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(paths[i].words == slf[i].words);
    CHECK(paths[i].score == doctest::Approx(slf[i].score));
  }
  const auto second = listed(lattices[1], {}, 5);
  REQUIRE(second.size() == 1);
  CHECK(second[0].words == "7");  // 0 is no word; 12 are transition-ids
  CHECK(second[0].score == doctest::Approx(-11));
}

TEST_CASE("n_best_paths: the best word sequences of all paths, each once") {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const Lattice lattice = read(random_slf(seed)).at(0);
    for (const LatticeScales& scales :
         {LatticeScales{}, {.acoustic = 0.1, .language = 3, .word_penalty = 1.5}}) {
      std::map<std::string, double> best;
      walk(lattice, scales, 0, 0, "", best);
      std::vector<double> scores;
      for (const auto& words : best) scores.push_back(words.second);
      std::sort(scores.rbegin(), scores.rend());
      for (const int64_t count : {int64_t{1}, int64_t{7}, int64_t{100'000}}) {
        const auto paths = listed(lattice, scales, count);
        REQUIRE(paths.size() == std::min(scores.size(), static_cast<size_t>(count)));
        std::map<std::string, int> seen;
        for (size_t i = 0; i < paths.size(); ++i) {
          CHECK(paths[i].score == doctest::Approx(scores[i]).epsilon(1e-12));
          CHECK(paths[i].score == doctest::Approx(best.at(paths[i].words)).epsilon(1e-12));
          CHECK(++seen[paths[i].words] == 1);
        }
      }
    }
  }
}

TEST_CASE("read_lattices: what is on no path is left out and counted; log zeros are no links") {
  const std::string text =
      "N=5 L=4\nstart=0 end=2\nI=0\nI=1\nI=2\nI=3\nI=4\nJ=0 S=0 E=1 W=a\nJ=1 S=1 E=2 W=b a=-1\n"
      "J=2 S=1 E=3 W=c\nJ=3 S=0 E=2 W=d a=-1e10\n";
  const Lattice lattice = read(text).at(0);
  CHECK(lattice.nodes == 3);
  CHECK(lattice.removed == 2);
  CHECK(listed(lattice, {}, 9).size() == 1);
}

TEST_CASE("read_lattices: a lattice without a name has that of its file") {
  CHECK(read(replaced(kSlf, "UTTERANCE=u1", "UTTERANCE=")).front().utterance == "u");
}

TEST_CASE("read_lattices: bytes that HTK and SRILM write as octal numbers") {
  const auto words = [](const std::string& spelled) {
    return listed(read(replaced(kSlf, "W=the", "W=" + spelled)).front(), {}, 1).front().words;
  };
  CHECK(words("caf\\303\\251").starts_with("caf\u00E9 "));
  CHECK(words("a\\\\b\\30x").starts_with("a\\b30x "));  // a backslash before other characters
  CHECK(has(error_of([&] { words("caf\\351"); }), "is not valid UTF-8"));
  CHECK(has(error_of([&] { words("a\\012b"); }), "W has '\\012', a control character"));
}

TEST_CASE("read_lattices: what is refused") {
  const auto slf = [](const std::string& from, const std::string& to) {
    return error_of([&] { read(replaced(kSlf, from, to)); });
  };
  CHECK(has(slf("N=5", "N=6"), "N=6, but the file has 5 nodes"));
  CHECK(has(slf("L=6", "L=5"), "L=5, but the file has 6 links"));
  CHECK(has(slf("N=5 L=6\n", ""), "no line 'N=NODES L=LINKS'"));
  CHECK(has(slf("I=4", "I=3"), "line 10: the node 3 is defined already"));
  CHECK(has(slf("J=1", "J=0"), "line 12: the link 0 is defined already"));
  CHECK(has(slf("E=3", "E=9"), "names the node 9, which is not defined"));
  CHECK(has(slf("S=2 E=4", "S=2 E=1"), "cycle"));
  CHECK(has(slf("S=2 E=4", "E=4"), "line 14: a link has a start S= and an end E="));
  CHECK(has(slf("a=-10", "a=ten"), "line 11: 'ten' is not a score"));
  CHECK(has(slf("a=-10", "a=inf"), "line 11: the score is too large"));
  CHECK(has(slf("a=-10", "-10"), "is not a field KEY=VALUE"));
  CHECK(has(slf("W=the", "W=\"the"), "has no second \""));
  CHECK(has(slf("I=3 t=0.6", "I=3 L=sub t=0.6"), "sublattices are not read"));
  CHECK(has(slf("W=the", "W=\"the old\""), "the word 'the old' has a space"));
  CHECK(has(slf("W=the", "W=the\\ old"), "the word 'the old' has a space"));
  CHECK(has(slf("lmscale=2.0", "base=1"), "is no base of logarithms"));
  CHECK(has(slf("lmscale=2.0", "base=0"), "a link has a score below 0"));
  CHECK(has(error_of([] { read("N=2 L=0\nI=0\nI=1\n"); }), "are both without links to them"));
  const auto kaldi = [](const std::string& from, const std::string& to) {
    return error_of([&] { read(replaced(kKaldi, from, to), LatticeFormat::kaldi); });
  };
  CHECK(has(kaldi("u1\n", ""), "line 1: a lattice begins with a line with the name"));
  CHECK(has(kaldi("u2", "u1"), "'u1' has a lattice already"));
  CHECK(has(kaldi("1.0,10.0,3_4_5", "1.0,ten,3"), "line 2: 'ten' is not a score"));
  CHECK(has(kaldi("1.0,10.0,3_4_5", "-1e10,1,"), "is too small for a cost"));
  CHECK(has(kaldi("1 3 mat", "1 0 mat"), "cycle"));
  // Finite-state machines with weights, which are no pair of costs.
  for (const char* line : {"0 1 the 2.5", "0 1 11 2.5", "0 1 the the 2.5", "0 1 the 1;2;3_4",
                           "0 1 11 the 2.5", "0 1 the the 1.0,10.0,3"})
    CHECK_MESSAGE(has(kaldi("0 1 the 1.0,10.0,3_4_5", line), "line 2: "), line);
  CHECK(has(kaldi("0 1 the 1.0,10.0,3_4_5", "0 1 the 2.5"),
            "costs are 'graph-cost,acoustic-cost,transition-ids', but this is '0 1 the 2.5'"));
  // Costs of 0 may be missing, also where transition-ids stand before the word.
  for (const char* line : {"0 1 the", "0 1 11 the", "0 1 11 12"})
    CHECK_MESSAGE(kaldi("0 1 the 1.0,10.0,3_4_5", line).empty(), line);
  CHECK(has(kaldi("\n2\n", "\n"), "has no final state"));
  CHECK(has(kaldi("3 0.125,1.25,8_8\n", "2 0.125,1.25,8_8\n"), "is final already"));
  CHECK(has(error_of([] { read("\n\n", LatticeFormat::kaldi); }), "has no lattice"));
}

TEST_CASE("n_best_lists: lists of lattices, without the empty sequence unless it is allowed") {
  std::vector<Lattice> lattices;
  lattices.push_back(read("N=2 L=2\nI=0\nI=1\nJ=0 S=0 E=1 W=a a=-2\nJ=1 S=0 E=1 a=-1\n").at(0));
  const auto lists = n_best_lists(lattices, 5, false);
  REQUIRE(lists.size() == 1);
  CHECK(lists[0].hypotheses.size() == 1);
  CHECK(lists[0].hypotheses[0].words == "a");
  CHECK(n_best_lists(lattices, 1, true)[0].hypotheses[0].words.empty());
}

}  // namespace nine::tests::test_lattice
