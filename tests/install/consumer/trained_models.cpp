#include "trained_models.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <sstream>
#include <vector>

#include "nn/nine.h"

using namespace nine;

namespace {

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(file);
  require(in.good(), "cannot read ", file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void print_sums(const std::vector<std::vector<double>>& log_p) {
  for (const std::vector<double>& line : log_p)
    std::puts(shortest(std::accumulate(line.begin(), line.end(), 0.0)).c_str());
}

}  // namespace

void print_scores(const std::string& directory, const std::string& file, bool tokens) {
  const LanguageModel model = LanguageModel::load(directory);
  const std::vector<std::vector<double>> log_p = model.score(lines_of(file));
  if (!tokens) return print_sums(log_p);
  for (const std::vector<double>& line : log_p)
    for (size_t i = 0; i < line.size(); ++i)
      std::printf("%s%s", shortest(line[i]).c_str(), i + 1 < line.size() ? " " : "\n");
}

void print_continuations(const std::string& directory, const std::string& file) {
  const LanguageModel model = LanguageModel::load(directory);
  for (const std::string& text : model.generate(lines_of(file), {.seed = 5}))
    std::puts(text.c_str());
}

void print_top_words(const std::string& directory, const std::string& file, int count) {
  const LanguageModel model = LanguageModel::load(directory);
  const Vocabulary& vocabulary = model.vocabulary();
  const std::vector<std::string> lines = lines_of(file);
  std::printf("line\tposition\tword\tprobability\trank");
  for (int i = 1; i <= count; ++i) std::printf("\tword.%d\tp.%d", i, i);
  std::puts("");
  const std::vector<std::vector<WordExpectation>> expected = model.top_words(lines, count);
  for (size_t line = 0; line < lines.size(); ++line) {
    std::istringstream words(lines[line] + " </s>");
    std::string word;
    for (size_t position = 0; words >> word; ++position) {
      const WordExpectation& e = expected[line][position];
      const bool known = word == "</s>" || vocabulary.id(word) != Specials::kLanguageModel.unknown;
      std::printf("%zu\t%zu\t%s%s\t%.6g\t%lld", line + 1, position + 1, word.c_str(),
                  known ? "" : " (<unk>)", std::exp(e.log_p), static_cast<long long>(e.rank));
      for (size_t i = 0; i < e.top.size(); ++i)
        std::printf("\t%s\t%.6g", vocabulary.word(e.top[i]).c_str(), std::exp(e.top_log_p[i]));
      std::puts("");
    }
  }
}

void print_translations(const std::string& directory, const std::string& file) {
  const Translator translator = Translator::load(directory);
  for (const std::string& text : translator.translate(lines_of(file))) std::puts(text.c_str());
}

void print_translation_scores(const std::string& directory, const std::string& sources,
                              const std::string& targets) {
  print_sums(Translator::load(directory).score(lines_of(sources), lines_of(targets)));
}
