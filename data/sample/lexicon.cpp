#include "data/sample/lexicon.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace nine {

namespace {

bool is_vowel(char c) { return std::string_view("aeiou").find(c) != std::string_view::npos; }
bool hisses(std::string_view word) {
  return word.ends_with('s') || word.ends_with('x') || word.ends_with('z') ||
         word.ends_with("sh") || word.ends_with("ch");
}
bool ends_in_consonant_y(std::string_view word) {
  return word.size() > 1 && word.ends_with('y') && !is_vowel(word[word.size() - 2]);
}
std::string without_last(const std::string& word) { return word.substr(0, word.size() - 1); }

std::string with_ed(const std::string& word) {
  if (ends_in_consonant_y(word)) return without_last(word) + "ied";
  return word + (word.ends_with('e') ? "d" : "ed");
}
std::string with_ing(const std::string& word) {
  const bool silent_e = word.ends_with('e') && !word.ends_with("ee");
  return (silent_e ? without_last(word) : word) + "ing";
}

Words split(std::string_view text, std::string_view separators) {
  Words parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    if (end > begin) parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Parses a noun: "dog", or "mouse:mice".
Noun noun_of(std::string_view entry) {
  const Words forms = split(entry, ":");
  return {forms[0], forms.size() > 1 ? forms[1] : with_s(forms[0])};
}

/// Parses a verb: "walk", "see:saw" or "run:ran:running".
Verb verb_of(std::string_view entry) {
  const Words forms = split(entry, ":");
  const std::string third = forms[0] == "go" ? "goes" : with_s(forms[0]);
  return {forms[0], third, forms.size() > 1 ? forms[1] : with_ed(forms[0]),
          forms.size() > 2 ? forms[2] : with_ing(forms[0])};
}

constexpr std::array kNounNames{"person", "animal", "food", "thing", "text", "vehicle", "place"};
constexpr std::array kVerbNames{"rest", "laugh", "growl", "vanish", "go",    "eat",
                                "cook", "see",   "carry", "write",  "drive", "visit",
                                "meet", "feed",  "hunt",  "give",   "say"};

Words words_under(const std::string& heading) {
  return words_of(lexicon_section(kSampleLexicon, heading).value());
}

template <class T>
std::vector<T> all_under(const std::string& heading, T make(std::string_view)) {
  std::vector<T> out;
  for (const std::string& entry : words_under(heading)) out.push_back(make(entry));
  return out;
}

}  // namespace

std::string with_s(const std::string& word) {
  if (ends_in_consonant_y(word)) return without_last(word) + "ies";
  return word + (hisses(word) ? "es" : "s");
}

Words words_of(std::string_view text) { return split(text, " \n"); }
Words lines_of(std::string_view text) {
  Words lines = split(text, "\n");
  for (std::string& line : lines) line.erase(0, line.find_first_not_of(' '));
  return lines;
}

std::optional<std::string_view> lexicon_section(std::string_view text, std::string_view heading) {
  const std::string line = concat("\n", heading, ":\n");
  const size_t at = text.find(line);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + line.size());
  size_t end = 0;  // end of the lines that begin with spaces
  while (end < text.size() && text[end] == ' ') end = text.find('\n', end) + 1;
  return text.substr(0, end);
}

std::vector<Noun> nouns(NounClass c) {
  return all_under<Noun>(concat("noun ", kNounNames[static_cast<size_t>(c)]), noun_of);
}

std::vector<Verb> verbs(VerbClass c) {
  return all_under<Verb>(concat("verb ", kVerbNames[static_cast<size_t>(c)]), verb_of);
}

Words adjectives(NounClass c, AdjectiveSlot slot) {
  const std::string any = slot == AdjectiveSlot::quality ? "quality"
                          : slot == AdjectiveSlot::size  ? "size"
                                                         : "colour";
  const auto own =
      lexicon_section(kSampleLexicon, concat(any, " ", kNounNames[static_cast<size_t>(c)]));
  return own ? words_of(*own) : words_under(any);
}

Words states(bool alive) { return words_under(alive ? "state alive" : "state lifeless"); }
Words female_names() { return words_under("female names"); }
Words male_names() { return words_under("male names"); }
Words manner_adverbs() { return words_under("manner"); }

Words time_phrases(Tense tense) {
  constexpr std::array kNames{"past", "present", "future"};
  const std::string heading = concat("time ", kNames[static_cast<size_t>(tense)]);
  return lines_of(lexicon_section(kSampleLexicon, heading).value());
}

}  // namespace nine
