// apps/cli/output_directory: what is in the way of a directory, before and after work is lost.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "apps/cli/output_directory.h"
#include "apps/training/parity_export.h"
#include "core/error.h"
#include "tests/support/permissions.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_output_directory {

using namespace nine::app;
namespace fs = std::filesystem;

namespace {

// What both functions say of a directory that neither takes; nothing is made.
std::string refused(const fs::path& directory) {
  std::string made = error_of([&] { make_output_directory("--run", directory); });
  CHECK(made == error_of([&] { require_output_directory("--run", directory); }));
  return made;
}

// Both take it, the second without making it.
void check_taken(const fs::path& directory) {
  CAPTURE(directory.string());
  const bool there = fs::exists(directory);
  CHECK(error_of([&] { require_output_directory("--run", directory); }).empty());
  CHECK(fs::exists(directory) == there);
  CHECK(error_of([&] { make_output_directory("--run", directory); }).empty());
  CHECK(fs::is_directory(directory));
}

class At {  // a working directory, until it is destroyed
 public:
  explicit At(const fs::path& directory) : before_(fs::current_path()) {
    fs::current_path(directory);
  }
  ~At() { fs::current_path(before_); }
  At(const At&) = delete;
  At& operator=(const At&) = delete;

 private:
  fs::path before_;
};

TEST_CASE("output directory: a new one, one that is there, relative ones, links to one") {
  const TemporaryDirectory dir;
  const At at(fs::path(dir / "."));
  fs::create_directory(dir / "real");
  fs::create_directory_symlink("real", dir / "link");
  for (const char* name : {"new/deep/er", "new", "slash/", "./dot/../two", "link", "link/in"})
    check_taken(name);
  check_taken(dir / "absolute/one");
  CHECK(fs::is_directory(dir / "real/in"));
}

TEST_CASE("output directory: files, links to nothing and names that cannot be") {
  const TemporaryDirectory dir;
  put(dir / "file", "kept");
  const std::string file = dir / "file", instead = "; give another --run";
  CHECK(has(refused("-"), "--run - names no directory"));
  CHECK(refused(file) == "--run " + file + " is a file, not a directory" + instead);
  CHECK(refused(file + "/a/b") ==
        "--run " + file + "/a/b: " + file + " is a file, not a directory" + instead);
  fs::create_symlink("nothing", dir / "dangling");
  const std::string dangling = dir / "dangling";
  CHECK(refused(dangling) == "--run " + dangling + " is a symbolic link to nothing" + instead);
  CHECK(refused(dangling + "/sub") ==
        "--run " + dangling + "/sub: " + dangling + " is a symbolic link to nothing" + instead);
  fs::create_symlink("loop", dir / "loop");
  CHECK(has(refused(dir / "loop"), "cannot be looked at: Too many levels of symbolic links"));
  CHECK(has(refused(dir / "loop/sub"), "cannot be looked at: Too many levels of symbolic links"));
  CHECK(has(refused(dir / std::string(300, 'x')), "cannot be looked at: File name too long"));
  CHECK_FALSE(fs::exists(dir / "nothing"));
  CHECK(slurp(file) == "kept");
}

TEST_CASE("output directory: one of others' is refused before there is work to lose") {
  const TemporaryDirectory dir;
  const auto says = [&](const std::string& output) {
    const Outcome r = Program("lm_rescore",
                              {"--nbest", dir / "none", "--reference", dir / "none", "--checkpoint",
                               dir / "none", "--lambda", "1", "--output", output},
                              {}, obey_permissions)
                          .wait();
    CHECK(r.code == 1);
    return r.err;
  };
  const std::string own = "; give a directory that is yours, or another --output";
  fs::create_directory(dir / "there");
  fs::permissions(dir / "there", fs::perms::owner_read | fs::perms::owner_exec);
  const std::string unwritable = says(dir / "there/a/b");
  CHECK_MESSAGE(has(unwritable, concat("--output ", dir / "there/a/b", ": ", dir / "there",
                                       " cannot be written: Permission denied", own)),
                unwritable);
  fs::permissions(dir / "there", fs::perms::none);
  const std::string closed = says(dir / "there/a/b");
  CHECK_MESSAGE(has(closed, concat("--output ", dir / "there/a/b", ": ", dir / "there",
                                   " cannot be searched: Permission denied", own)),
                closed);
  fs::permissions(dir / "there", fs::perms::owner_all);
}

TEST_CASE("output directory: --export-parity names what is in its way") {
  const TemporaryDirectory dir;
  put(dir / "file", "kept");
  put(dir / "s", "a b\nb a\n");
  const std::string says =
      concat("--export-parity ", dir / "file", " is a file, not a directory; give another");
  const std::vector<std::string> common = {"--dropout", "0", "--export-parity", dir / "file"};
  const auto fails = [&](const std::string& program, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), common.begin(), common.end());
    const Outcome r = run_program(program, arguments);
    CHECK(r.code == 1);
    CHECK_MESSAGE(has(r.err, says), r.err);
  };
  fails("lm_train", {"--sample", "--sample-sentences", "400", "--hidden", "12", "--embed", "10",
                     "--batch", "4", "--bptt", "6"});
  fails("mt_train",
        {"--src", dir / "s", "--tgt", dir / "s", "--layers", "1", "--hidden", "16", "--ffn", "16",
         "--heads", "2", "--batch-tokens", "90", "--export-steps", "1", "--run", dir / "run"});
  CHECK(slurp(dir / "file") == "kept");
}

TEST_CASE("output directory: --export-parity keeps what a run or a model has") {
  const TemporaryDirectory dir;
  const auto says = [&](const std::string& name) {
    return error_of([&] { make_export_directory(dir / name); });
  };
  for (const char* held : {"log.jsonl", "state.json", "model.safetensors", "config.json"}) {
    const std::string name = std::string("of-") + held;
    fs::create_directory(dir / name);
    put(dir / name + "/" + held, "kept");
    CHECK(says(name) == concat("--export-parity ", dir / name, " holds a run or a model (its ",
                               held,
                               "), with which other files would mix; give another "
                               "--export-parity"));
    CHECK(slurp(dir / name + "/" + held) == "kept");
  }
  fs::create_directories(dir / "run/checkpoints");
  CHECK(has(says("run"), "holds a run or a model"));
  CHECK(says("new/one").empty());
  CHECK(fs::is_directory(dir / "new/one"));
  // An earlier export is written over.
  put(dir / "new/one/losses.json", "{}");
  put(dir / "new/one/config.json", "{}");
  CHECK(says("new/one").empty());
  // Both programs ask before they take a step.
  put(dir / "s", "a b\nb a\n");
  for (const auto& [program, arguments] :
       {std::pair<std::string, std::vector<std::string>>{
            "lm_train",
            {"--train", dir / "s", "--batch", "1", "--bptt", "2", "--hidden", "4", "--embed", "4"}},
        {"mt_train",
         {"--src", dir / "s", "--tgt", dir / "s", "--layers", "1", "--hidden", "16", "--ffn", "16",
          "--heads", "2", "--batch-tokens", "90"}}}) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--dropout", "0", "--export-steps", "1", "--export-parity",
                           dir / "of-config.json", "--run", dir / "none"});
    const Outcome r = run_program(program, all);
    CHECK(r.code == 1);
    CHECK_MESSAGE(has(r.err, "holds a run or a model"), r.err);
    CHECK(slurp(dir / "of-config.json/config.json") == "kept");
    CHECK_FALSE(fs::exists(dir / "of-config.json/init.safetensors"));
  }
}

}  // namespace

}  // namespace nine::tests::test_output_directory
