// The words of the sample language (data/sample/sample.h), by class, the most frequent first: what
// lexicon.txt beside this says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

enum class NounClass { person, animal, food, thing, text, vehicle, place };
/// All verbs of a class take the same subjects and objects.
enum class VerbClass {
  rest,    // people and animals: "sleep"
  laugh,   // people
  growl,   // animals
  vanish,  // what is not alive
  go,      // people and animals, to a place
  eat,     // people and animals, food
  cook,    // people, food
  see,     // people and animals, nearly everything
  carry,   // people, things
  write,   // people, texts
  drive,   // people, vehicles
  visit,   // people, places
  meet,    // people, people
  feed,    // people, animals
  hunt,    // animals, animals
  give,    // people, something to someone
  say      // people, that something is so
};
/// The order in which adjectives stand before their noun.
enum class AdjectiveSlot { quality, size, colour };
enum class Tense { past, present, future };

struct Noun {
  std::string singular, plural;
};
struct Verb {
  std::string base, third, past, participle;  ///< see, sees, saw, seeing
};
using Words = std::vector<std::string>;

std::vector<Noun> nouns(NounClass c);
std::vector<Verb> verbs(VerbClass c);
/// What may stand in a slot before a noun of the class; empty where nothing does.
Words adjectives(NounClass c, AdjectiveSlot slot);
/// What a subject can be said to be: "tired" of the living, "empty" of the rest.
Words states(bool alive);
Words female_names();
Words male_names();
/// Adverbs and phrases that open a sentence and decide its tense; a phrase's words are separated by
/// spaces.
Words time_phrases(Tense tense);
Words manner_adverbs();

/// dogs, boxes, stories: English plurals, and verbs' third person.
std::string with_s(const std::string& word);

/// The words of a text that are separated by spaces or line ends.
Words words_of(std::string_view text);
/// The lines of a text, without the spaces that they begin with.
Words lines_of(std::string_view text);

extern const std::string_view kSampleLexicon;  ///< lexicon.txt
/// What stands in a lexicon behind the line "HEADING:", up to the next line that does not begin
/// with a space; empty: no such line.
std::optional<std::string_view> lexicon_section(std::string_view text, std::string_view heading);

}  // namespace nine
