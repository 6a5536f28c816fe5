// Faults from outside during a training run: each fault has a defined result or a clear error
// (docs/reliability.md lists them).
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "core/json.h"
#include "core/safetensors.h"
#include "core/threads.h"
#include "nn/training/checkpoint.h"
#include "tests/support/permissions.h"
#include "tests/support/programs.h"
#include "tests/support/skip.h"
#include "tests/support/support.h"

namespace nine::tests::test_faults {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

std::string sentences(int count) {
  const Strings some{"the cat saw the dog", "a dog ran", "the bird saw a cat and ran",
                     "the dog and the bird ran"};
  std::string text;
  for (int i = 0; i < count; ++i)
    text += some[static_cast<size_t>(i * i + i / 3) % some.size()] + "\n";
  return text;
}

// A trainer, texts and a model so small that an update takes a millisecond at most.
struct Tiny {
  TemporaryDirectory dir;
  std::string program, reader,
      head_words;  // the trainer, what reads its models, the tensor of the head's word vectors
  Strings model, dictionaries;
  Strings training(const std::string& run, const Strings& more = {}) const {
    Strings a = model;
    a.insert(a.end(), {"--lr", "0.01", "--run", run});
    a.insert(a.end(), more.begin(), more.end());
    return a;
  }
  Outcome train(const std::string& run, const Strings& more = {}) const {
    return run_program(program, training(run, more));
  }

 protected:
  Tiny(std::string trainer, std::string user, std::string words)
      : program(std::move(trainer)), reader(std::move(user)), head_words(std::move(words)) {
    put(dir / "train.txt", sentences(300));
    put(dir / "valid.txt", sentences(40));
  }
};

struct LanguageModel : Tiny {
  LanguageModel() : Tiny("lm_train", "lm_score", "head.weight") {
    model = {
        "--train", dir / "train.txt", "--valid", dir / "valid.txt", "--hidden", "8",      "--embed",
        "8",       "--layers",        "1",       "--batch",         "4",        "--bptt", "8"};
    dictionaries = {"dict.txt"};
  }
};

// Its texts are each other's translation: the same.
struct Translation : Tiny {
  Translation() : Tiny("mt_train", "mt_translate", "tgt_embedding.weight") {
    const std::string train = dir / "train.txt", valid = dir / "valid.txt";
    model = {"--src",    train,      "--tgt",   train,   "--valid-src", valid,     "--valid-tgt",
             valid,      "--hidden", "8",       "--ffn", "8",           "--heads", "2",
             "--layers", "1",        "--batch", "8",     "--warmup",    "0"};
    dictionaries = {"src.dict.txt", "tgt.dict.txt"};
  }
};

bool writes_checkpoint(const fs::path& run) {
  std::error_code error;
  for (fs::directory_iterator it(run / "checkpoints", error), end; !error && it != end;
       it.increment(error))
    if (it->path().filename().string().starts_with(".tmp-")) return true;
  return false;
}

bool has_checkpoint(const fs::path& run) { return fs::exists(run / "checkpoints/latest"); }

std::string optimizer_of(const std::string& run) {
  return slurp(run + "/checkpoints/latest/optimizer.safetensors");
}

// Takes a directory's permission to be written and gives it back.
struct ReadOnly {
  std::string path;
  explicit ReadOnly(std::string p) : path(std::move(p)) { chmod(path.c_str(), 0555); }
  ~ReadOnly() { chmod(path.c_str(), 0755); }
};

}  // namespace

