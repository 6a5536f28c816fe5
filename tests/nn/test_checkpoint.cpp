// Checkpoint directories: complete or absent, verified, and found again after anything that may
// have happened to them.
#include <doctest/doctest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/crc32c.h"
#include "core/files.h"
#include "core/json.h"
#include "core/notice.h"
#include "nn/training/checkpoint.h"
#include "tests/support/programs.h"
#include "tests/support/skip.h"
#include "tests/support/support.h"

namespace nine::tests::test_checkpoint {

namespace fs = std::filesystem;
namespace {

void flip_bit(const fs::path& file, size_t bit) {
  std::string bytes = read_text(file);
  bytes.at(bit / 8) = static_cast<char>(bytes.at(bit / 8) ^ (1 << (bit % 8)));
  put(file, bytes);
}

void check_says(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CAPTURE(part);
  CHECK(text.find(part) != std::string::npos);
}

std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    names.insert(entry.path().filename().string());
  return names;
}

// What a trainer of two weights saves at a step.
void write_files(CheckpointFiles& files, int64_t step) {
  const Tensor w = Tensor::from<float>({static_cast<float>(step), 2}, {2});
  const Tensor m = Tensor::from<double>({static_cast<double>(step) / 3}, {1});
  files.tensors("model.safetensors", {{"w", w}}, {{"format", "pt"}});
  files.tensors("optimizer.safetensors", {{"m.w", m}});
  files.text("config.json", "{\"hidden\": 2}\n");
  files.text("dict.txt", "the 10\n");
}

void save(CheckpointStore& store, int64_t step, bool is_best = false,
          const Json& state = {{"metric", 0.1}}) {
  store.save(
      step, state, [step](CheckpointFiles& files) { write_files(files, step); }, is_best);
}

int64_t step_found(const IntactCheckpoint& found) {
  return found.checkpoint ? found.checkpoint->step() : -1;
}

}  // namespace

TEST_CASE("checkpoint: what is saved comes back") {
  const Scratch run;
  CheckpointStore store(run / "checkpoints", 2);
  const Json state = {{"step", 1200},        {"key", 0xfedcba9876543210u},
                      {"third", 1.0 / 3},    {"tiny", 5e-324},
                      {"minus_zero", -0.0},  {"float", static_cast<double>(0.1f)},
                      {"name", "Zoë \"x\""}, {"nested", {{"b", {1, 2.5, nullptr}}, {"a", true}}}};
  save(store, 1200, false, state);
  CHECK(names_in(run / "checkpoints") == std::set<std::string>{"00001200", "latest"});
  CHECK(names_in(run / "checkpoints/00001200") ==
        std::set<std::string>{"config.json", "dict.txt", "model.safetensors",
                              "optimizer.safetensors", "state.json"});

  const Checkpoint c = open_checkpoint(run / "checkpoints/00001200");
  CHECK(c.step() == 1200);
  CHECK(c.state() == state);
  CHECK(c.state().dump() == state.dump());  // order, and the sign of zero
  CHECK(c.directory() == fs::canonical(run / "checkpoints/00001200"));
  CHECK(c.tensors("model.safetensors").at("w").to_vector() == std::vector<double>{1200, 2});
  CHECK(c.tensors("optimizer.safetensors").at("m.w").to_vector() == std::vector<double>{400});
  CHECK(c.text("dict.txt") == "the 10\n");
  CHECK(c.has("config.json"));
  CHECK_FALSE(c.has("codes"));
  check_says(error_of([&] { c.text("codes"); }),
             "does not hold codes; it holds: config.json, dict.txt, model.safetensors, "
             "optimizer.safetensors");

  // The layout that others read.
  const Json raw = Json::parse(read_text(run / "checkpoints/00001200/state.json"));
  CHECK(raw.begin().key() == "step");
  CHECK(raw["files"]["dict.txt"] == Json{{"bytes", 7}, {"crc32c", crc32c(0, "the 10\n", 7)}});
  CHECK(raw["files"].size() == 4);
  CHECK(raw["files"]["model.safetensors"]["bytes"] ==
        fs::file_size(run / "checkpoints/00001200/model.safetensors"));
}

