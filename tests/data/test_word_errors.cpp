// Alignments and counts of errors by hand, and against sclite and sc_stats where they are installed
// (Debian's package sctk).
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <regex>

#include "core/number_format.h"
#include "core/random.h"
#include "data/measures/word_errors.h"
#include "data/text.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_word_errors {
namespace {

using doctest::Approx;
namespace fs = std::filesystem;

// C, S, D, I of each edit.
std::string aligned(const std::string& reference, const std::string& hypothesis) {
  std::vector<std::string_view> r, h;
  split_words(reference, r);
  split_words(hypothesis, h);
  std::string text;
  for (const Edit e : align_words(r, h)) text += "CSDI"[static_cast<size_t>(e)];
  return text;
}

std::vector<Edit> edits(const std::string& letters) {
  std::vector<Edit> all;
  for (const char c : letters) all.push_back(static_cast<Edit>(std::string("CSDI").find(c)));
  return all;
}

std::vector<std::pair<int64_t, int64_t>> segments(const std::string& a, const std::string& b) {
  std::vector<ErrorSegment> all;
  append_segments(edits(a), edits(b), all);
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const ErrorSegment& s : all) pairs.emplace_back(s.errors_a, s.errors_b);
  return pairs;
}

// A reference and the words of two systems, with errors of all kinds.
struct MadeUp {
  std::string reference, a, b;
};
std::vector<MadeUp> made_up(int64_t utterances) {
  RandomStream random({.seed = 8});
  const auto word = [&] { return std::string(1, static_cast<char>('a' + random.below(6))); };
  std::vector<MadeUp> all(static_cast<size_t>(utterances));
  for (MadeUp& u : all) {
    const uint64_t words = 1 + random.below(14);
    std::string b;
    for (uint64_t w = 0; w < words; ++w) {
      const std::string own = word();
      u.reference += own + " ";
      for (std::string* system : {&u.a, &u.b}) {
        const uint64_t what = random.below(system == &u.a ? 9 : 12);
        if (what == 0) continue;
        *system += (what == 1 ? word() : own) + " ";
        if (what == 2) *system += word() + " ";
      }
    }
  }
  return all;
}

std::string output_of(const std::string& command) {
  const TemporaryDirectory dir;
  CHECK(std::system((command + " > " + (dir / "out") + " 2>&1").c_str()) == 0);
  return slurp(dir / "out");
}

}  // namespace

TEST_CASE("align_words: by hand") {
  CHECK(aligned("the cat sat", "the cat sat") == "CCC");
  CHECK(aligned("the cat sat", "the dog sat") == "CSC");
  CHECK(aligned("the cat sat", "cat sat down") == "DCCI");
  CHECK(aligned("", "a b") == "II");
  CHECK(aligned("a b", "") == "DD");
  CHECK(aligned("", "").empty());
  // Seven substitutions cost 28, four deletions and four insertions 24 with three words right: one
  // error more.
  CHECK(aligned("a b c d e f g", "e f g h i j k") == "DDDDCCCIIII");
  const WordErrors e = count_errors(edits("CSDICC"));
  CHECK(e.correct == 3);
  CHECK(e.substitutions == 1);
  CHECK(e.deletions == 1);
  CHECK(e.insertions == 1);
  CHECK(e.words() == 5);
  CHECK(e.errors() == 3);
  CHECK(e.rate() == Approx(60));
  CHECK(WordErrors{}.rate() == 0);
  CHECK(percent_text(1, 16) == "6.3");  // 6.25
  CHECK(percent_text(5702, 22766) == "25.0");
  CHECK(percent_text(0, 0) == "0.0");
}

TEST_CASE("append_segments: by hand") {
  using Pairs = std::vector<std::pair<int64_t, int64_t>>;
  CHECK(segments("CCCC", "CCCC") == Pairs{});
  CHECK(segments("CCSCCC", "CCCCCC") == Pairs{{1, 0}});
  // One right word does not separate, two do.
  CHECK(segments("SCCCC", "CCSCC") == Pairs{{1, 1}});
  CHECK(segments("SCCSCC", "CCCCCC") == Pairs{{1, 0}, {1, 0}});
  CHECK(segments("CCIC", "CCC") == Pairs{{1, 0}});
  CHECK(segments("CCC", "CCCI") == Pairs{{0, 1}});
  CHECK(segments("DD", "SS") == Pairs{{2, 2}});
  CHECK(segments("", "II") == Pairs{{0, 2}});
  CHECK(has(error_of([] { segments("CC", "C"); }), "must be the same"));
}