TEST_CASE_TEMPLATE(
    "faults: killed twenty times at random moments, half of them while writing a checkpoint, to "
    "the same bits",
    Trainer, LanguageModel, Translation) {
  const Trainer tiny;
  const Strings length{"--after",       "150u", "--save-every", "3u",
                       "--valid-every", "50u",  "--log-every",  "10"};
  REQUIRE(tiny.train(tiny.dir / "whole", length).code == 0);
  const auto check_whole = [&](const std::string& run) {
    CHECK(weights_of(run) == weights_of(tiny.dir / "whole"));
    CHECK(optimizer_of(run) == optimizer_of(tiny.dir / "whole"));
    CHECK(results_of(run) == results_of(tiny.dir / "whole"));
  };
  std::mt19937 random(5);
  int kills = 0, torn = 0, runs = 0;
  while (kills < 20 && runs < 100) {
    const std::string run = tiny.dir / ("broken" + std::to_string(runs));
    Program program(tiny.program, tiny.training(run, length));
    if (kills % 2 == 0) {
      REQUIRE(soon([&] { return writes_checkpoint(run) || !program.running(); }));
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 300'000));
    }
    program.signal(SIGKILL);
    const Outcome outcome = program.wait();
    if (outcome.code == 0) {
      check_whole(run);
      ++runs;
      continue;
    }
    REQUIRE_MESSAGE(outcome.code == 128 + SIGKILL, outcome.err);
    ++kills;
    torn += writes_checkpoint(run) ? 1 : 0;
  }
  MESSAGE("killed ", kills, " times, ", torn, " of them with a checkpoint half written, over ",
          runs + 1, " runs");
  CHECK(kills == 20);
  CHECK(torn > 0);
  const std::string last = tiny.dir / ("broken" + std::to_string(runs));
  REQUIRE(tiny.train(last, length).code == 0);
  check_whole(last);
}

TEST_CASE_TEMPLATE(
    "faults: a disk that fills up ends the run with a sentence; with room the same command goes on "
    "to the same bits" *
        doctest::test_suite("needs a small disk"),
    Trainer, LanguageModel, Translation) {
  const Trainer tiny;
  struct SmallDisk {
    std::string path;
    bool mounted = false;
    explicit SmallDisk(std::string p) : path(std::move(p)) {
      fs::create_directory(path);
      mounted = ::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=64k") == 0;
    }
    ~SmallDisk() {
      if (mounted) ::umount2(path.c_str(), MNT_DETACH);
    }
  } disk(tiny.dir / "disk");
  if (!disk.mounted) return skip("mounting a small disk needs root and a kernel that lets it");
  const Strings length{"--after", "40u", "--save-every", "10u", "--keep", "8"};
  const Outcome full = tiny.train(tiny.dir / "disk/run", length);
  CHECK(full.code == 1);
  CHECK_MESSAGE(
      (has(full.err, "no space left on device") || has(full.err, "No space left on device")),
      full.err);
  CHECK_FALSE(
      writes_checkpoint(tiny.dir / "disk/run"));  // what was half written gave its room back
  REQUIRE(::mount("tmpfs", disk.path.c_str(), "tmpfs", MS_REMOUNT, "size=8m") == 0);
  const Outcome again = tiny.train(tiny.dir / "disk/run", length);
  CHECK_MESSAGE(again.code == 0, again.err);
  REQUIRE(tiny.train(tiny.dir / "whole", length).code == 0);
  CHECK(weights_of(tiny.dir / "disk/run") == weights_of(tiny.dir / "whole"));
}

TEST_CASE(
    "faults: a limit on file sizes (ulimit -f) is an error that names the file, not a signal") {
  const LanguageModel tiny;
  const Strings length{"--after", "4u", "--save-every", "1u"};
  const auto limited = [](rlim_t bytes) {
    return [bytes] {
      const rlimit limit{bytes, bytes};
      setrlimit(RLIMIT_FSIZE, &limit);
    };
  };
  // optimizer.safetensors, twice as large as the weights, is the first not to fit.
  Program program("lm_train", tiny.training(tiny.dir / "run", length), {}, limited(6000));
  const Outcome outcome = program.wait();
  CHECK(outcome.code == 1);
  CHECK_MESSAGE(has(outcome.err, "optimizer.safetensors: File too large"), outcome.err);
  CHECK_FALSE(writes_checkpoint(tiny.dir / "run"));
  const Outcome again = tiny.train(tiny.dir / "run", length);
  CHECK_MESSAGE(again.code == 0, again.err);
}