TEST_CASE("checkpoint: the step is in the state though the trainer does not put it there") {
  const Scratch run;
  CheckpointStore store(run / "checkpoints", 1);
  store.save(0, Json::object(), [](CheckpointFiles&) {});
  store.save(123'456'789, {{"x", 1}}, [](CheckpointFiles&) {});
  CHECK(open_checkpoint(run / "checkpoints/123456789").state() ==
        Json{{"step", 123'456'789}, {"x", 1}});
  CHECK(step_found(store.find_latest_intact()) == 123'456'789);
}

TEST_CASE("checkpoint: the last k and the best are kept, links are relative") {
  const Scratch run;
  const fs::path dir = run / "checkpoints";
  CheckpointStore store(dir, 2);
  save(store, 10);
  CHECK(fs::read_symlink(dir / "latest") == "00000010");
  CHECK_FALSE(fs::exists(fs::symlink_status(dir / "best")));
  save(store, 20, true);
  CHECK(fs::read_symlink(dir / "best") == "00000020");
  save(store, 30);
  CHECK(names_in(dir) == std::set<std::string>{"00000020", "00000030", "best", "latest"});
  save(store, 40);
  save(store, 50);
  CHECK(names_in(dir) ==
        std::set<std::string>{"00000020", "00000040", "00000050", "best", "latest"});
  CHECK(fs::read_symlink(dir / "best") == "00000020");
  CHECK(fs::read_symlink(dir / "latest") == "00000050");
  save(store, 60, true);
  CHECK(names_in(dir) == std::set<std::string>{"00000050", "00000060", "best", "latest"});
  for (const char* link : {"best", "latest"}) CHECK(open_checkpoint(dir / link).step() == 60);

  // A run that goes on without a validation so far has no best one.
  fs::remove(dir / "best");
  fs::remove(dir / "latest");
  store.restore_links(50, std::nullopt);
  CHECK(fs::read_symlink(dir / "latest") == "00000050");
  CHECK_FALSE(fs::exists(fs::symlink_status(dir / "best")));
  store.restore_links(60, 60);

  // The run may move as a whole.
  fs::rename(dir, run / "moved");
  CHECK(open_checkpoint(run / "moved/best").step() == 60);
}

TEST_CASE("checkpoint: a damaged one does not count for those that are kept") {
  const Scratch run;
  const fs::path dir = run / "c";
  {
    CheckpointStore store(dir, 2);
    for (int64_t step : {1, 2}) save(store, step);
  }
  flip_bit(dir / "00000002/model.safetensors", 800);  // its size stays
  CheckpointStore store(dir, 2);
  save(store, 3);
  CHECK(names_in(dir) == std::set<std::string>{"00000001", "00000002", "00000003", "latest"});
  // One that this object wrote is looked at again.
  fs::resize_file(dir / "00000003/model.safetensors", 5);
  save(store, 4);
  CHECK(names_in(dir) ==
        std::set<std::string>{"00000001", "00000002", "00000003", "00000004", "latest"});
  save(store, 5);
  CHECK(names_in(dir) == std::set<std::string>{"00000004", "00000005", "latest"});
}

TEST_CASE("checkpoint: what no run wrote is kept, and never removed with a checkpoint") {
  const Scratch run;
  const fs::path dir = run / "c";
  std::vector<std::string> said;
  set_notices([&](const std::string& text) { said.push_back(text); });
  CheckpointStore store(dir, 1);
  save(store, 1);
  put(dir / "00000001/note", "mine");
  fs::create_directories(dir / "00000001/plots/a");
  save(store, 2);
  CHECK(names_in(dir) == std::set<std::string>{"00000001.kept", "00000002", "latest"});
  CHECK(slurp(dir / "00000001.kept/note") == "mine");
  CHECK(fs::is_directory(dir / "00000001.kept/plots/a"));
  REQUIRE(said.size() == 1);
  check_says(said[0], "c/00000001 is removed or replaced; what the run did not write there, ");
  // A step that is saved again, and one whose state is gone.
  put(dir / "00000002/note", "mine too");
  save(store, 2);
  CHECK(slurp(dir / "00000002.kept/note") == "mine too");
  put(dir / "00000002/other", "x");
  fs::remove(dir / "00000002/state.json");
  save(store, 3);
  CHECK(names_in(dir / "00000002.kept") == std::set<std::string>{"note", "other"});
  // A file of that name is no checkpoint.
  put(dir / "00000004", "a file");
  check_says(error_of([&] { save(store, 4); }), "00000004 is in the way of a checkpoint's");
  CHECK(slurp(dir / "00000004") == "a file");
  set_notices({});
}

