// lm_rescore --lattices: lattices give the words that lists of all their word sequences give.
#include <doctest/doctest.h>

#include <filesystem>
#include <random>
#include <string>

#include "core/number_format.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_rescoring_lattices {
namespace {

const std::string kArpa =
    "\\data\\\nngram 1=7\nngram 2=2\n\n\\1-grams:\n-99\t<s>\t-0.4\n-0.9\t</s>\n-1.5\t<unk>\n"
    "-0.5\tthe\t-0.3\n-0.7\tcat\n-1\tdog\n-0.8\tzebra\n\n\\2-grams:\n-0.2\t<s> the\n-0.3\tthe "
    "cat\n\n"
    "\\end\\\n";

// A confusion network: at each place one of a few words.
std::string lattice(const std::string& name, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> score(-4, 0);
  const Strings words{"the", "a", "cat", "dog", "saw", "heard", "zebra", "!NULL"};
  const int places = 5;
  std::string lines;
  int links = 0;
  for (int place = 0; place < places; ++place)
    for (int choice = 0; choice < 3; ++choice)
      lines += concat("J=", links++, " S=", place, " E=", place + 1,
                      " W=", words[random() % words.size()], " a=", shortest(score(random)),
                      " l=", shortest(score(random)), "\n");
  std::string text = concat("UTTERANCE=", name, "\nlmscale=0.5 wdpenalty=0.25\nN=", places + 1,
                            " L=", links, "\n");
  for (int node = 0; node <= places; ++node) text += concat("I=", node, "\n");
  return text + lines;
}

struct Files {
  TemporaryDirectory dir;
  std::string arpa = dir.write("n.arpa", kArpa), references;
  Strings lattices;
  Files() {
    std::string text;
    for (uint32_t u = 0; u < 12; ++u) {
      const std::string name = concat("u", u);
      lattices.push_back(dir.write(name + ".lat", lattice(name, u)));
      text += name + "\tthe cat saw the dog\n";
    }
    references = dir.write("ref.tsv", text);
  }
  Outcome run(const Strings& more) const {
    Strings arguments{"--lattices"};
    return run_program("lm_rescore", joined(joined(arguments, lattices), more));
  }
};

}  // namespace

TEST_CASE("lm_rescore --lattices: without merging, the words of lists of all word sequences") {
  const Files files;
  const Strings weights{"--lambda", "0.8", "--mu", "0.4"};
  for (const Strings& models :
       {Strings{"--checkpoint", model_a()},
        {"--checkpoint", files.arpa},
        {"--checkpoint", model_a(), model_c()},
        {"--checkpoint", model_a(), files.arpa, "--weights", "0.6", "0.4"}}) {
    const std::string out = files.dir / "out", lists = files.dir / "lists";
    const Outcome direct =
        files.run(joined(joined(models, weights),
                         {"--lattice-history", "-1", "--lattice-nbest", "1000", "--allow-empty",
                          "--reference", files.references, "--output", out}));
    REQUIRE_MESSAGE(direct.code == 0, direct.err);
    CHECK(has(direct.out, "first pass"));
    CHECK(has(direct.out, "rescored"));
    const Outcome listed = run_program(
        "lm_rescore", joined(joined(models, weights),
                             {"--nbest", out + "/nbest.tsv", "--reference", files.references,
                              "--allow-empty", "--output", lists, "--max-unknown", "1"}));
    REQUIRE_MESSAGE(listed.code == 0, listed.err);
    for (const char* file : {"/hyp.trn", "/first.trn", "/ref.trn"})
      CHECK_MESSAGE(slurp(out + file) == slurp(lists + file), file);
    CHECK(slurp(out + "/hyp.trn") != slurp(out + "/first.trn"));
    // Merging by one word gives some words, and the table says how much work it saved.
    const Outcome merged = files.run(
        joined(joined(models, weights), {"--lattice-history", "1", "--output", files.dir / "m"}));
    REQUIRE_MESSAGE(merged.code == 0, merged.err);
    CHECK(split(slurp(files.dir / "m/lattices.tsv"), '\n').size() == 13);
  }
}