TEST_CASE_TEMPLATE(
    "faults: standard output that is full is a failure, not a success without a word", Trainer,
    LanguageModel, Translation) {
  const Trainer tiny;
  REQUIRE(tiny.train(tiny.dir / "run", {"--after", "2u"}).code == 0);
  for (const char* output : {"-", "/dev/full"}) {
    const auto full_stdout = [] { dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO); };
    Program program(tiny.reader, {"--checkpoint", tiny.dir / "run", "--output", output},
                    "the cat\n", full_stdout);
    const Outcome outcome = program.wait();
    CHECK(outcome.code == 1);
    CHECK_MESSAGE(has(outcome.err, "is the disk full?"), outcome.err);
  }
}

TEST_CASE_TEMPLATE("faults: closed standard streams", Trainer, LanguageModel, Translation) {
  const Trainer tiny;
  REQUIRE(tiny.train(tiny.dir / "run", {"--after", "2u"}).code == 0);
  const auto without = [&](int stream, const Strings& arguments) {
    return Program(tiny.reader, joined({"--checkpoint", tiny.dir / "run"}, arguments), "the cat\n",
                   [stream] { close(stream); })
        .wait();
  };
  REQUIRE(without(-1, {"--output", tiny.dir / "whole"}).code == 0);
  CHECK(without(STDERR_FILENO, {"--output", tiny.dir / "out"}).code == 0);  // without its messages
  CHECK(slurp(tiny.dir / "out") == slurp(tiny.dir / "whole"));
  const Outcome unread = without(STDIN_FILENO, {"--output", tiny.dir / "none"});
  CHECK(unread.code == 1);
  CHECK_MESSAGE(has(unread.err, "standard input cannot be read"), unread.err);
  const Outcome lost = without(STDOUT_FILENO, {"--output", "-"});
  CHECK(lost.code == 1);
  CHECK_MESSAGE(has(lost.err, "standard output"), lost.err);
  Program mute(tiny.program, tiny.training(tiny.dir / "mute", {"--after", "2u"}), {}, [] {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(stream);
  });
  CHECK(mute.wait().code == 1);
  CHECK(weights_of(tiny.dir / "mute") == weights_of(tiny.dir / "run"));
  CHECK(log_of(tiny.dir / "mute").size() == log_of(tiny.dir / "run").size());
}

TEST_CASE_TEMPLATE("faults: directories that may not be written", Trainer, LanguageModel,
                   Translation) {
  const Trainer tiny;
  const auto run_obediently = [&](const std::string& program, const Strings& arguments,
                                  const std::string& input = {}) {
    return Program(program, arguments, input, obey_permissions).wait();
  };
  REQUIRE(tiny.train(tiny.dir / "run", {"--after", "4u"}).code == 0);
  const std::string log = slurp(tiny.dir / "run/log.jsonl");
  {
    fs::create_directory(tiny.dir / "parent");
    const ReadOnly parent(tiny.dir / "parent");
    const Outcome made = run_obediently(tiny.program, tiny.training(tiny.dir / "parent/run"));
    CHECK(made.code == 1);
    CHECK_MESSAGE(has(made.err, "parent/run cannot be made: Permission denied; give another --run"),
                  made.err);
    const Outcome scored = run_obediently(
        tiny.reader, {"--checkpoint", tiny.dir / "run", "--output", tiny.dir / "parent/scores"},
        "a\n");
    CHECK(scored.code == 1);
    CHECK_MESSAGE(has(scored.err, "parent/scores"), scored.err);
  }
  {
    fs::create_directory(tiny.dir / "empty");
    const ReadOnly run(tiny.dir / "empty");
    const Outcome outcome = run_obediently(tiny.program, tiny.training(tiny.dir / "empty"));
    CHECK(outcome.code == 1);
    CHECK_MESSAGE(has(outcome.err, "empty cannot be written: Permission denied"), outcome.err);
  }
  for (const char* part : {"run", "run/.lock"}) {
    const ReadOnly run(tiny.dir / "run"), one(tiny.dir / part);
    const Outcome again =
        run_obediently(tiny.program, tiny.training(tiny.dir / "run", {"--after", "4u"}));
    CHECK_MESSAGE(again.code == 0, again.err);
    const Outcome longer =
        run_obediently(tiny.program, tiny.training(tiny.dir / "run", {"--after", "8u"}));
    CHECK(longer.code == 1);
    CHECK_MESSAGE(has(longer.err, "run cannot be written: Permission denied"), longer.err);
  }
  {
    const ReadOnly checkpoints(tiny.dir / "run/checkpoints");
    const Outcome outcome =
        run_obediently(tiny.program, tiny.training(tiny.dir / "run", {"--after", "8u"}));
    CHECK(outcome.code == 1);
    CHECK_MESSAGE(has(outcome.err, "checkpoints/"), outcome.err);
    CHECK_MESSAGE(has(outcome.err, "Permission denied"), outcome.err);
    CHECK(open_checkpoint(tiny.dir / "run").step() == 4);
  }
  put(tiny.dir / "file", "");
  const Outcome file = tiny.train(tiny.dir / "file");
  CHECK(file.code == 1);
  CHECK(has(file.err, "is a file, not a directory"));
  // With permission again, the run goes on.
  CHECK(tiny.train(tiny.dir / "run", {"--after", "8u"}).code == 0);
}