TEST_CASE("checkpoint: keep one") {
  const Scratch run;
  CheckpointStore store(run / "c", 1);
  for (int64_t step : {1, 2, 3}) save(store, step, step == 1);
  CHECK(names_in(run / "c") == std::set<std::string>{"00000001", "00000003", "best", "latest"});
  check_says(error_of([&] { CheckpointStore(run / "d", 0); }),
             "at least one checkpoint has to be kept, not 0");
}

TEST_CASE("checkpoint: a step saved again replaces the old one and stays the best") {
  const Scratch run;
  CheckpointStore store(run / "c", 3);
  save(store, 7, true, {{"metric", 1}});
  store.save(7, {{"metric", 2}}, [](CheckpointFiles& files) { files.text("only.txt", "x"); });
  const Checkpoint c = open_checkpoint(run / "c/best");
  CHECK(c.state()["metric"] == 2);
  CHECK(names_in(run / "c/00000007") == std::set<std::string>{"only.txt", "state.json"});
  CHECK(names_in(run / "c") == std::set<std::string>{"00000007", "best", "latest"});
  save(store, 8);
  save(store, 8, true);
  CHECK(fs::read_symlink(run / "c/best") == "00000008");
}

TEST_CASE("checkpoint: what cannot be saved is refused and changes nothing") {
  const Scratch run;
  CheckpointStore store(run / "c", 2);
  save(store, 1);
  const auto nothing = [](CheckpointFiles&) {};
  const auto refusal = [&](const Json& state) {
    return error_of([&] { store.save(2, state, nothing); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               inf = std::numeric_limits<double>::infinity();
  check_says(refusal(Json::array()), "must be a JSON object");
  check_says(refusal({{"files", 1}}), "cannot hold the key 'files'");
  check_says(refusal({{"crc32c", 1}}), "cannot hold the key 'crc32c'");
  check_says(refusal({{"step", 3}}), "says another step than 2: 3");
  check_says(refusal({{"metrics", {{"valid", {1.0, nan}}}}}), "cannot hold nan (/metrics/valid/1)");
  check_says(refusal({{"best", inf}}), "cannot hold inf (/best)");
  check_says(error_of([&] { store.save(-1, Json::object(), nothing); }), "cannot be negative: -1");

  for (const char* name : {"", ".", "..", ".hidden", "a/b", "/etc/x", "state.json"})
    check_says(error_of([&] {
                 store.save(2, Json::object(),
                            [&](CheckpointFiles& files) { files.text(name, ""); });
               }),
               "a plain name other than state.json");
  const auto twice = [](CheckpointFiles& files) {
    files.text("a", "");
    files.text("a", "");
  };
  check_says(error_of([&] { store.save(2, Json::object(), twice); }), "written twice: a");
  CHECK_THROWS_AS(
      store.save(2, Json::object(), [](CheckpointFiles&) { throw std::runtime_error("stop"); }),
      std::runtime_error);
  CHECK(names_in(run / "c") == std::set<std::string>{"00000001", "latest"});
}

TEST_CASE("checkpoint: a full disk leaves the others as they were") {
  const Scratch run;
  CheckpointStore store(run / "c", 1);
  save(store, 1, true);
  const auto on_full = [](const std::string& name) {
    return [name](CheckpointFiles& files) {
      fs::create_symlink("/dev/full", files.directory() / name);
      write_files(files, 2);
    };
  };
  for (const char* name : {"model.safetensors", "config.json", "state.json"})
    check_says(error_of([&] { store.save(2, Json::object(), on_full(name), true); }),
               std::string(name) + ": free some");
  CHECK(names_in(run / "c") == std::set<std::string>{"00000001", "best", "latest"});
  CHECK(step_found(store.find_latest_intact()) == 1);
}

TEST_CASE("checkpoint: a small disk fills up, and works again with room" *
          doctest::test_suite("needs a small disk")) {
  struct SmallDisk : Scratch {
    bool mounted = ::mount("tmpfs", path().c_str(), "tmpfs", 0, "size=256k") == 0;
    ~SmallDisk() {
      if (mounted) ::umount2(path().c_str(), MNT_DETACH);
    }
  } disk;
  if (!disk.mounted) return skip("mounting a small disk needs root and a kernel that lets it");
  CheckpointStore store(disk / "c", 1);
  const auto sized = [](size_t bytes) {
    return [bytes](CheckpointFiles& files) { files.text("blob", std::string(bytes, 'x')); };
  };
  store.save(1, Json::object(), sized(100'000));
  check_says(error_of([&] { store.save(2, Json::object(), sized(300'000)); }),
             "no space left on device while writing");
  CHECK(names_in(disk / "c") == std::set<std::string>{"00000001", "latest"});
  store.save(2, Json::object(), sized(100'000));
  CHECK(step_found(store.find_latest_intact()) == 2);
}

TEST_CASE("checkpoint: damage is named, and the previous checkpoint found") {
  const Scratch run;
  const fs::path dir = run / "checkpoints";
  CheckpointStore store(dir, 5);
  for (int64_t step : {1, 2, 3}) save(store, step, step == 3);
  CHECK(step_found(store.find_latest_intact()) == 3);
  CHECK(store.find_latest_intact().skipped.empty());

  const fs::path newest = dir / "00000003";
  const fs::path model = newest / "model.safetensors";
  const auto expect = [&](const std::string& what) {
    const auto found = find_latest_intact(dir);
    CHECK(step_found(found) == 2);
    REQUIRE(found.skipped.size() == 1);
    check_says(found.skipped[0], "checkpoints/00000003");
    check_says(found.skipped[0], what);
    CHECK_THROWS_AS(open_checkpoint(newest), Error);
    CHECK_THROWS_AS(open_checkpoint(dir / "best"), Error);
  };
  const std::string bytes = read_text(model), state = read_text(newest / "state.json");
  SUBCASE("truncated") {
    put(model, bytes.substr(0, 40));
    expect("is damaged: model.safetensors is truncated: 40 of " + std::to_string(bytes.size()) +
           " bytes; use another checkpoint");
  }
  SUBCASE("grown") {
    put(model, bytes + "x");
    expect("model.safetensors has grown");
  }
  SUBCASE("any bit flipped") {
    for (size_t bit = 0; bit < 8 * bytes.size(); bit += 13) {
      put(model, bytes);
      flip_bit(model, bit);
      expect("model.safetensors has its " + std::to_string(bytes.size()) +
             " bytes, but another checksum");
    }
  }
  SUBCASE("a file is gone") {
    fs::remove(newest / "dict.txt");
    expect("dict.txt is missing");
  }
  SUBCASE("no state") {
    fs::remove(newest / "state.json");
    const auto found = find_latest_intact(dir);
    CHECK(step_found(found) == 2);
    check_says(found.skipped.at(0), "holds no state.json");
  }
  SUBCASE("another checkpoint's files") {
    fs::remove_all(newest);
    fs::copy(dir / "00000001", newest);
    expect(
        "state.json is of step 1, and its directory of step 3: another checkpoint stands in the "
        "place of this");
    // Elsewhere a directory is called what its owner likes.
    fs::copy(dir / "00000001", run / "20261129");
    CHECK(open_checkpoint(run / "20261129").step() == 1);
  }
  SUBCASE("a state that is none") {
    for (const char* other : {"{}", "[]", R"({"step":3})"}) {
      put(newest / "state.json", other);
      expect(
          concat("state.json is no state of a checkpoint: an object with the keys \"files\" and ",
                 "\"crc32c\" was expected, and ", other, " stands there; use another"));
      // The best model is not passed over for the latest one, or for another.
      check_says(error_of([&] { open_checkpoint(run.path()); }), other);
      fs::remove(dir / "best");
      check_says(error_of([&] { open_checkpoint(run.path()); }), other);
      fs::remove(dir / "latest");
      check_says(error_of([&] { open_checkpoint(run.path()); }), other);
      fs::create_symlink("00000003", dir / "latest");
      fs::create_symlink("00000003", dir / "best");
    }
  }
  SUBCASE("state cut at any byte") {
    for (size_t size = 0; size + 2 < state.size(); size += 7) {
      put(newest / "state.json", state.substr(0, size));
      expect("state.json cannot be read");
    }
  }
  SUBCASE("any bit of the state flipped: found, or the same to a reader") {
    const Json before = open_checkpoint(newest).state();
    for (size_t bit = 0; bit < 8 * state.size(); ++bit) {
      put(newest / "state.json", state);
      flip_bit(newest / "state.json", bit);
      const auto found = find_latest_intact(dir);
      if (step_found(found) == 3) {
        CHECK(found.checkpoint->state().dump() == before.dump());
      } else {
        CHECK(step_found(found) == 2);
      }
    }
  }
  SUBCASE("a name that leads out of the directory") {
    Json evil = Json::parse(state);
    evil.erase("crc32c");
    evil["files"]["../00000002/dict.txt"] = {{"bytes", 7}, {"crc32c", 0}};
    const std::string text = evil.dump();
    evil["crc32c"] = crc32c(0, text.data(), text.size());
    put(newest / "state.json", evil.dump());
    expect("names a file outside of the checkpoint");
  }
  SUBCASE("all of them") {
    for (const char* name : {"00000001", "00000002", "00000003"})
      fs::resize_file(dir / name / "model.safetensors", 5);
    const auto found = find_latest_intact(dir);
    CHECK_FALSE(found.checkpoint);
    CHECK(found.skipped.size() == 3);
  }
}

TEST_CASE("checkpoint: going on from the past removes what was passed over") {
  const Scratch run;
  CheckpointStore store(run / "c", 2);
  for (int64_t step : {10, 20, 30}) save(store, step);
  fs::resize_file(run / "c/00000030/dict.txt", 1);
  CHECK(step_found(store.find_latest_intact()) == 20);
  save(store, 25);
  CHECK(names_in(run / "c") == std::set<std::string>{"00000020", "00000025", "latest"});

  // A damaged best stays (never deleted), until its step is saved again.
  save(store, 30, true);
  fs::resize_file(run / "c/00000030/dict.txt", 1);
  CHECK(step_found(store.find_latest_intact()) == 25);
  save(store, 28);
  CHECK(names_in(run / "c") ==
        std::set<std::string>{"00000025", "00000028", "00000030", "best", "latest"});
  CHECK(step_found(store.find_latest_intact()) == 28);
  save(store, 30, true);
  CHECK(open_checkpoint(run / "c/best").step() == 30);
}

TEST_CASE(
    "checkpoint: leftovers of a killed writer are ignored by readers and cleared at the next "
    "start") {
  const Scratch run;
  const fs::path dir = run / "c";
  {  // a normal life
    CheckpointStore store(dir, 3);
    save(store, 1);
    save(store, 2);
  }
  fs::copy(dir / "00000001", dir / ".tmp-00000009-123", fs::copy_options::recursive);
  fs::create_directory(dir / ".tmp-00000010-123");
  fs::create_symlink("00000010", dir / ".latest.123.tmp");
  // killed between the two renames of a replacement, where names cannot be exchanged
  fs::rename(dir / "00000002", dir / ".old-00000002-123");
  fs::copy(dir / "00000001", dir / ".old-00000001-123", fs::copy_options::recursive);
  fs::create_directory(dir / "notes");
  put(dir / "00000077", "a file");
  fs::create_directory(dir / "123");

  const auto seen = find_latest_intact(dir);
  CHECK(step_found(seen) == 1);
  REQUIRE(seen.skipped.size() == 1);
  check_says(seen.skipped[0], "latest points to 00000002, which is not there");

  CheckpointStore store(dir, 3);
  CHECK(names_in(dir) ==
        std::set<std::string>{"00000001", "00000002", "00000077", "123", "latest", "notes"});
  CHECK(step_found(store.find_latest_intact()) == 2);
}

TEST_CASE("checkpoint: latest is the commit, directories beyond it are the last resort") {
  const Scratch run;
  const fs::path dir = run / "c";
  CheckpointStore store(dir, 5);
  for (int64_t step : {1, 2, 3}) save(store, step);
  replace_symlink(dir / "latest", "00000002");  // as if killed before the link moved
  CHECK(step_found(store.find_latest_intact()) == 2);
  fs::remove(dir / "00000001/state.json");
  fs::remove(dir / "00000002/state.json");
  CHECK(step_found(store.find_latest_intact()) == 3);
  fs::remove(dir / "latest");
  CHECK(step_found(store.find_latest_intact()) == 3);
  CHECK(step_found(find_latest_intact(run / "nowhere")) == -1);
}

TEST_CASE("checkpoint: one writer at a time, and nothing in the links' place") {
  const Scratch run;
  {
    CheckpointStore store(run / "c", 1);
    check_says(error_of([&] { CheckpointStore(run / "c", 1); }),
               "another process is writing checkpoints");
  }
  fs::create_directory(run / "c/latest");
  check_says(error_of([&] { CheckpointStore(run / "c", 1); }),
             concat((run / "c/latest").string(), ": in the way of a symbolic link"));
  // A copy that does not keep links: both are said at once.
  fs::create_directory(run / "c/best");
  check_says(error_of([&] { CheckpointStore(run / "c", 1); }),
             concat((run / "c/latest").string(), " and ", (run / "c/best").string(),
                    ": in the way of a symbolic link"));
  for (const char* link : {"c/latest", "c/best"}) fs::remove(run / link);
  const CheckpointStore again(run / "c", 1);  // the failed start holds no lock
  put(run / "file", "");
  check_says(error_of([&] { CheckpointStore(run / "file", 1); }), "cannot make the directory");
}

TEST_CASE("checkpoint: clear") {
  const Scratch run;
  CheckpointStore store(run / "c", 3);
  save(store, 1, true);
  save(store, 2);
  store.clear();
  CHECK(names_in(run / "c").empty());
  CHECK_FALSE(store.find_latest_intact().checkpoint);
  save(store, 1);
  CHECK(step_found(store.find_latest_intact()) == 1);
}

TEST_CASE("checkpoint: a path may be a checkpoint, a link, a run or its checkpoints") {
  const Scratch run;
  const fs::path dir = run / "checkpoints";
  CheckpointStore store(dir, 5);
  check_says(error_of([&] { resolve_checkpoint(run.path()); }),
             "neither a state.json nor checkpoints/");
  save(store, 1);
  save(store, 2);
  CHECK(resolve_checkpoint(run.path()) == fs::canonical(dir / "00000002"));
  save(store, 3, true);
  save(store, 4);
  CHECK(resolve_checkpoint(run.path()) == fs::canonical(dir / "00000003"));
  CHECK(resolve_checkpoint(dir) == fs::canonical(dir / "00000003"));
  CHECK(resolve_checkpoint(dir / "latest") == fs::canonical(dir / "00000004"));
  CHECK(resolve_checkpoint(dir / "latest/") == fs::canonical(dir / "00000004"));
  CHECK(resolve_checkpoint(dir / "00000001") == fs::canonical(dir / "00000001"));
  fs::create_directory_symlink(dir / "best", run / "mine");
  CHECK(open_checkpoint(run / "mine").step() == 3);
  fs::copy(dir / "best", run / "copied", fs::copy_options::recursive);
  CHECK(open_checkpoint(run / "copied").step() == 3);
  fs::remove(dir / "best");
  fs::remove(dir / "latest");
  CHECK(open_checkpoint(run.path()).step() == 4);

  check_says(error_of([&] { resolve_checkpoint(run / "nowhere"); }), "nowhere: no such directory");
  fs::create_symlink("00000099", run / "dangling");
  check_says(error_of([&] { resolve_checkpoint(run / "dangling"); }),
             "the symbolic link leads nowhere");
}

TEST_CASE("checkpoint: killed at any moment, the newest commit is intact") {
  const Scratch run;
  const fs::path dir = run / "c";
  int64_t reached = -1;
  for (int round = 0; round < 25 || (reached < 0 && round < 500);
       ++round) {  // on a slow disk the first save takes a while
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {  // saves on and on, each step twice, every third the best
      try {
        CheckpointStore store(dir, 2);
        const auto found = store.find_latest_intact();
        for (int64_t step = found.checkpoint ? found.checkpoint->step() + 1 : 1;; ++step) {
          save(store, step);
          save(store, step, step % 3 == 0);
        }
      } catch (...) {
        ::_exit(1);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(3000 + 1711 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));

    const CheckpointStore next(dir, 2);
    const auto found = next.find_latest_intact();
    for (const auto& message : found.skipped) FAIL_CHECK(message);
    CHECK(step_found(found) >= reached);
    reached = std::max(reached, step_found(found));
    if (fs::is_symlink(dir / "best")) CHECK(open_checkpoint(dir / "best").step() % 3 == 0);
  }
  CHECK(reached >= 0);
  CheckpointStore store(dir, 2);
  save(store, reached + 1);
  for (const auto& name : names_in(dir)) CHECK_FALSE(name.starts_with("."));
}

TEST_CASE("files: atomic_write_text replaces whole files and leaves nothing beside them") {
  const Scratch scratch;
  atomic_write_text(scratch / "a", "one");
  atomic_write_text(scratch / "a", std::string("tw\0o\n", 5));
  CHECK(read_text(scratch / "a") == std::string("tw\0o\n", 5));
  CHECK(digest_of_file(scratch / "a") == FileDigest{5, crc32c(0, "tw\0o\n", 5)});
  fs::create_symlink("a", scratch / "link");
  atomic_write_text(scratch / "link", "three");
  CHECK(fs::is_symlink(scratch / "link"));
  CHECK(read_text(scratch / "a") == "three");
  // Links to links, the last of them to nothing yet, one by its whole path.
  fs::create_directory(scratch / "d");
  fs::create_symlink("../new", scratch / "d/second");
  fs::create_symlink(scratch / "d/second", scratch / "first");
  atomic_write_text(scratch / "first", "made");
  CHECK(fs::is_symlink(scratch / "first"));
  CHECK(fs::is_symlink(scratch / "d/second"));
  CHECK(slurp(scratch / "new") == "made");
  fs::create_symlink("no/where", scratch / "lost");
  check_says(error_of([&] { atomic_write_text(scratch / "lost", "x"); }),
             "No such file or directory");
  fs::create_symlink("loop", scratch / "loop");
  check_says(error_of([&] { atomic_write_text(scratch / "loop", "x"); }),
             "loop: Too many levels of symbolic links");
  CHECK(fs::read_symlink(scratch / "loop") == "loop");
  REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  std::string heard;
  std::thread reader([&] { std::getline(std::ifstream(scratch / "pipe"), heard); });
  atomic_write_text(scratch / "pipe", "four");
  reader.join();
  CHECK(heard == "four");
  CHECK(fs::is_fifo(scratch / "pipe"));
  check_says(error_of([&] { atomic_write_text(scratch / "d", "x"); }), "cannot write");
  check_says(error_of([&] { atomic_write_text(scratch / "no/a", "x"); }),
             "No such file or directory");
  CHECK(names_in(scratch.path()) ==
        std::set<std::string>{"a", "d", "first", "link", "loop", "lost", "new", "pipe"});
}

TEST_CASE("files: reading") {
  const Scratch scratch;
  const std::string big(3'000'001, 'x');
  CHECK(write_text(scratch / "big", big) ==
        FileDigest{big.size(), crc32c(0, big.data(), big.size())});
  CHECK(read_text(scratch / "big") == big);
  put(scratch / "empty", "");
  CHECK(read_text(scratch / "empty").empty());
  check_says(error_of([&] { read_text(scratch / "none"); }), "none: No such file or directory");
  check_says(error_of([&] { read_text(scratch.path()); }), "Is a directory");
  // A pipe would be waited for.
  REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("pipe", scratch / "link");
  for (const char* name : {"pipe", "link"}) {
    const std::string error = concat(name, ": it is a named pipe, and a regular file was expected");
    check_says(error_of([&] { read_text(scratch / name); }), error);
    check_says(error_of([&] { digest_of_file(scratch / name); }), error);
    check_says(error_of([&] { read_safetensors(scratch / name); }), error);
    check_says(error_of([&] { read_json_object(scratch / name); }), error);
    CHECK(kind_of_file(scratch / name).empty());
  }
  check_says(error_of([&] { read_text("/dev/null"); }), "it is a device");
  fs::create_symlink("nowhere", scratch / "lost");
  check_says(error_of([&] { read_text(scratch / "lost"); }),
             "lost: the symbolic link leads nowhere");
  CHECK(is_there(scratch / "lost"));
  CHECK(!is_there(scratch / "nowhere"));
  std::string heard;
  std::thread writer([&] { atomic_write_text(scratch / "pipe", "four"); });
  heard = read_text_or_pipe(scratch / "pipe");
  writer.join();
  CHECK(heard == "four");
}

TEST_CASE("files: replace_symlink") {
  const Scratch scratch;
  replace_symlink(scratch / "l", "a");
  replace_symlink(scratch / "l", "b");
  CHECK(fs::read_symlink(scratch / "l") == "b");
  put(scratch / "f", "");
  check_says(error_of([&] { replace_symlink(scratch / "f", "a"); }), "f is in the way");
  CHECK(names_in(scratch.path()) == std::set<std::string>{"f", "l"});
}

TEST_CASE("checkpoint: a link 'best' that leads elsewhere than the state records is an error") {
  const Scratch run;
  const fs::path dir = run / "checkpoints";
  {
    CheckpointStore store(dir, 4);
    save(store, 10, true, {{"best", {{"step", 10}}}});
    for (const int64_t step : {20, 30}) save(store, step, false, {{"best", {{"step", 10}}}});
  }
  const auto lead = [&](const char* link, const char* to) {
    fs::remove(dir / link);
    fs::create_directory_symlink(to, dir / link);
  };
  const auto says = [&] { return error_of([&] { open_checkpoint(run.path()); }); };
  CHECK(says() == "");
  const std::string error =
      concat("leads to step 30, but the run's best step is 10, as its ",
             "state.json says: name the checkpoint ", (dir / "00000010").string());
  lead("best", "00000030");
  check_says(says(), error);
  check_says(error_of([&] { open_checkpoint(dir / "best"); }), error);
  CHECK(open_checkpoint(dir / "00000030").step() == 30);
  lead("latest", "00000010");  // exchanged
  check_says(says(), error);
  lead("latest", "00000030");
  fs::remove(dir / "best");
  fs::copy(dir / "00000020", dir / "best", fs::copy_options::recursive);
  check_says(says(), "leads to step 20, but the run's best step is 10");
  fs::remove_all(dir / "best");
  fs::copy(dir / "00000010", dir / "best", fs::copy_options::recursive);
  CHECK(says() == "");
  // A trainer that found the best model damaged put another in its place.
  fs::remove_all(dir / "best");
  lead("best", "00000030");
  fs::resize_file(dir / "00000010/model.safetensors", 20);
  CHECK(says() == "");
}

}  // namespace nine::tests::test_checkpoint