TEST_CASE("lm_rescore --lattices: words that no model knows, references that do not fit") {
  const Files files;
  const std::string unknown = files.dir.write(
      "x.lat",
      "UTTERANCE=x\nN=3 L=2\nI=0\nI=1 W=qqq\nI=2 W=rrr\nJ=0 S=0 E=1 a=-1\nJ=1 S=1 E=2 a=-1\n");
  const auto rescore = [&](const Strings& models, const Strings& more) {
    return run_program("lm_rescore", joined(joined({"--lattices", unknown, "--lambda", "1",
                                                    "--output", files.dir / "out", "--checkpoint"},
                                                   models),
                                            more));
  };
  for (const Strings& models : {Strings{model_a()}, {files.arpa}, {files.arpa, model_a()}}) {
    const Outcome refused = rescore(models, {});
    CHECK(refused.code == 1);
    CHECK_MESSAGE(has(refused.err, "66.67% of the 3 tokens are unknown to the model"), refused.err);
    CHECK_FALSE(std::filesystem::exists(files.dir / "out"));
    const Outcome allowed = rescore(models, {"--max-unknown", "1"});
    CHECK(allowed.code == 0);
    CHECK_MESSAGE(has(allowed.err, "2 of 3 tokens are unknown to "), allowed.err);
    std::filesystem::remove_all(files.dir / "out");
  }
  const Strings other{"--max-unknown", "1", "--reference",
                      files.dir.write("other.tsv", "x\tan entirely other sentence\n")};
  CHECK(has(rescore({model_a()}, other).err, "warning: " + files.dir / "other.tsv" +
                                                 " does not fit --lattices: in 1 of 1 utterances"));
}

TEST_CASE("lm_rescore: words that an n-gram model does not know count for --max-unknown") {
  const Files files;
  const std::string lists = files.dir.write("l.tsv", "u\t-1\tqqq rrr\nu\t-2\tqqq sss\n");
  const Outcome refused =
      run_program("lm_rescore", {"--nbest", lists, "--lambda", "1", "--checkpoint", files.arpa});
  CHECK(refused.code == 1);
  CHECK(has(refused.err, "66.67% of the 6 tokens are unknown to the model " + files.arpa));
  const Outcome beside = run_program(
      "lm_rescore", {"--nbest", lists, "--lambda", "1", "--checkpoint", files.arpa, model_a()});
  CHECK(beside.code == 1);
  CHECK(has(beside.err, "tokens are unknown to the model " + model_a()));
}

TEST_CASE("lm_rescore --lattices: what is refused") {
  const Files files;
  const auto refusal = [&](const Strings& more) {
    const Outcome run = files.run(joined({"--output", files.dir / "out"}, more));
    CHECK(run.code == 2);
    return run.err;
  };
  const Strings model{"--checkpoint", model_a()};
  CHECK(has(refusal(model), "the language model has no weight"));
  CHECK(has(refusal(joined(model, {"--lambda", "1", "--nbest", files.references})),
            "--lattices reads lattices"));
  CHECK(has(refusal(joined(model, {"--lambda", "1", "--baseline", files.references})),
            "--lattices reads lattices"));
  CHECK(has(refusal(joined(model, {"--lambda", "1", "--lm-scale", "x"})), "is not a number"));
  CHECK(has(refusal(joined(model, {"--lambda", "1", "--allow-empty"})), "--lattice-nbest"));
  const Outcome none = run_program("lm_rescore", joined(model, {"--lambda", "1", "--output", "o"}));
  CHECK(none.code == 2);
  CHECK(has(none.err, "--nbest is required"));
  const Outcome format = files.run(
      joined(model, {"--lambda", "1", "--lattice-format", "kaldi", "--output", files.dir / "out"}));
  CHECK(format.code == 1);
  CHECK(has(format.err, "u0.lat, line 2: "));
  const Outcome twice = run_program(
      "lm_rescore", joined(model, {"--lambda", "1", "--output", files.dir / "out", "--lattices",
                                   files.lattices[0], files.dir.write("v.lat", lattice("u0", 1))}));
  CHECK(twice.code == 1);
  CHECK(has(twice.err, "'u0' has a lattice already"));
}

}  // namespace nine::tests::test_rescoring_lattices
