// The German words of the sample translation task (data/sample/pairs.h) with their English
// translations, the most frequent first. They are read from pairs_lexicon.txt.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nine::pairs {

extern const std::string_view kPairsLexicon;  ///< pairs_lexicon.txt

enum class Gender { masculine, feminine, neuter };
enum class NounKind { person, animal, thing, place };

struct Noun {
  Gender gender = Gender::masculine;
  std::string singular, plural, dative_plural;
  std::string english, english_plural;
  bool is_head = false;  ///< true if the noun may end a compound: "tür" in "gartentür"
};
/// The first part of a compound: German "küchen" in "küchenlampe", English "kitchen" in "kitchen
/// lamp".
struct Modifier {
  std::string german, english;
};
/// The kind of objects that a verb takes.
enum class VerbKind {
  intransitive,
  anything,  // a person, an animal or a thing
  thing,
  being,   // a person or an animal
  giving,  // a person in the dative, then a thing
  saying   // a clause
};
struct Verb {
  std::string prefix;  ///< of a separable verb, such as "auf" in "aufmachen"; otherwise empty
  std::string plural;  ///< without the prefix; also the infinitive
  std::string singular, participle;
  bool with_sein = false;  ///< true if the perfect has sein; otherwise it has haben
  std::string english, english_third, english_past;

  std::string infinitive() const { return prefix + plural; }
};
struct Modal {
  std::string singular, plural, english_third, english;
};
struct Word {
  std::string german, english;
};

const std::vector<Noun>& nouns(NounKind kind);
const std::vector<Modifier>& modifiers();
const std::vector<Verb>& verbs(VerbKind kind);
const std::vector<Modal>& modals();
/// Returns the adjectives without their endings.
const std::vector<Word>& adjectives();
const std::vector<std::string>& names();
/// Returns the adverbs that open a sentence in the perfect, or in the other tenses.
const std::vector<Word>& time_adverbs(bool perfect);
const std::vector<Word>& conjunctions();
/// Returns the prepositions for places, which take the dative.
const std::vector<Word>& prepositions();

}  // namespace nine::pairs