TEST_CASE_TEMPLATE("faults: the run directory removed under the run ends it, and is not made anew",
                   Trainer, LanguageModel, Translation) {
  const Trainer tiny;
  const std::string run = tiny.dir / "run";
  SUBCASE("removed: the next log line finds out") {
    Program program(tiny.program,
                    tiny.training(run, {"--after", "100Mu", "--save-every", "0u", "--valid-every",
                                        "100Mu", "--log-every", "20"}));
    REQUIRE(soon([&] { return slurp(run + "/log.jsonl").find("\"train\"") != std::string::npos; }));
    fs::remove_all(run);
    REQUIRE(soon([&] { return !program.running(); }));
    const Outcome outcome = program.wait();
    CHECK(outcome.code == 1);
    CHECK_MESSAGE(has(outcome.err, "log.jsonl was removed while it was being written"),
                  outcome.err);
  }
  SUBCASE("moved away: the next checkpoint finds out") {
    Program program(tiny.program, tiny.training(run, {"--after", "100Mu", "--save-every", "20u",
                                                      "--log-every", "1000000"}));
    REQUIRE(soon([&] { return has_checkpoint(run); }));
    fs::rename(run, run + "-moved");
    REQUIRE(soon([&] { return !program.running(); }));
    const Outcome outcome = program.wait();
    CHECK(outcome.code == 1);
    CHECK_MESSAGE(has(outcome.err,
                      "run/checkpoints was removed or replaced while this run was writing to it"),
                  outcome.err);
    CHECK_NOTHROW(open_checkpoint(run + "-moved"));
  }
  CHECK_FALSE(fs::exists(run));
}

TEST_CASE_TEMPLATE("faults: a second run in one directory is refused while the first goes on",
                   Trainer, LanguageModel, Translation) {
  const Trainer tiny;
  const std::string run = tiny.dir / "run";
  Program first(tiny.program, tiny.training(run, {"--after", "100Mu", "--save-every", "20u"}));
  REQUIRE(soon([&] { return has_checkpoint(run); }));
  for (const Strings& more : {Strings{}, Strings{"--restart"}}) {
    const Outcome second = tiny.train(run, more);
    CHECK(second.code == 1);
    CHECK_MESSAGE(has(second.err, "is in use by process "), second.err);
  }
  CHECK(first.running());
  first.signal(SIGTERM);
  CHECK(first.wait().code == 130);
  CHECK_NOTHROW(open_checkpoint(run));
}

