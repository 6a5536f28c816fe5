#include "data/sample/pairs_lexicon.h"

#include <array>

#include "core/error.h"
#include "data/sample/lexicon.h"

namespace nine::pairs {

namespace {

std::string_view section(const std::string& heading) {
  return lexicon_section(kPairsLexicon, heading).value();
}

/// Returns the entries under a heading, one for each line.
template <class T>
std::vector<T> all_of(const std::string& heading, T make(const Words&)) {
  std::vector<T> out;
  for (const std::string& line : lines_of(section(heading))) out.push_back(make(words_of(line)));
  return out;
}

std::string with_dative_n(const std::string& plural) {
  return plural.ends_with('n') || plural.ends_with('s') ? plural : plural + "n";
}

/// Parses "die maus mäuse mouse mice". A + before the English word marks a head of compounds.
Noun noun_of(const Words& w) {
  const bool head = w[3][0] == '+';
  const std::string english = w[3].substr(head ? 1 : 0);
  const Gender gender = w[0] == "der"   ? Gender::masculine
                        : w[0] == "die" ? Gender::feminine
                                        : Gender::neuter;
  return {gender, w[1], w[2], with_dative_n(w[2]), english, w.size() > 4 ? w[4] : with_s(english),
          head};
}

/// Parses "auf|machen macht gemacht open opened". A * before the verb marks a perfect with sein.
Verb verb_of(const Words& w) {
  const bool with_sein = w[0][0] == '*';
  const std::string german = w[0].substr(with_sein ? 1 : 0);
  const size_t bar = german.find('|');
  const std::string prefix = bar == std::string::npos ? "" : german.substr(0, bar);
  return {prefix,       german.substr(bar == std::string::npos ? 0 : bar + 1),
          w[1],         prefix + w[2],
          with_sein,    w[3],
          with_s(w[3]), w[4]};
}

Word word_of(const Words& w) { return {w[0], w[1]}; }
Modifier modifier_of(const Words& w) { return {w[0], w[1]}; }

template <class T, size_t kKinds>
std::array<std::vector<T>, kKinds> by_kind(const std::string& what,
                                           const char* const (&kinds)[kKinds],
                                           T make(const Words&)) {
  std::array<std::vector<T>, kKinds> all;
  for (size_t k = 0; k < kKinds; ++k) all[k] = all_of<T>(concat(what, " ", kinds[k]), make);
  return all;
}

}  // namespace

const std::vector<Noun>& nouns(NounKind kind) {
  static const auto all = by_kind<Noun>("noun", {"person", "animal", "thing", "place"}, noun_of);
  return all[static_cast<size_t>(kind)];
}

const std::vector<Verb>& verbs(VerbKind kind) {
  static const auto all = by_kind<Verb>(
      "verb", {"intransitive", "anything", "thing", "being", "giving", "saying"}, verb_of);
  return all[static_cast<size_t>(kind)];
}

const std::vector<Modifier>& modifiers() {
  static const auto all = all_of<Modifier>("modifiers", modifier_of);
  return all;
}

const std::vector<Modal>& modals() {
  static const std::vector<Modal> all = {{"will", "wollen", "wants to", "want to"},
                                         {"kann", "können", "can", "can"},
                                         {"muss", "müssen", "must", "must"},
                                         {"wird", "werden", "will", "will"},
                                         {"soll", "sollen", "should", "should"}};
  return all;
}

const std::vector<Word>& adjectives() {
  static const auto all = all_of<Word>("adjectives", word_of);
  return all;
}

const std::vector<std::string>& names() {
  static const auto all = words_of(section("names"));
  return all;
}

const std::vector<Word>& time_adverbs(bool perfect) {
  static const auto past = all_of<Word>("time perfect", word_of),
                    other = all_of<Word>("time other", word_of);
  return perfect ? past : other;
}

const std::vector<Word>& conjunctions() {
  static const auto all = all_of<Word>("conjunctions", word_of);
  return all;
}

const std::vector<Word>& prepositions() {
  static const auto all = all_of<Word>("prepositions", word_of);
  return all;
}

}  // namespace nine::pairs
