#include "apps/report/word_groups.h"

#include <algorithm>
#include <array>
#include <vector>

namespace nine::app {
namespace {

struct Group {
  const char* name;
  std::vector<std::string_view> words;
};

const std::array<Group, kWordGroups>& groups() {
  static const std::array<Group, kWordGroups> kGroups{{
      {"determiners and numbers",
       {"the",  "a",     "an",      "this", "that", "these",   "those", "some", "any",
        "no",   "each",  "every",   "all",  "both", "several", "few",   "many", "much",
        "more", "other", "another", "one",  "two",  "three",   "four",  "five"}},
      {"pronouns",
       {"i",    "you", "he",  "she", "it",    "we", "they", "me",  "him",  "her",   "us",
        "them", "his", "its", "our", "their", "my", "your", "who", "what", "which", "there"}},
      {"prepositions",
       {"of",     "in",    "on",      "at",     "to",      "with",    "by",    "for",     "from",
        "near",   "into",  "through", "over",   "under",   "up",      "down",  "out",     "off",
        "behind", "along", "across",  "around", "beside",  "between", "about", "against", "while",
        "as",     "next",  "front",   "inside", "outside", "above",   "during"}},
      {"be, have, do, modals",
       {"is", "are",  "was", "were", "be",    "been", "being", "am",  "has",   "have", "had",
        "do", "does", "did", "can",  "could", "will", "would", "may", "might", "must", "should"}},
      {"colours",
       {"red", "blue", "white", "black", "green", "yellow", "brown", "orange", "pink", "gray",
        "grey", "purple", "dark", "blond", "blonde"}},
      {"people", {"man",    "woman",  "men",   "women",    "boy",     "boys",    "girl",    "girls",
                  "people", "person", "child", "children", "kids",    "kid",     "player",  "lady",
                  "guy",    "baby",   "group", "farmer",   "farmers", "teacher", "teachers"}},
  }};
  return kGroups;
}

}  // namespace

const char* word_group_name(size_t group) { return groups().at(group).name; }

size_t word_group(std::string_view word) {
  for (size_t g = 0; g < kWordGroups; ++g)
    if (const auto& members = groups()[g].words;
        std::find(members.begin(), members.end(), word) != members.end())
      return g;
  return kNoGroup;
}

}  // namespace nine::app
