#include "apps/lm_train/initial_words.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "apps/cli/text_table.h"
#include "core/number_format.h"
#include "core/quote.h"
#include "data/tokenizers/model_tokenizer.h"

namespace nine::app {
namespace {

constexpr size_t kFirst = 6;

std::vector<std::string> first_of(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min(kFirst, words.size()); ++i)
    out.push_back(shortened(visible_text(words[i])));
  return out;
}

// Calls f(kind, words, what happens to them) for each kind of words.
template <class F>
void for_each_kind(const WordMatch& words, F&& f) {
  f("kept", words.kept, "the model's rows");
  f("added", words.added, "means of their pieces, or of all words");
  f("dropped", words.dropped, "words of the model alone");
}

}  // namespace

std::string words_text(const WordMatch& words) {
  if (words.same) return "";
  std::vector<std::vector<std::string>> rows{{"words", "number", "rows", "the first"}};
  for_each_kind(
      words, [&](const char* kind, const std::vector<std::string>& all, const char* what) {
        std::string first;
        for (const std::string& word : first_of(all)) first += (first.empty() ? "" : " ") + word;
        rows.push_back({kind, std::to_string(all.size()), all.empty() ? "" : what, first});
      });
  std::string table = '\n' + text_table(rows);
  table.pop_back();
  return table;
}

Json words_event(const std::string& init, const WordMatch& words) {
  Json out{{"model", init}};
  for_each_kind(words, [&](const char* kind, const std::vector<std::string>& all, const char*) {
    out[kind] = all.size();
    if (!words.same) out[concat("first_", kind)] = first_of(all);
  });
  return out;
}

}  // namespace nine::app
