// Two rules keep the language unambiguous (tests/data/test_sample.cpp checks them): no form belongs
// to two classes of words, and a verb's past differs from its base ("read" and "put" cannot be in
// it). Colours are not fruits here.
#include "data/sample/lexicon.h"

#include <algorithm>

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

Words split(std::string_view text, char separator) {
  Words parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// "dog", or "mouse:mice".
Noun noun_of(std::string_view entry) {
  const Words forms = split(entry, ':');
  return {forms[0], forms.size() > 1 ? forms[1] : with_s(forms[0])};
}

/// "walk", "see:saw" or "run:ran:running".
Verb verb_of(std::string_view entry) {
  const Words forms = split(entry, ':');
  const std::string third = forms[0] == "go" ? "goes" : with_s(forms[0]);
  return {forms[0], third, forms.size() > 1 ? forms[1] : with_ed(forms[0]),
          forms.size() > 2 ? forms[2] : with_ing(forms[0])};
}

std::string_view noun_entries(NounClass c) {
  switch (c) {
    case NounClass::person:
      return "man:men woman:women child:children farmer teacher boy girl artist doctor student "
             "neighbour king uncle soldier nurse queen officer "
             "baker "
             "sailor aunt singer engineer painter actor pilot hunter lawyer merchant editor dancer "
             "priest tailor poet archer gardener widow";
    case NounClass::animal:
      return "dog cat horse bird fox wolf:wolves cow bear mouse:mice elephant rabbit lion owl goat "
             "tiger goose:geese eagle monkey pig frog snake "
             "donkey "
             "otter hen camel turtle spider ox:oxen beetle ape";
    case NounClass::food:
      return "apple cake egg potato:potatoes carrot orange pear cookie onion tomato:tomatoes "
             "sandwich peach banana lemon pie olive sausage pancake "
             "melon "
             "mushroom grape biscuit apricot plum";
    case NounClass::thing:
      return "table hat chair box lamp key basket coat umbrella bottle knife:knives mirror clock "
             "blanket bag candle guitar rope hammer doll arrow "
             "ladder "
             "drum violin axe bucket kite bell shoe anchor scarf:scarves pillow jar instrument "
             "ring broom";
    case NounClass::text:
      return "book letter story newspaper poem song article message map novel diary essay note "
             "invitation";
    case NounClass::vehicle:
      return "car boat truck bicycle bus ship wagon taxi airplane tractor ambulance sledge";
    case NounClass::place:
      return "house river garden village school market park forest bridge church lake city castle "
             "station island office harbour museum farm hill "
             "library tower beach inn valley kitchen orchard hospital";
  }
  return {};
}

std::string_view verb_entries(VerbClass c) {
  switch (c) {
    case VerbClass::rest:
      return "sleep:slept wait run:ran:running rest jump swim:swam:swimming play breathe stumble "
             "tremble";
    case VerbClass::laugh:
      return "laugh smile work sing:sang dance cry pray shout argue";
    case VerbClass::growl:
      return "growl bark howl graze hiss";
    case VerbClass::vanish:
      return "vanish fall:fell disappear burn shine:shone collapse";
    case VerbClass::go:
      return "go:went walk return hurry travel wander march climb";
    case VerbClass::eat:
      return "eat:ate taste devour swallow steal:stole smell chew";
    case VerbClass::cook:
      return "cook bake peel fry serve slice roast";
    case VerbClass::see:
      return "see:saw watch find:found hear:heard follow notice remember ignore";
    case VerbClass::carry:
      return "buy:bought carry sell:sold break:broke repair lose:lost wash throw:threw polish "
             "hold:held hide:hid";
    case VerbClass::write:
      return "write:wrote study borrow copy finish translate sign publish";
    case VerbClass::drive:
      return "drive:drove ride:rode steer rent stop:stopped:stopping";
    case VerbClass::visit:
      return "visit leave:left reach enter explore describe";
    case VerbClass::meet:
      return "meet:met:meeting help know:knew call thank greet invite marry hug:hugged:hugging";
    case VerbClass::feed:
      return "feed:fed catch:caught stroke tame brush";
    case VerbClass::hunt:
      return "chase bite:bit hunt attack fear avoid fight:fought";
    case VerbClass::give:
      return "give:gave bring:brought send:sent show offer lend:lent hand";
    case VerbClass::say:
      return "say:said think:thought believe claim hope forget:forgot:forgetting discover doubt";
  }
  return {};
}

std::string_view adjective_entries(NounClass c, AdjectiveSlot slot) {
  constexpr std::string_view sizes = "big small little enormous huge tiny",
                             colours = "red white black brown grey yellow green blue ivory";
  switch (slot) {
    case AdjectiveSlot::quality:
      switch (c) {
        case NounClass::person:
          return "kind clever brave famous rich patient poor angry friendly elegant lonely polite "
                 "ambitious";
        case NounClass::animal:
          return "wild lazy fierce quiet friendly hungry obedient clever strange";
        case NounClass::food:
          return "fresh sweet ripe sour excellent rotten delicious";
        case NounClass::thing:
          return "beautiful expensive cheap heavy broken ugly strange";
        case NounClass::text:
          return "famous long interesting short boring anonymous strange";
        case NounClass::vehicle:
          return "fast slow expensive noisy elegant rusty";
        case NounClass::place:
          return "quiet beautiful famous crowded abandoned dangerous empty";
      }
      return {};
    case AdjectiveSlot::size:
      return c == NounClass::text     ? std::string_view("new old ancient")
             : c == NounClass::person ? std::string_view("old young tall elderly")
                                      : sizes;
    case AdjectiveSlot::colour:
      if (c == NounClass::person || c == NounClass::text) return {};
      return c == NounClass::place ? std::string_view("old new ancient modern") : colours;
  }
  return {};
}

}  // namespace

std::string with_s(const std::string& word) {
  if (ends_in_consonant_y(word)) return without_last(word) + "ies";
  return word + (hisses(word) ? "es" : "s");
}

Words words_of(std::string_view text) { return split(text, ' '); }

std::vector<Noun> nouns(NounClass c) {
  std::vector<Noun> out;
  for (const std::string& entry : words_of(noun_entries(c))) out.push_back(noun_of(entry));
  return out;
}

std::vector<Verb> verbs(VerbClass c) {
  std::vector<Verb> out;
  for (const std::string& entry : words_of(verb_entries(c))) out.push_back(verb_of(entry));
  return out;
}

Words adjectives(NounClass c, AdjectiveSlot slot) { return words_of(adjective_entries(c, slot)); }

Words states(bool alive) {
  return words_of(alive ? "tired happy hungry sad afraid ill awake thirsty cold proud"
                        : "new clean dirty old wet cheap dark useless");
}

Words female_names() {
  return words_of(
      "anna mary emma laura clara alice julia olga helen ingrid ruth sofia nina ursula");
}
Words male_names() {
  return words_of(
      "peter john paul david oscar martin adam thomas henry simon edward victor hugo leo");
}

Words time_phrases(Tense tense) {
  switch (tense) {
    case Tense::past:
      return {"yesterday", "last week", "long ago", "last night", "once", "last year"};
    case Tense::present:
      return {"today", "now", "every day", "often", "usually", "these days", "sometimes"};
    case Tense::future:
      return {"tomorrow", "soon", "next week", "one day", "next year"};
  }
  return {};
}

Words manner_adverbs() {
  return words_of("quietly slowly again happily alone together peacefully");
}

}  // namespace nine