TEST_CASE_TEMPLATE(
    "faults: a damaged checkpoint is passed over for the one before, and screen and log say so",
    Trainer, LanguageModel, Translation) {
  const Trainer tiny;
  const std::string run = tiny.dir / "run";
  const auto with = [](const char* after) {
    return Strings{"--after", after, "--save-every", "10u", "--keep", "4", "--valid-every", "30u"};
  };
  REQUIRE(tiny.train(run, with("40u")).code == 0);
  REQUIRE(tiny.train(tiny.dir / "whole", with("60u")).code == 0);
  const std::string model = run + "/checkpoints/00000040/model.safetensors",
                    state = run + "/checkpoints/00000040/state.json";
  const std::string bytes = slurp(model);
  std::string says;
  int64_t resumes_at = 30;
  SUBCASE("a bit flipped") {
    std::string flipped = bytes;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 4);
    put(model, flipped);
    says = "but another checksum";
  }
  SUBCASE("truncated") {
    put(model, bytes.substr(0, bytes.size() / 2));
    says = "is truncated";
  }
  SUBCASE("an empty file") {
    put(model, "");
    says = "is truncated: 0 of ";
  }
  SUBCASE("a file gone") {
    fs::remove(model);
    says = "model.safetensors is missing";
  }
  SUBCASE("the state truncated") {
    fs::resize_file(state, 100);
    says = "state.json cannot be read";
  }
  SUBCASE("two of them") {
    put(model, "");
    put(run + "/checkpoints/00000030/optimizer.safetensors", "");
    says = "00000030 is damaged: optimizer.safetensors";
    resumes_at = 20;
  }
  SUBCASE("all of them: the run starts over") {
    for (const char* step : {"10", "20", "30", "40"})
      put(run + "/checkpoints/000000" + step + "/model.safetensors", "");
    says = "no checkpoint is intact: the run starts over; the damaged checkpoints are in " + run +
           "/old-1";
    resumes_at = 0;
  }
  const Outcome outcome = tiny.train(run, with("60u"));
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  CHECK_MESSAGE(has(outcome.err, says), outcome.err);
  bool said = false;
  for (const Json& e : log_of(run))
    if (e["event"] == (resumes_at == 0 ? "start" : "resume"))
      said =
          said || (e["step"] == resumes_at && has(e.value("skipped", Json()).dump(), "00000040"));
  CHECK(said);
  CHECK(weights_of(run) == weights_of(tiny.dir / "whole"));
}

TEST_CASE("faults: texts that are none") {
  const LanguageModel tiny;
  put(tiny.dir / "empty.txt", "");
  put(tiny.dir / "blank.txt", "\n \n\t\n\n");
  put(tiny.dir / "latin1.txt", "a fine line\nna\xefve\n");
  put(tiny.dir / "nul.txt", sentences(20) + std::string("the\0cat\n", 8));
  const struct {
    const char *file, *says;
  } cases[] = {{"empty.txt", "empty.txt is empty"},
               {"blank.txt", "no word occurs 1 times"},
               {"latin1.txt", "latin1.txt, line 2, byte 3: 0xef is not valid UTF-8"},
               {"nul.txt", "nul.txt, line 21, byte 4: a NUL byte"},
               {"nowhere.txt", "nowhere.txt does not exist"},
               {".", "is a directory"}};
  for (const auto& c : cases) {
    CAPTURE(c.file);
    const Outcome trained =
        run_program("lm_train", {"--train", tiny.dir / c.file, "--run", tiny.dir / "r"});
    CHECK(trained.code == 1);
    CHECK_MESSAGE(has(trained.err, c.says), trained.err);
    const std::string says = std::string(c.file) == "blank.txt" ? "blank.txt has no word" : c.says;
    const Outcome validated = run_program("lm_train", {"--train", tiny.dir / "train.txt", "--valid",
                                                       tiny.dir / c.file, "--run", tiny.dir / "r"});
    CHECK(validated.code == 1);
    CHECK_MESSAGE(has(validated.err, says), validated.err);
  }
  CHECK_FALSE(fs::exists(tiny.dir / "r"));  // refused before anything was made
}

TEST_CASE("faults: CRLF and a byte-order mark train to the bits of plain lines") {
  const LanguageModel tiny;
  REQUIRE(tiny.train(tiny.dir / "plain", {"--after", "20u"}).code == 0);
  std::string crlf = "\xEF\xBB\xBF";
  for (const char c : slurp(tiny.dir / "train.txt"))
    crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  put(tiny.dir / "train.txt", crlf);
  REQUIRE(tiny.train(tiny.dir / "crlf", {"--after", "20u"}).code == 0);
  CHECK(weights_of(tiny.dir / "crlf") == weights_of(tiny.dir / "plain"));
}

