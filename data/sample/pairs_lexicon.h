// The words of the sample translation task (data/sample/pairs.h), German with their English, the
// most frequent first: what pairs_lexicon.txt beside this says.
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
  bool is_head = false;  ///< may end a compound: "tür" in "gartentür"
};
/// What begins a compound: German "küchen" in "küchenlampe", English "kitchen" in "kitchen lamp".
struct Modifier {
  std::string german, english;
};
/// Which objects a verb takes.
enum class VerbKind {
  intransitive,
  anything,  // a person, an animal or a thing
  thing,
  being,   // a person or an animal
  giving,  // a person in the dative, then a thing
  saying   // a clause
};
struct Verb {
  std::string prefix;  ///< of a separable verb, "auf" in "aufmachen"; else empty
  std::string plural;  ///< without the prefix; also the infinitive
  std::string singular, participle;
  bool with_sein = false;  ///< perfect with sein, else with haben
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
/// Adjectives without their endings.
const std::vector<Word>& adjectives();
const std::vector<std::string>& names();
/// Adverbs that open a sentence: of the perfect, or of the other tenses.
const std::vector<Word>& time_adverbs(bool perfect);
const std::vector<Word>& conjunctions();
/// Prepositions with the dative that stand before places.
const std::vector<Word>& prepositions();

}  // namespace nine::pairs
