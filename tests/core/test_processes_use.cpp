// Scoring and translating by several processes (docs/scale-out.md): the bytes that one writes.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/cli/same_start.h"
#include "core/shared_parts.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/core/thread_ranks.h"
#include "tests/support/processes.h"
#include "tests/support/support.h"

namespace nine::tests::test_processes_use {
namespace {

Strings operator+(Strings a, const Strings& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Lines of what a program says that are not about time.
std::string without_progress(const std::string& err) {
  std::string out;
  for (const std::string& line : split(err, '\n'))
    if (!line.starts_with("score ") && !line.starts_with("translate ")) out += line + "\n";
  return out;
}

// The same outputs with 1, 2, 3 and 4 processes; `files` of each are written to "DIR/name".
void check_same_output(const std::string& program, const Strings& arguments,
                       const std::string& input, const Strings& written = {}) {
  CAPTURE(program);
  std::string typed;
  for (const std::string& argument : arguments) typed += argument + " ";
  CAPTURE(typed);
  const Scratch dir;
  const auto with_files = [&](int processes) {
    Strings all = arguments;
    for (const std::string& flag : written)
      all.insert(all.end(), {flag, dir / (flag + std::to_string(processes))});
    return all;
  };
  const Outcome alone = run_program(program, with_files(1), input);
  REQUIRE_MESSAGE(alone.code == 0, alone.err);
  CHECK(alone.out.size() + slurp(dir / "--output1").size() > 20);
  for (const int processes : {2, 3, 4}) {
    CAPTURE(processes);
    const Outcome o = under_mpirun(processes, program, with_files(processes),
                                   {.shared = processes == 2, .input = input})
                          .wait();
    REQUIRE_MESSAGE(o.code == 0, o.err);
    CHECK((o.out == alone.out));
    CHECK(without_progress(o.err) == without_progress(alone.err));
    for (const std::string& flag : written)
      CHECK((slurp(dir / (flag + std::to_string(processes))) == slurp(dir / (flag + "1"))));
  }
}

const std::string& mixture() {
  static const Scratch dir;
  static const std::string run = [] {
    Strings flags = tiny_lm_flags(dir / "mixture", "20u");
    flags.insert(flags.end(), {"--head", "mix:2*lin"});
    const Outcome o = run_program("lm_train", flags);
    REQUIRE_MESSAGE(o.code == 0, o.err);
    return (dir / "mixture").string();
  }();
  return run;
}

// A translation model that has learned a little, and a text for it.
struct Translations {
  Scratch dir;
  std::string run = dir / "run", source, target;
  Translations() {
    const Outcome o = run_program(
        "mt_train",
        {"--sample", "--sample-pairs", "200", "--layers", "1",    "--hidden", "16", "--ffn",
         "16",       "--heads",        "2",   "--lr",     "0.01", "--warmup", "10", "--valid-beam",
         "0",        "--after",        "30u", "--run",    run});
    REQUIRE_MESSAGE(o.code == 0, o.err);
    const Strings words = split(slurp(dir / "run/checkpoints/best/src.dict.txt"), '\n'),
                  others = split(slurp(dir / "run/checkpoints/best/tgt.dict.txt"), '\n');
    for (size_t i = 0; i < 50; ++i) {
      for (size_t k = 0; k <= i % 9; ++k) {
        source += (k > 0 ? " " : "") + split(words[(3 * i + 7 * k) % words.size()], ' ')[0];
        target += (k > 0 ? " " : "") + split(others[(5 * i + k) % others.size()], ' ')[0];
      }
      source += "\n";
      target += "\n";
    }
    dir.write("source", source);
    dir.write("target", target);
  }
};

}  // namespace

TEST_CASE("processes: lm_score writes the same with 1, 2, 3 and 4" *
          doctest::test_suite("check needs mpirun")) {
  if (!has_mpirun()) return;
  const Scratch dir;
  const std::string text = longer_text() + kLmText;
  dir.write("text", text);
  dir.write("sets", "cat dog bird\nsaw heard liked fed\n");
  const Strings a{"--checkpoint", model_a()}, two{"--compare", model_a(), model_b()},
      file{"--input", dir / "text", "--batch-tokens", "60"}, few{"--batch-tokens", "60"};
  check_same_output("lm_score", a + few, text);  // standard input and output
  check_same_output("lm_score", a + file + Strings{"--tokens"}, "", {"--output"});
  check_same_output("lm_score", a + Strings{"--input", dir / "text", "--carry-state"}, "");
  check_same_output("lm_score", a + file + Strings{"--top", "3"}, "");
  check_same_output("lm_score",
                    a + Strings{"--input", dir / "text", "--generate", "--samples", "2",
                                "--max-words", "5", "--batch", "3"},
                    "");
  check_same_output("lm_score", two + file, "");
  check_same_output("lm_score", two + file + Strings{"--restrict", dir / "sets", "--json"}, "");
  check_same_output("lm_score", Strings{"--checkpoint", mixture(), "--components"} + file, "");
  // What one process does alone.
  check_same_output("lm_score", two + Strings{"--input", dir / "text", "--top", "2", "--at", "1:2"},
                    "");
  check_same_output(
      "lm_score",
      a + Strings{"--clusters", "2:cosine", "--cluster-size", "3", "--cluster-min-count", "5"}, "");
}

TEST_CASE("processes: mt_translate writes the same with 1, 2, 3 and 4" *
          doctest::test_suite("check needs mpirun")) {
  if (!has_mpirun()) return;
  const Translations t;
  const Strings model{"--checkpoint", t.run, "--batch", "4", "--max-length", "12"},
      file{"--input", t.dir / "source"};
  check_same_output("mt_translate", model, t.source);
  check_same_output("mt_translate", model + file + Strings{"--n-best", "3", "--beam", "4"}, "",
                    {"--output", "--attention"});
  check_same_output(
      "mt_translate",
      model + file + Strings{"--beam", "1", "--score", "--reference", t.dir / "target"}, "",
      {"--output"});
  check_same_output(
      "mt_translate",
      Strings{"--checkpoint", t.run, "--tokens", "--score-given", t.dir / "target"} + file, "");
}

TEST_CASE("processes: scoring with another model or option on one of them is refused" *
          doctest::test_suite("needs mpirun")) {
  if (!has_mpirun()) return;
  const Strings a{"--checkpoint", model_a()}, b{"--checkpoint", model_b()};
  const auto refused = [&](const Strings& second, const Strings& environment) {
    const Outcome o = under_mpirun(1, "lm_score", with_second(a, "lm_score", second, environment),
                                   {.input = kLmText})
                          .wait();
    CHECK(o.code == 2);
    CHECK(o.out.empty());
    CHECK(has(o.err, "process 1 on "));
    return o.err;
  };
  CHECK(has(refused(b, {}), "has --checkpoint \"" + model_b()));
  CHECK(has(refused(a + Strings{"--input", "part.1"}, {}),
            "has --input \"part.1\", where process 0 has \"-\""));
  CHECK(has(refused(a + Strings{"--tokens"}, {}), "has --tokens true, where process 0 has false"));
  if (gemm_backend() == GemmBackend::libxsmm)
    CHECK(has(refused(a, {"NINE_GEMM=eigen"}), "has gemm \"eigen "));
  const Outcome gpu =
      under_mpirun(2, "lm_score", a + Strings{"--device", "cuda"}, {.input = kLmText}).wait();
  CHECK(gpu.code != 0);
}

TEST_CASE("processes: a missing text ends all with the error of the first" *
          doctest::test_suite("needs mpirun")) {
  if (!has_mpirun()) return;
  const Outcome o =
      under_mpirun(3, "lm_score", {"--checkpoint", model_a(), "--input", "/nowhere/text"}).wait();
  CHECK(o.code == 1);
  CHECK(has(o.err, "/nowhere/text"));
}

TEST_CASE("processes: what differs at the start is named, with its process") {
  const auto error = [](const Json& other) {
    std::vector<std::string> errors(3);
    with_ranks(3, [&](Communicator& c) {
      const Json same{
          {"lr", 0.5},
          {"threads", c.rank()},
          {"restart", false},
          {"run", "a"},
          {"valid_src", {"a/text"}},
          {"test_src", {"a/text"}},
          {"resolved",
           {{"version", "1.2"}, {"instruction_set", "avx2"}, {"identity", {{"valid_src", 7}}}}}};
      Json own = same;
      if (c.rank() == 2) own.merge_patch(other);
      errors[static_cast<size_t>(c.rank())] = error_of([&] { app::require_same_start(c, own); });
    });
    CHECK(errors[0] == errors[1]);
    CHECK(errors[0] == errors[2]);
    return errors[0];
  };
  CHECK(error({{"threads", 99}}).empty());
  CHECK(has(error({{"lr", 0.25}}), "has --lr 0.25, where process 0 has 0.5"));
  CHECK(has(error({{"resolved", {{"version", "1.3"}}}}),
            "has version \"1.3\", where process 0 has \"1.2\""));
  CHECK(has(error({{"resolved", {{"instruction_set", "avx512"}}}}), "has instruction_set "));
  // The path of an input does not matter where both know its contents.
  CHECK(error({{"valid_src", {"b/text"}}}).empty());
  CHECK(has(error({{"test_src", {"b/text"}}}),
            "has --test-src [\"b/text\"], where process 0 has [\"a/text\"]"));
  CHECK(has(error({{"restart", true}}), "has --restart true, where process 0 has false"));
  CHECK(has(error({{"run", "b"}}), "has --run \"b\", where process 0 has \"a\""));
  CHECK(has(error({{"novel", 1}}), "has --novel 1, where process 0 has null"));
  const std::string data = error({{"resolved", {{"identity", {{"valid_src", 8}}}}}});
  CHECK(has(data, "process 2 on "));
  CHECK(has(data, "has other data, by checksum: --valid-src 8, where process 0 has 7"));
}

TEST_CASE("shared parts: all processes get all results in order, each makes its own") {
  for (const int size : {1, 2, 3, 5})
    for (const int64_t parts : {0, 1, 4, 7}) {
      CAPTURE(size);
      CAPTURE(parts);
      std::vector<std::vector<int64_t>> made(static_cast<size_t>(size));
      std::vector<std::string> taken(static_cast<size_t>(size));
      with_ranks(size, [&](Communicator& c) {
        const auto rank = static_cast<size_t>(c.rank());
        for_shared_parts(
            c, parts,
            [&](int64_t part) {
              made[rank].push_back(part);
              return std::string(static_cast<size_t>(part), static_cast<char>('a' + part));
            },
            [&](std::string_view result) { taken[rank] += std::string(result) + "|"; });
      });
      std::string expected;
      for (int64_t i = 0; i < parts; ++i)
        expected += std::string(static_cast<size_t>(i), static_cast<char>('a' + i)) + "|";
      for (int r = 0; r < size; ++r) {
        CHECK(taken[static_cast<size_t>(r)] == expected);
        for (const int64_t part : made[static_cast<size_t>(r)]) CHECK(part % size == r);
      }
    }
}

TEST_CASE("shared parts: numbers and lists come back from their bytes") {
  ByteWriter out;
  out.put(int32_t{-7});
  out.put(std::vector<double>{0.1, -0.0, 1e300});
  out.put(std::vector<float>{});
  out.put(true);
  const std::vector<int32_t> ids{3, -4};
  const double nats = 0.25;
  out.put_all(std::tie(ids, nats));
  const std::string bytes = out.take();
  ByteReader in(bytes);
  CHECK(in.get<int32_t>() == -7);
  CHECK(in.list<double>() == std::vector<double>{0.1, -0.0, 1e300});
  CHECK(in.list<float>().empty());
  CHECK(in.get<bool>());
  std::vector<int32_t> ids_back;
  double nats_back = 0;
  in.get_all(std::tie(ids_back, nats_back));
  CHECK(ids_back == ids);
  CHECK(nats_back == nats);
  CHECK(in.empty());
  CHECK_THROWS_AS(in.get<char>(), Error);
}

namespace {

// What mpirun says to a process of its job.
void as_process(int rank, int size) {
  setenv("OMPI_COMM_WORLD_SIZE", std::to_string(size).c_str(), 1);
  setenv("OMPI_COMM_WORLD_RANK", std::to_string(rank).c_str(), 1);
}

}  // namespace

TEST_CASE("processes: a program that cannot share its work stops under mpirun, before it writes") {
  const TemporaryDirectory dir;
  const std::string text = dir.write("text", "the cat\n"), codes = dir / "codes";
  const std::string list = dir.write("list", "u\t1\tthe cat\nu\t0\ta cat\n"),
                    said = dir.write("said", "u\tthe cat\n");
  const struct {
    const char* program;
    Strings arguments;
  } cases[] = {
      {"bpe", {"learn", "--input", text, "--output", codes}},
      {"kernel_inspect", {"--output", codes}},
      {"nine_report", {model_a(), "--output", codes}},
      {"lm_rescore",
       {"--checkpoint", model_a(), "--nbest", list, "--reference", said, "--lambda", "1",
        "--output", codes}},
      {"nine_convert", {"--from", model_a(), "--to", codes}},
      {"mt_train", {"--run", dir.path().string(), "--average", "2"}},
  };
  for (const auto& [name, arguments] : cases) {
    const std::string program = name;
    CAPTURE(program);
    const Outcome o = Program(program, arguments, "", [] { as_process(0, 2); }).wait();
    CHECK(o.code == 2);
    CHECK_MESSAGE(has(o.err, "mpirun has started 2 processes, but this work cannot be shared out"),
                  o.err);
    CHECK(o.out.empty());
    CHECK_FALSE(std::filesystem::exists(codes));
  }
  const Outcome second = Program("bpe", cases[0].arguments, "", [] { as_process(1, 2); }).wait();
  CHECK(second.code == 2);
  CHECK(second.err.empty());
  CHECK_FALSE(std::filesystem::exists(codes));
  // Of a job of several programs each speaks for itself.
  for (const int rank : {1, 2}) {
    const Outcome mixed = Program("bpe", cases[0].arguments, "", [=] {
                            as_process(rank, 3);
                            setenv("OMPI_NUM_APP_CTX", "2", 1);
                            setenv("OMPI_APP_CTX_NUM_PROCS", "1 2", 1);
                          }).wait();
    CHECK(mixed.code == 2);
    CHECK(has(mixed.err, "and other programs of the job would wait for it") == (rank == 1));
    CHECK(mixed.err.empty() == (rank == 2));
  }
  const Outcome one = Program("bpe", cases[0].arguments, "", [] { as_process(0, 1); }).wait();
  CHECK(one.code == 0);
  // A program that a process of the job starts by a shell works for that process alone.
  const std::string command = std::string(NINE_BIN_DIR) + "/bpe apply --input " + text +
                              " --codes " + codes + "; echo done";
  const Outcome shell = Program("/bin/sh", {"-c", command}, "", [] { as_process(1, 2); }).wait();
  CHECK_MESSAGE(shell.err.empty(), shell.err);
  CHECK(has(shell.out, "done\n"));
  CHECK(shell.out.size() > 10);
}

TEST_CASE("processes: a program that cannot share its work says so once" *
          doctest::test_suite("needs mpirun")) {
  if (!has_mpirun()) return;
  const TemporaryDirectory dir;
  const Strings report{model_a(), "--output", dir / "page.html"};
  const Outcome o = under_mpirun(3, "nine_report", report).wait();
  CHECK(o.code == 2);
  const std::string said = "nine_report: mpirun has started 3 processes";
  const size_t at = o.err.find(said);
  REQUIRE_MESSAGE(at != std::string::npos, o.err);
  CHECK(o.err.find(said, at + 1) == std::string::npos);
  CHECK_FALSE(std::filesystem::exists(dir / "page.html"));
  CHECK(under_mpirun(1, "nine_report", report).wait().code == 0);
  CHECK(std::filesystem::exists(dir / "page.html"));
}

TEST_CASE("processes: a second program of one process is refused in Nine's words" *
          doctest::test_suite("needs mpirun")) {
  if (!has_mpirun()) return;
  const TemporaryDirectory dir;
  const std::string score = concat(NINE_BIN_DIR, "/lm_score --threads 1 --checkpoint ", model_a(),
                                   " --input ", dir.write("text", "the cat\n")),
                    own = dir / "own.$OMPI_COMM_WORLD_RANK";
  const Outcome o =
      under_mpirun(2, "/bin/sh",
                   {"-c", concat(score, " || exit 9; ", score, "; code=$?; env -u ",
                                 "OMPI_COMM_WORLD_SIZE ", score, " > ", own,
                                 " || exit 8; [ $OMPI_COMM_WORLD_RANK != 0 ] || exit $code")})
          .wait();
  CHECK_MESSAGE(o.code == 2, o.err);
  CHECK_MESSAGE(
      has(o.err,
          "MPI lets process 0 of 2 join the others only once, and lm_score has joined already"),
      o.err);
  CHECK_FALSE(has(o.err, "MPI_Init"));
  CHECK(slurp(dir / "own.0") == o.out);  // alone it works
}

TEST_CASE("processes: two programs in one job are named" * doctest::test_suite("needs mpirun")) {
  if (!has_mpirun()) return;
  const TemporaryDirectory dir;
  const std::string text = dir.write("text", "a b\nb a\n");
  const Strings shared{"--hidden", "8", "--heads", "1", "--accumulate", "2", "--after", "1u"};
  const Outcome o =
      under_mpirun(
          1, "lm_train",
          with_second(
              Strings{"--train", text, "--arch", "transformer", "--run", dir / "lm"} + shared,
              "mt_train", Strings{"--src", text, "--tgt", text, "--run", dir / "mt"} + shared))
          .wait();
  CHECK(o.code == 2);
  CHECK_MESSAGE(has(o.err, "process 1 of 2 runs mt_train "), o.err);
  CHECK_MESSAGE(has(o.err, ", and process 0 runs lm_train "), o.err);
  CHECK_FALSE(has(o.err, "MPI_ERR"));
  CHECK_FALSE(std::filesystem::exists(dir / "lm"));
  CHECK_FALSE(std::filesystem::exists(dir / "mt"));
}

TEST_CASE("processes: a program that one process alone starts waits for the others with a bound" *
          doctest::test_suite("needs mpirun")) {
  if (!has_mpirun()) return;
  const std::string score =
      concat(NINE_BIN_DIR, "/lm_score --threads 1 --mpi-timeout 2 ", "--checkpoint ", model_a());
  const Outcome o =
      under_mpirun(2, "/bin/sh", {"-c", concat("[ $OMPI_COMM_WORLD_RANK = 1 ] || ", score)}).wait();
  CHECK(o.code == 1);
  CHECK_MESSAGE(
      has(o.err, "lm_score: process 0 of 2 has waited 1 s for MPI to start. All of them "), o.err);
  CHECK(has(o.err, "process 0 of 2 has waited 2 s for MPI to start (--mpi-timeout). Start this "));
  CHECK(has(o.err, "'env -u OMPI_COMM_WORLD_SIZE'"));
}

TEST_CASE("processes: a program without its module for MPI says what to copy" *
          doctest::test_suite("needs mpirun")) {
  if (!has_mpirun()) return;
  const TemporaryDirectory dir;
  std::filesystem::create_directory(dir / "bin");
  std::filesystem::copy_file(std::string(NINE_BIN_DIR) + "/lm_score", dir / "bin/lm_score");
  const Outcome o =
      Program(dir / "bin/lm_score", {"--checkpoint", "model"}, "", [] { as_process(0, 2); }).wait();
  CHECK(o.code == 1);
  CHECK_MESSAGE(has(o.err, "that file belongs to Nine; it must stand beside the directory of"),
                o.err);
  CHECK_FALSE(has(o.err, "install Open MPI"));
}

}  // namespace nine::tests::test_processes_use