TEST_CASE("faults: a vocabulary of one word, and a validation text without a known one") {
  const LanguageModel tiny;
  std::string one;
  for (int i = 0; i < 200; ++i) one += i % 3 == 0 ? "yes\n" : "yes yes\n";
  put(tiny.dir / "train.txt", one);
  const Outcome refused = tiny.train(tiny.dir / "run", {"--after", "200u"});
  CHECK(refused.code == 1);
  CHECK_MESSAGE(has(refused.err, "tokens are unknown to the vocabulary"), refused.err);
  const Outcome outcome = tiny.train(tiny.dir / "run", {"--after", "200u", "--max-unknown", "1"});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(has(outcome.err, "3 words"));  // </s>, <unk> and the one
  double first = 0, last = 0;
  for (const Json& e : log_of(tiny.dir / "run")) {
    if (e["event"] == "train") (first == 0 ? first : last) = e["ppl"].get<double>();
    if (e["event"] == "valid")
      CHECK(std::isfinite(e["ppl"].get<double>()));  // all of it is <unk> and </s>
  }
  CHECK(last < first);
  CHECK(last < 2);
  const Outcome scored = run_program("lm_score", {"--checkpoint", tiny.dir / "run"}, "yes\nno\n\n");
  CHECK_MESSAGE(scored.code == 0, scored.err);
  CHECK(has(scored.err, "unknown tokens)"));
  CHECK_FALSE(has(scored.out, "nan"));
}

