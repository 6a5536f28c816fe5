// The words of the sample language (data/sample/sample.h) by class, the most frequent first. They
// are read from lexicon.txt.
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
  vanish,  // things, vehicles and so on, which are not alive
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
/// Returns the adjectives of a slot for nouns of a class; may be empty.
Words adjectives(NounClass c, AdjectiveSlot slot);
/// Returns the states of a subject after "is": "tired" for living subjects, "empty" for others.
Words states(bool alive);
Words female_names();
Words male_names();
/// Returns adverbs and phrases that open a sentence and decide its tense. Spaces separate the words
/// of a phrase.
Words time_phrases(Tense tense);
Words manner_adverbs();

/// Returns the English plural of a noun, or the third person of a verb: dogs, boxes, stories.
std::string with_s(const std::string& word);

/// Returns the words of a text, which spaces or line ends separate.
Words words_of(std::string_view text);
/// Returns the lines of a text without their leading spaces.
Words lines_of(std::string_view text);

extern const std::string_view kSampleLexicon;  ///< lexicon.txt
/// Returns the text of a lexicon after the line "HEADING:", up to the next line that does not begin
/// with a space. Returns nothing if the lexicon has no such heading.
std::optional<std::string_view> lexicon_section(std::string_view text, std::string_view heading);

}  // namespace nine
