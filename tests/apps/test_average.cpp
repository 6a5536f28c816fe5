// mt_train --average: the mean of a run's checkpoints, which are held to what resuming asks of
// them.
#include <doctest/doctest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/safetensors.h"
#include "nn/models/translator.h"
#include "nn/training/checkpoint.h"
#include "tests/apps/mt_runs.h"
#include "tests/support/checkpoints.h"
#include "tests/support/support.h"

namespace nine::tests::test_average {
namespace {

namespace fs = std::filesystem;

}  // namespace

TEST_CASE("mt_train: --average writes the mean of the last checkpoints, a checkpoint of its own") {
  const Reversed text;
  REQUIRE(train(tiny(text.dir / "run", text.files({"--after", "40u", "--save-every", "10u",
                                                   "--keep", "3", "--valid-every", "1000u"})))
              .code == 0);
  // Started again, the finished run does nothing, and still has its three checkpoints.
  REQUIRE(train(tiny(text.dir / "run", text.files({"--after", "40u", "--save-every", "10u",
                                                   "--keep", "1", "--valid-every", "1000u"})))
              .code == 0);
  const Outcome r = train({"--run", text.dir / "run", "--average", "3"});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const Checkpoint mean = open_checkpoint(text.dir / "run/average");
  CHECK(mean.step() == 40);
  CHECK(mean.state()["averaged"].get<std::vector<int>>() == std::vector{20, 30, 40});
  const Translator saved = Translator::load(text.dir / "run/average");
  std::vector<Safetensors> parts;
  for (const char* step : {"20", "30", "40"})
    parts.push_back(
        read_safetensors(text.dir / "run/checkpoints/000000" + step + "/model.safetensors"));
  const Safetensors weights = mean.tensors("model.safetensors");
  REQUIRE(weights.tensors.size() == parts[0].tensors.size());
  for (const auto& [name, tensor] : weights.tensors) {
    const auto a = parts[0].at(name).to_vector(), b = parts[1].at(name).to_vector(),
               c = parts[2].at(name).to_vector(), m = tensor.to_vector();
    for (size_t i = 0; i < m.size(); ++i)
      REQUIRE(m[i] == static_cast<double>(static_cast<float>((a[i] + b[i] + c[i]) / 3)));
  }
  const std::string bytes = slurp(text.dir / "run/average/latest/model.safetensors");
  CHECK(train({"--run", text.dir / "run", "--average", "3"}).code == 0);
  CHECK(slurp(text.dir / "run/average/latest/model.safetensors") == bytes);
  const Outcome nowhere = train({"--run", text.dir / "nosuch", "--average", "1"});
  CHECK(nowhere.code == 1);
  CHECK_MESSAGE(has(nowhere.err, "there is no directory " + text.dir / "nosuch"), nowhere.err);
  // What is given in the place of a run, and what to give.
  const auto says = [&](const std::string& given, const std::string& why) {
    const Outcome o = train({"--run", given, "--average", "1"});
    CHECK(o.code == 1);
    CHECK_MESSAGE(has(o.err, concat("--average 1: ", given, why)), o.err);
  };
  fs::create_directory(text.dir / "empty");
  says(text.dir / "empty", " holds no run; give the directory of a run as --run");
  const std::string to_give = concat(", and the directory of a run was expected: give --run ",
                                     fs::canonical(text.dir / "run").string());
  says(text.dir / "run/checkpoints/latest", " is a checkpoint" + to_give);
  says(text.dir / "run/average/latest", " is a checkpoint" + to_give);
  says(text.dir / "run/checkpoints", " holds checkpoints" + to_give);
  says(text.dir / "run/average", " holds checkpoints" + to_give);
  const Outcome many = train({"--run", text.dir / "run", "--average", "9"});
  CHECK(many.code == 1);
  CHECK(has(many.err, "has the last 3 checkpoints; train with a larger --keep"));
  CHECK(has(train({"--run", text.dir / "run", "--average", "2", "--lr", "1"}).err,
            "--average reads --run and does nothing with --lr"));
  // The best checkpoint is kept beside the last ones, here two, but is none of them.
  Json config = Json::parse(slurp(text.dir / "run/config.json"));
  config["keep"] = 2;
  text.dir.write("run/config.json", config.dump());
  CHECK(
      has(train({"--run", text.dir / "run", "--average", "3"}).err, "has the last 2 checkpoints"));
  config["keep"] = "2";
  text.dir.write("run/config.json", config.dump());
  CHECK(has(train({"--run", text.dir / "run", "--average", "2"}).err,
            "run/config.json: the key 'keep' is \"2\", and a whole number was expected"));
  config["keep"] = 2;
  text.dir.write("run/config.json", config.dump());
  // Another run's checkpoint is not averaged.
  REQUIRE(train(tiny(text.dir / "other", text.files({"--after", "30u", "--seed", "7"}))).code == 0);
  fs::rename(text.dir / "run/checkpoints/00000030", text.dir / "own");
  fs::copy(text.dir / "other/checkpoints/00000030", text.dir / "run/checkpoints/00000030");
  const Outcome mixed = train({"--run", text.dir / "run", "--average", "2"});
  CHECK(mixed.code == 2);
  CHECK_MESSAGE(has(mixed.err, "checkpoints/00000030/config.json is of another run than " +
                                   text.dir / "run/config.json" + ": --"),
                mixed.err);
  CHECK_MESSAGE(has(mixed.err, "; --seed was 7 in that checkpoint, now 1; put the"), mixed.err);
  fs::remove_all(text.dir / "run/checkpoints/00000030");
  fs::rename(text.dir / "own", text.dir / "run/checkpoints/00000030");
  // A run that starts over takes the mean along.
  REQUIRE(train(tiny(text.dir / "run", text.files({"--after", "2u", "--restart"}))).code == 0);
  CHECK_FALSE(fs::exists(text.dir / "run/average"));
  CHECK(open_checkpoint(text.dir / "run/old-1/average").step() == 40);
}

TEST_CASE("mt_train: --average refuses what resuming refuses") {
  const Reversed text;
  REQUIRE(train(tiny(text.dir / "run", text.files({"--after", "40u", "--save-every", "10u",
                                                   "--keep", "4", "--valid-every", "1000u"})))
              .code == 0);
  const fs::path run = text.dir / "run", checkpoints = run / "checkpoints";
  fs::copy(run, text.dir / "whole", fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const auto refused = [&](const std::string& why) {
    const Outcome o = train({"--run", run, "--average", "3"});
    CHECK(o.code != 0);
    CHECK_MESSAGE(has(o.err, why), o.err);
    CHECK_FALSE(fs::exists(run / "average"));
    fs::remove_all(run);
    fs::copy(text.dir / "whole", run,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  };
  const fs::path third = checkpoints / "00000030";
  const std::string weights = third / "model.safetensors";
  // Only those up to `latest` are the run's.
  replace_symlink(checkpoints / "latest", "00000020");
  refused("has the last 2 checkpoints");
  replace_symlink(checkpoints / "latest", "00000030");
  const Outcome beyond = train({"--run", run, "--average", "2"});
  CHECK(beyond.code == 0);
  CHECK_MESSAGE(has(beyond.err, (checkpoints / "00000040").string() +
                                    " lies beyond the run's latest checkpoint and was passed over"),
                beyond.err);
  CHECK(open_checkpoint(run / "average").state()["averaged"].get<std::vector<int>>() ==
        std::vector{20, 30});
  // A run in the place of the mean.
  fs::remove_all(run / "average");
  fs::create_directories(run / "average/checkpoints");
  CHECK(has(train({"--run", run, "--average", "2"}).err,
            "average holds a run, and the mean would be written there: move that run elsewhere"));
  CHECK(fs::is_empty(run / "average/checkpoints"));
  fs::remove_all(run / "average");
  replace_symlink(checkpoints / "latest", "00000035");
  refused("latest points to 00000035, which is not there");
  fs::remove(run / "config.json");
  refused("holds a run without config.json");
  change_tensor(third, "model.safetensors", "tgt_embedding.weight", 2,
                std::numeric_limits<double>::quiet_NaN());
  refused(weights + ": tensor 'tgt_embedding.weight' has nan at [0, 2]");
  change_tensor(third, "model.safetensors", "positions", 5, 0.25);
  refused(weights + ": tensor 'positions' is not the table of sines");
  fs::rename(third / "src.dict.txt", third / "x");
  fs::rename(third / "tgt.dict.txt", third / "src.dict.txt");
  fs::rename(third / "x", third / "tgt.dict.txt");
  seal(third);
  refused("is of another run than " + (run / "config.json").string() +
          ": the words of src.dict.txt have the checksum ");
  seal(third, [](Json& state) { state["schedule"]["scale"] = 3; });
  refused("the key 'schedule/scale' is 3");
  // A mean is no checkpoint of a training.
  REQUIRE(train({"--run", run, "--average", "3"}).code == 0);
  fs::remove_all(checkpoints / "00000040");
  fs::rename(run / "average/00000040", checkpoints / "00000040");
  fs::remove_all(run / "average");
  refused("00000040 is a mean of checkpoints (mt_train --average)");
}

}  // namespace nine::tests::test_average