TEST_CASE("faults: one line of ten megabytes is a text like any other") {
  const LanguageModel tiny;
  std::string line;
  line.reserve(10'000'020);
  while (line.size() < 10'000'000) line += "internationalisation the cat saw a dog ";
  put(tiny.dir / "train.txt", line + "\n");
  const Outcome trained = tiny.train(tiny.dir / "run", {"--after", "5u"});
  REQUIRE_MESSAGE(trained.code == 0, trained.err);
  // A long sentence is scored in pieces: its memory does not grow with its length, and its pieces
  // add up.
  const std::string part = line.substr(0, 390'000);
  const auto scored = [&](const char* tokens) {
    const Outcome outcome =
        run_program("lm_score", {"--checkpoint", tiny.dir / "run", "--batch-tokens", tokens},
                    part + "\nthe cat\n");
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    return outcome.out;
  };
  const std::string whole = scored("100000"), pieces = scored("777");
  CHECK(std::stod(pieces) == doctest::Approx(std::stod(whole)).epsilon(1e-6));
  CHECK(std::stod(pieces.substr(pieces.find('\n'))) ==
        doctest::Approx(std::stod(whole.substr(whole.find('\n')))).epsilon(1e-6));
}

TEST_CASE_TEMPLATE(
    "faults: NaN names the op or the tensor and the step, and the last good checkpoint stays",
    Trainer, LanguageModel, Translation) {
  const Trainer tiny;
  const std::string run = tiny.dir / "run";
  Strings wild{"--after", "50u", "--save-every", "1u", "--optimizer", "sgd", "--clip", "0"};
  int64_t bad_step = 0;
  std::string says;
  SUBCASE("weights that overflow are not saved") {
    wild.insert(wild.end(), {"--weight-decay", "1e30"});
    // Weights of 1e27 leave an LSTM's loss finite; a Transformer's next forward pass is found out
    // before its update.
    says = std::is_same_v<Trainer, LanguageModel>
               ? " left NaN or infinity in "
               : "the forward pass of step 2 gave NaN or infinity in ";
  }
  SUBCASE("a loss that is not finite names the op that gave it") {
    // Weights as large as float32 has them, from a checkpoint without a state: finite, but not
    // their products.
    REQUIRE(tiny.train(tiny.dir / "first", {"--after", "1u"}).code == 0);
    const std::string init = tiny.dir / "init";
    fs::create_directory(init);
    Safetensors weights = read_safetensors(tiny.dir / "first/checkpoints/best/model.safetensors");
    std::vector<NamedView> views;
    for (auto& [name, tensor] : weights.tensors) {
      if (name == tiny.head_words)
        std::fill_n(tensor.template data<float>(), tensor.elements(), 3e38f);
      views.push_back({name, tensor.view()});
    }
    write_safetensors(init + "/model.safetensors", views);
    std::vector<std::string> others = tiny.dictionaries;
    others.emplace_back("config.json");
    for (const std::string& file : others)
      fs::copy_file(tiny.dir / ("first/checkpoints/best/" + file), init + "/" + file);
    wild.insert(wild.end(), {"--init", init});
    says = "] the ";
    bad_step = 1;
  }
  const Outcome outcome = tiny.train(run, wild);
  CHECK(outcome.code == 1);
  CHECK_MESSAGE(has(outcome.err, "NaN or infinity in "), outcome.err);
  CHECK_MESSAGE(has(outcome.err, says), outcome.err);
  if (bad_step == 0) {
    const Checkpoint last = open_checkpoint(run + "/checkpoints/latest");
    const Safetensors weights = last.tensors("model.safetensors");
    for (const auto& [name, tensor] : weights.tensors)
      for (const double w : tensor.to_vector()) REQUIRE(std::isfinite(w));
    bad_step = last.step() + 1;
  }
  CHECK_MESSAGE(has(outcome.err, "step " + std::to_string(bad_step)), outcome.err);
}

TEST_CASE("threads: OpenMP's environment holds, and --threads is above it") {
  const LanguageModel tiny;
  const auto threads_of = [&](const Strings& environment, const Strings& more = {}) {
    Strings arguments{"--restart", "--after", "1u"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome =
        Program("lm_train", tiny.training(tiny.dir / "run", arguments), {}, [&] {
          for (const char* name : {"OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_PROC_BIND"})
            unsetenv(name);
          for (size_t i = 0; i + 1 < environment.size(); i += 2)
            setenv(environment[i].c_str(), environment[i + 1].c_str(), 1);
        }).wait();
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    const size_t end = outcome.err.find(" threads");
    return std::stoi(outcome.err.substr(outcome.err.rfind(' ', end - 1) + 1));
  };
  const int cores = physical_cores();
  CHECK(threads_of({}) == cores);
  CHECK(threads_of({"OMP_NUM_THREADS", "3"}) == 3);
  CHECK(threads_of({"OMP_NUM_THREADS", "3"}, {"--threads", "2"}) == 2);
  CHECK(threads_of({"OMP_THREAD_LIMIT", "1"}) == 1);
  CHECK(threads_of({"OMP_PROC_BIND", "true"}) == cores);
  CHECK(threads_of({"OMP_PROC_BIND", "spread", "OMP_PLACES", "cores"}) == cores);
}

#if !defined(NINE_SANITIZE_ADDRESS) && \
    !defined(NINE_SANITIZE_THREAD)  // they reserve terabytes of addresses themselves
namespace {

// For a child process: so many bytes of addresses.
std::function<void()> address_limit(rlim_t bytes) {
  return [bytes] {
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
  };
}

}  // namespace

TEST_CASE("faults: a model that does not fit is an error with numbers") {
  const LanguageModel tiny;
  Program program(
      "lm_train",
      {"--train", tiny.dir / "train.txt", "--hidden", "65536", "--run", tiny.dir / "run"}, {},
      address_limit(rlim_t{4} << 30));
  const Outcome outcome = program.wait();
  CHECK(outcome.code == 1);
  CHECK_MESSAGE(has(outcome.err, "out of memory: "), outcome.err);
  CHECK_MESSAGE(has(outcome.err, "MiB"), outcome.err);
  CHECK_MESSAGE(has(outcome.err, "lower one of --batch, "), outcome.err);
}

TEST_CASE_TEMPLATE("faults: a limit of addresses below the machine's memory is no obstacle",
                   Trainer, LanguageModel, Translation) {
  const Trainer tiny;
  const Outcome outcome = Program(tiny.program, tiny.training(tiny.dir / "run", {"--after", "4u"}),
                                  {}, address_limit(rlim_t{600} << 20))
                              .wait();
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
}

TEST_CASE("faults: threads that cannot be started") {
  const LanguageModel tiny;
  const auto little_memory = [] {
    const rlimit limit{rlim_t{600} << 20, rlim_t{600} << 20};
    setrlimit(RLIMIT_AS, &limit);
  };
  const Outcome outcome =
      Program("lm_train", tiny.training(tiny.dir / "run", {"--after", "4u", "--threads", "400"}),
              {}, little_memory)
          .wait();
  CHECK(outcome.code == 1);
  CHECK_MESSAGE(has(outcome.err, "Resource temporarily unavailable"), outcome.err);
}

TEST_CASE_TEMPLATE("faults: memory limits of any size are an error or none" *
                       doctest::test_suite("check"),
                   Trainer, LanguageModel, Translation) {
  const Trainer tiny;
  REQUIRE(tiny.train(tiny.dir / "model", {"--after", "4u"}).code == 0);
  const auto under_limit = [](const std::string& program, const Strings& arguments, rlim_t kib) {
    return Program(program, arguments, {}, address_limit(kib << 10)).wait();
  };
  int out_of_memory = 0, done = 0;
  for (rlim_t kib = 25'000; kib <= 160'000; kib += 1'500) {
    CAPTURE(kib);
    for (const auto& [program, arguments] :
         {std::pair{tiny.program, tiny.training(tiny.dir / ("run" + std::to_string(kib)),
                                                {"--after", "2u", "--threads", "1"})},
          {tiny.reader, Strings{"--checkpoint", tiny.dir / "model", "--input",
                                tiny.dir / "valid.txt", "--output", tiny.dir / "out"}}}) {
      // A build with CUDA is 35 MB of code: below some limit the C library's loader, or NVIDIA's
      // runtime, which registers kernels before main and does not look at its memory, ends it.
      if (under_limit(program, {"--version"}, kib).code != 0) continue;
      const Outcome outcome = under_limit(program, arguments, kib);
      const std::string said = concat(program, " ", outcome.code, " ", outcome.err);
      CHECK_MESSAGE((outcome.code == 0 || outcome.code == 1), said);
      ++(outcome.code == 0 ? done : out_of_memory);
    }
  }
  CHECK(done > 0);
  CHECK(out_of_memory > 0);
}

namespace {

// KiB of the main thread's stack in use; 0 for a process that has ended.
int stack_kib(pid_t id) {
  std::ifstream status("/proc/" + std::to_string(id) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmStk:")) return std::stoi(line.substr(6));
  return 0;
}

}  // namespace

TEST_CASE_TEMPLATE("faults: memory limits lowered under a running program" *
                       doctest::test_suite("check"),
                   Trainer, LanguageModel, Translation) {
  const Trainer tiny;
  REQUIRE(tiny.train(tiny.dir / "model", {"--after", "4u"}).code == 0);
  const auto seed = static_cast<unsigned>(std::time(nullptr) / 60);
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 10; ++i) {
    const std::string run = tiny.dir / ("run" + std::to_string(i));
    Program program(tiny.program, tiny.training(run, {"--after", "400u", "--valid-every", "10u"}));
    REQUIRE(soon([&] { return fs::exists(run + "/log.jsonl") || !program.running(); }));
    if (i == 0) CHECK(stack_kib(program.id()) >= 512);  // what is touched when the program starts
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 100'000));
    const rlimit none{1, 1};
    prlimit(program.id(), RLIMIT_AS, &none, nullptr);
    const Outcome outcome = program.wait();
    CHECK_MESSAGE((outcome.code == 0 || outcome.code == 1), outcome.code, " ", outcome.err);
    if (!has_checkpoint(run)) continue;
    const Outcome again = tiny.train(run, {"--after", "400u", "--valid-every", "10u"});
    CHECK_MESSAGE(again.code == 0, again.err);
  }
}
#endif

}  // namespace nine::tests::test_faults