// Differences 1, 0, 1 (the sample of SCTK's own test: three segments, mean 0.667, standard
// deviation 0.577, Z 2.000).
TEST_CASE("mapsswe: SCTK's example") {
  const std::vector<ErrorSegment> s{{3, 2}, {4, 4}, {2, 1}};
  const Mapsswe m = mapsswe(s);
  CHECK(m.segments == 3);
  CHECK(m.mean == Approx(2.0 / 3));
  CHECK(fixed(m.deviation, 3) == "0.577");
  CHECK(fixed(m.z, 3) == "2.000");
  CHECK(m.p == Approx(0.04550026389635839));
  CHECK(mapsswe({}).p == 1);
  CHECK(mapsswe(std::vector<ErrorSegment>{{2, 1}}).p == 1);  // one has no deviation
}

TEST_CASE("mapsswe: differences that are all the same, and differences that cancel out") {
  using Segments = std::vector<ErrorSegment>;
  const Mapsswe better = mapsswe(Segments(40, ErrorSegment{2, 1})),
                worse = mapsswe(Segments(3, ErrorSegment{0, 4})),
                same = mapsswe(Segments{{1, 1}, {2, 2}}), even = mapsswe(Segments{{2, 1}, {1, 2}});
  CHECK(better.z == std::numeric_limits<double>::infinity());
  CHECK(better.p == 0);
  CHECK(worse.z == -std::numeric_limits<double>::infinity());
  CHECK(worse.p == 0);
  CHECK(same.z == 0);
  CHECK(same.p == 1);
  CHECK(even.deviation == Approx(std::sqrt(2)));
  CHECK(even.p == 1);
}

TEST_CASE("word errors: sclite's counts and sc_stats' test of 4,000 made-up utterances" *
          doctest::test_suite("check needs sctk")) {
  require_sctk();
  const TemporaryDirectory dir;
  const std::vector<MadeUp> all = made_up(4000);
  std::string reference, a, b;
  WordErrors errors_a, errors_b;
  std::vector<ErrorSegment> found;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string id = concat("(s_", i, ")\n");
    reference += all[i].reference + id;
    a += all[i].a + id;
    b += all[i].b + id;
    std::vector<std::string_view> r, x, y;
    split_words(all[i].reference, r);
    split_words(all[i].a, x);
    split_words(all[i].b, y);
    const auto aligned_a = align_words(r, x), aligned_b = align_words(r, y);
    errors_a += count_errors(aligned_a);
    errors_b += count_errors(aligned_b);
    append_segments(aligned_a, aligned_b, found);
  }
  dir.write("ref.trn", reference);
  dir.write("a.trn", a);
  dir.write("b.trn", b);
  const std::string cd = "cd " + dir.path().string() + " && ";
  for (const char* system : {"a", "b"}) {
    const WordErrors& e = *system == 'a' ? errors_a : errors_b;
    const std::string name = system;
    const std::string raw = output_of(cd + "sctk sclite -r ref.trn trn -h " + name +
                                      ".trn trn -i rm -s -o rsum stdout");
    std::smatch sum;
    REQUIRE(std::regex_search(
        raw, sum,
        std::regex(R"(\| Sum +\| +(\d+) +(\d+) +\| +(\d+) +(\d+) +(\d+) +(\d+) +(\d+))")));
    CHECK(std::stoll(sum[2]) == e.words());
    CHECK(std::stoll(sum[3]) == e.correct);
    CHECK(std::stoll(sum[4]) == e.substitutions);
    CHECK(std::stoll(sum[5]) == e.deletions);
    CHECK(std::stoll(sum[6]) == e.insertions);
    CHECK(std::stoll(sum[7]) == e.errors());
    output_of(cd + "sctk sclite -r ref.trn trn -h " + name + ".trn trn " + name +
              " -i rm -s -o sgml");
  }
  const std::string stats = output_of(
      cd + "cat a.trn.sgml b.trn.sgml | sctk sc_stats -p -t mapsswe -v -n x; cat x.stats.mapsswe");
  std::smatch line;
  REQUIRE_MESSAGE(std::regex_search(stats, line,
                                    std::regex(R"(# segs: (\d+)\).*mean: (-?[\d.]+)\) \(std dev: )"
                                               R"(([\d.]+)\) \(Z Stat: (-?[\d.]+)\))")),
                  stats.substr(0, 2000));
  const Mapsswe m = mapsswe(found);
  CHECK(std::stoll(line[1]) == m.segments);
  CHECK(line[2] == fixed(m.mean, 3));
  CHECK(line[3] == fixed(m.deviation, 3));
  CHECK(line[4] == fixed(m.z, 3));
}

}  // namespace nine::tests::test_word_errors
