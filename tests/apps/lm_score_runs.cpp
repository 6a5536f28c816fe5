#include "tests/apps/lm_score_runs.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <sstream>

#include "core/random.h"
#include "core/safetensors.h"

namespace nine::tests {
namespace {

std::string training_text() {
  const Strings subjects{"the cat", "the dog", "a dog", "a bird", "the old man", "she"},
      verbs{"saw", "heard", "liked", "fed"},
      objects{"the dog", "a cat", "the bird", "him", "a rare%"};
  RandomStream random({.seed = 5});
  std::string text;
  for (int i = 0; i < 500; ++i) {
    const auto pick = [&](const Strings& from) {
      return from[static_cast<size_t>(random.below(from.size()) * random.below(8) / 7)];
    };
    std::string line = pick(subjects) + " " + pick(verbs) + " " + pick(objects) +
                       (random.below(4) == 0 ? " today" : "");
    if (const size_t rare = line.find('%'); rare != std::string::npos)
      line.replace(rare, 1, std::to_string(i));
    text += line + "\n";
  }
  return text;
}

// The text and the runs on it.
class SmallModels {
 public:
  SmallModels() { dir_.write("train.txt", training_text()); }
  // Trains a model; its run.
  std::string train(const std::string& name, const Strings& more) const {
    Strings arguments{
        "--train", dir_ / "train.txt", "--layers", "1",     "--batch",  "4", "--bptt", "8", "--lr",
        "0.01",    "--min-count",      "2",        "--run", dir_ / name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome r = run_program("lm_train", arguments);
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return dir_ / name;
  }

 private:
  TemporaryDirectory dir_;
};
const SmallModels& models() {
  static const SmallModels all;
  return all;
}

}  // namespace

const std::string& model_a() {
  static const std::string run =
      models().train("a", {"--hidden", "16", "--embed", "12", "--after", "120u"});
  return run;
}

const std::string& model_b() {
  static const std::string run =
      models().train("b", {"--hidden", "24", "--embed", "24", "--after", "160u", "--seed", "2"});
  return run;
}

const std::string& model_c() {
  static const std::string run = models().train(
      "c", {"--hidden", "16", "--embed", "16", "--after", "60u", "--vocab-size", "12"});
  return run;
}

const std::string& transformer_model() {
  static const std::string run = models().train(
      "t", {"--arch", "transformer", "--hidden", "16", "--heads", "2", "--after", "160u"});
  return run;
}

std::string broken_model(const TemporaryDirectory& dir) {
  std::filesystem::create_directory(dir / "broken");
  for (const char* file : {"model.safetensors", "dict.txt"})
    dir.write(std::string("broken/") + file, "x 1\n");
  return dir / "broken";
}

std::string changed_model(const TemporaryDirectory& dir, const std::string& name,
                          const std::string& run, const std::string& tensor, int64_t element,
                          float value) {
  namespace fs = std::filesystem;
  fs::create_directory(dir / name);
  const fs::path from = run + "/checkpoints/best", to = dir / name;
  for (const char* file : {"config.json", "dict.txt"}) fs::copy_file(from / file, to / file);
  const Safetensors weights = read_safetensors(from / "model.safetensors");
  weights.at(tensor).data<float>()[element] = value;
  std::vector<NamedView> views;
  for (const auto& [own, numbers] : weights.tensors) views.push_back({own, numbers});
  write_safetensors(to / "model.safetensors", views, weights.metadata);
  return to.string();
}

std::string longer_text() {
  return lm_score({"--checkpoint", model_a(), "--generate", "--samples", "120", "--seed", "9"},
                  "\n");
}

Strings split(const std::string& text, char at) {
  Strings parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

std::string lm_score(const Strings& arguments, const std::string& input) {
  const Outcome r = run_program("lm_score", arguments, input);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return r.out;
}

std::vector<TopLine> top_lines(const std::string& model, const std::string& text, int count,
                               const Strings& more) {
  Strings arguments{"--checkpoint", model, "--top", std::to_string(count)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Strings lines = split(lm_score(arguments, text), '\n');
  CHECK(lines.at(0).starts_with("line\tposition\tword\tprobability\trank\tword.1\tp.1"));
  std::vector<TopLine> out;
  for (size_t i = 1; i < lines.size(); ++i) {
    const Strings cells = split(lines[i], '\t');
    REQUIRE(cells.size() == split(lines[0], '\t').size());
    TopLine t{std::stoi(cells[0]), std::stoi(cells[1]), cells[2],
              std::stod(cells[3]), std::stoi(cells[4]), {}};
    for (size_t c = 5; c < cells.size(); c += 2)
      t.top.emplace_back(cells[c], std::stod(cells[c + 1]));
    out.push_back(t);
  }
  return out;
}

std::vector<std::vector<double>> scored_tokens(const std::string& model, const std::string& text) {
  std::vector<std::vector<double>> out;
  for (const std::string& line : split(lm_score({"--checkpoint", model, "--tokens"}, text), '\n')) {
    out.emplace_back();
    for (const std::string& n : split(line, ' ')) out.back().push_back(std::stod(n));
  }
  return out;
}

}  // namespace nine::tests
