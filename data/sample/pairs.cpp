#include "data/sample/pairs.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/random.h"
#include "data/sample/pairs_lexicon.h"

namespace nine {

namespace pairs {
namespace {

enum class Case { nominative, accusative, dative };
enum class Determiner { definite, indefinite, demonstrative, possessive };
enum class Tense { present, perfect, modal };
enum class Order { main, inverted, subordinate };

// --- the meaning that both sentences of a pair share

struct Clause;

struct Phrase {
  const std::string* name = nullptr;  // or a noun:
  const Noun* noun = nullptr;
  const Modifier* modifier = nullptr;
  const Word* adjective = nullptr;
  Determiner determiner = Determiner::definite;
  bool plural = false, person = true;
  std::vector<Clause> relative;  // at most one clause; this phrase is its subject

  bool is_plural() const { return !name && plural; }
};

struct Clause {
  Phrase subject;
  Tense tense = Tense::present;
  const Modal* modal = nullptr;
  const Verb* verb = nullptr;
  std::vector<Phrase> receiver, object, place;  // at most one of each
  const Word* preposition = nullptr;
};

// --- German

// Columns: masculine, feminine, neuter, plural. Rows: nominative, accusative, dative.
using Endings = std::array<std::array<const char*, 4>, 3>;
constexpr Endings kArticles = {
    {{"der", "die", "das", "die"}, {"den", "die", "das", "die"}, {"dem", "der", "dem", "den"}}};
constexpr Endings kDies = {
    {{"er", "e", "es", "e"}, {"en", "e", "es", "e"}, {"em", "er", "em", "en"}}};
constexpr Endings kEin = {{{"", "e", "", "e"}, {"en", "e", "", "e"}, {"em", "er", "em", "en"}}};
constexpr Endings kAdjectiveAfterDer = {
    {{"e", "e", "e", "en"}, {"en", "e", "e", "en"}, {"en", "en", "en", "en"}}};
constexpr Endings kAdjectiveAfterEin = {
    {{"er", "e", "es", "en"}, {"en", "e", "es", "en"}, {"en", "en", "en", "en"}}};
constexpr std::array kAdjectiveAlone = {"e", "e", "en"};  // plural only

void append(std::string& text, std::string_view word) {
  if (!text.empty()) text += ' ';
  text += word;
}

size_t column_of(const Phrase& p) { return p.plural ? 3 : static_cast<size_t>(p.noun->gender); }

std::string german_clause(const Clause& c, Order order);

std::string german_phrase(const Phrase& p, Case c) {
  std::string out;
  if (p.name) {
    out = *p.name;
  } else {
    const size_t row = static_cast<size_t>(c), column = column_of(p);
    const bool bare = p.plural && p.determiner == Determiner::indefinite;
    const bool like_der =
        p.determiner == Determiner::definite || p.determiner == Determiner::demonstrative;
    if (p.determiner == Determiner::definite) append(out, kArticles[row][column]);
    if (p.determiner == Determiner::demonstrative) append(out, concat("dies", kDies[row][column]));
    if (p.determiner == Determiner::possessive) append(out, concat("mein", kEin[row][column]));
    if (p.determiner == Determiner::indefinite && !bare)
      append(out, concat("ein", kEin[row][column]));
    if (p.adjective) {
      const char* ending = bare       ? kAdjectiveAlone[row]
                           : like_der ? kAdjectiveAfterDer[row][column]
                                      : kAdjectiveAfterEin[row][column];
      append(out, p.adjective->german + ending);
    }
    const std::string& noun = !p.plural           ? p.noun->singular
                              : c == Case::dative ? p.noun->dative_plural
                                                  : p.noun->plural;
    append(out, p.modifier ? p.modifier->german + noun : noun);
  }
  for (const Clause& relative : p.relative) {
    append(out, ",");
    append(out, p.name ? "der" : kArticles[0][column_of(p)]);
    append(out, german_clause(relative, Order::subordinate));
    append(out, ",");
  }
  return out;
}

/// "im garten", "beim haus", "in der küche".
std::string german_place(const Clause& c) {
  const Phrase& place = c.place[0];
  const std::string text = german_phrase(place, Case::dative);
  const std::string_view preposition = c.preposition->german;
  const bool joins = text.starts_with("dem ") && (preposition == "in" || preposition == "bei");
  if (joins) return (preposition == "in" ? "im" : "beim") + text.substr(3);
  return concat(preposition, " ", text);
}

/// The finite verb, and the words at the end of the clause.
struct VerbForms {
  std::string finite, last;
};

VerbForms german_verb(const Clause& c) {
  const bool plural = c.subject.is_plural();
  const Verb& v = *c.verb;
  if (c.tense == Tense::modal)
    return {plural ? c.modal->plural : c.modal->singular, v.infinitive()};
  if (c.tense == Tense::perfect)
    return {v.with_sein ? (plural ? "sind" : "ist") : (plural ? "haben" : "hat"), v.participle};
  return {plural ? v.plural : v.singular, v.prefix};
}

/// Writes a subordinate clause, with its verbs at the end. A relative clause has no subject,
/// because its pronoun stands before.
std::string german_clause(const Clause& c, Order order) {
  const VerbForms verb = german_verb(c);
  const bool relative = !c.subject.name && !c.subject.noun;
  std::string out;
  if (order == Order::inverted) append(out, verb.finite);
  if (!relative) append(out, german_phrase(c.subject, Case::nominative));
  if (order == Order::main) append(out, verb.finite);
  for (const Phrase& p : c.receiver) append(out, german_phrase(p, Case::dative));
  for (const Phrase& p : c.object) append(out, german_phrase(p, Case::accusative));
  if (!c.place.empty()) append(out, german_place(c));
  if (order != Order::subordinate) {
    if (!verb.last.empty()) append(out, verb.last);
  } else if (c.tense == Tense::present) {
    append(out, verb.last + verb.finite);  // "aufmacht"
  } else {
    append(out, verb.last);
    append(out, verb.finite);
  }
  return out;
}

// --- English

std::string english_clause(const Clause& c);

std::string english_phrase(const Phrase& p) {
  std::string out;
  if (p.name) {
    out = *p.name;
  } else {
    if (p.adjective) append(out, p.adjective->english);
    if (p.modifier) append(out, p.modifier->english);
    append(out, p.plural ? p.noun->english_plural : p.noun->english);
    const bool vowel = std::string_view("aeiou").find(out[0]) != std::string_view::npos;
    const bool bare = p.plural && p.determiner == Determiner::indefinite;
    const char* determiner = p.determiner == Determiner::definite     ? "the"
                             : p.determiner == Determiner::possessive ? "my"
                             : p.determiner == Determiner::demonstrative
                                 ? (p.plural ? "these" : "this")
                                 : (vowel ? "an" : "a");
    if (!bare) out = concat(determiner, " ", out);
  }
  for (const Clause& relative : p.relative) {
    append(out, p.person ? "who" : "that");
    append(out, english_clause(relative));
  }
  return out;
}

std::string english_clause(const Clause& c) {
  const bool plural = c.subject.is_plural(), relative = !c.subject.name && !c.subject.noun;
  std::string out;
  if (!relative) append(out, english_phrase(c.subject));
  if (c.tense == Tense::modal) append(out, plural ? c.modal->english : c.modal->english_third);
  const bool base = c.tense == Tense::modal || (c.tense == Tense::present && plural);
  append(out, base                        ? c.verb->english
              : c.tense == Tense::perfect ? c.verb->english_past
                                          : c.verb->english_third);
  for (const Phrase& p : c.receiver) append(out, english_phrase(p));
  for (const Phrase& p : c.object) append(out, english_phrase(p));
  if (!c.place.empty()) {
    append(out, c.preposition->english);
    append(out, english_phrase(c.place[0]));
  }
  return out;
}

// --- random choice

struct Pair {
  std::string source, target;
};

class Maker {
 public:
  explicit Maker(RandomStream random) : random_(random) {}

  Pair sentence() {
    const double kind = random_.uniform();
    Clause first = clause(true);
    if (kind < 0.35)
      return {german_clause(first, Order::main) + " .", english_clause(first) + " ."};
    if (kind < 0.60) {
      const Word& time = one_of(time_adverbs(first.tense == Tense::perfect));
      return {concat(time.german, " ", german_clause(first, Order::inverted), " ."),
              concat(time.english, " ", english_clause(first), " .")};
    }
    const Clause second = clause(false);
    if (kind < 0.74) {
      say(first);
      return {concat(german_clause(first, Order::main), " , dass ",
                     german_clause(second, Order::subordinate), " ."),
              concat(english_clause(first), " that ", english_clause(second), " .")};
    }
    const Word& joint = one_of(conjunctions());
    if (kind < 0.88)
      return {concat(german_clause(first, Order::main), " , ", joint.german, " ",
                     german_clause(second, Order::subordinate), " ."),
              concat(english_clause(first), " ", joint.english, " ", english_clause(second), " .")};
    return {concat(joint.german, " ", german_clause(second, Order::subordinate), " , ",
                   german_clause(first, Order::inverted), " ."),
            concat(joint.english, " ", english_clause(second), " , ", english_clause(first), " .")};
  }

 private:
  bool chance(double p) { return random_.uniform() < p; }

  /// Draws an element of a list with a frequency that falls as 1/rank.
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    double whole = 0;
    for (size_t rank = 0; rank < list.size(); ++rank) whole += 1.0 / static_cast<double>(rank + 2);
    double at = random_.uniform() * whole;
    for (size_t rank = 0; rank + 1 < list.size(); ++rank) {
      at -= 1.0 / static_cast<double>(rank + 2);
      if (at < 0) return list[rank];
    }
    return list.back();
  }

  Phrase phrase(NounKind kind) {
    Phrase p;
    p.person = kind == NounKind::person;
    if (p.person && chance(0.15)) {
      p.name = &one_of(names());
      return p;
    }
    p.noun = &one_of(nouns(kind));
    p.plural = chance(0.35);
    const double which = random_.uniform();
    p.determiner = which < 0.5   ? Determiner::definite
                   : which < 0.8 ? Determiner::indefinite
                   : which < 0.9 ? Determiner::demonstrative
                                 : Determiner::possessive;
    if (chance(0.35)) p.adjective = &one_of(adjectives());
    if (p.noun->is_head && chance(0.5)) p.modifier = &one_of(modifiers());
    return p;
  }

  Phrase being() { return phrase(chance(0.7) ? NounKind::person : NounKind::animal); }

  void choose_verb(Clause& c) {
    const double which = random_.uniform();
    const VerbKind kind = which < 0.25   ? VerbKind::intransitive
                          : which < 0.50 ? VerbKind::anything
                          : which < 0.70 ? VerbKind::thing
                          : which < 0.88 ? VerbKind::being
                                         : VerbKind::giving;
    c.verb = &one_of(verbs(kind));
    if (kind == VerbKind::giving) c.receiver.push_back(phrase(NounKind::person));
    if (kind == VerbKind::thing || kind == VerbKind::giving ||
        (kind == VerbKind::anything && chance(0.5))) {
      c.object.push_back(phrase(NounKind::thing));
    } else if (kind != VerbKind::intransitive) {
      c.object.push_back(being());
    }
  }

  void choose_tense(Clause& c) {
    const double which = random_.uniform();
    c.tense = which < 0.45 ? Tense::present : which < 0.75 ? Tense::perfect : Tense::modal;
    if (c.tense == Tense::modal) c.modal = &one_of(modals());
  }

  Clause clause(bool with_relative) {
    Clause c;
    c.subject = being();
    choose_tense(c);
    choose_verb(c);
    if (chance(0.3)) {
      c.preposition = &one_of(prepositions());
      c.place.push_back(phrase(NounKind::place));
    }
    if (with_relative && !c.subject.name && chance(0.12)) {
      Clause relative;
      relative.subject.plural = c.subject.plural;
      choose_tense(relative);
      choose_verb(relative);
      c.subject.relative.push_back(relative);
    }
    return c;
  }

  /// Turns a clause into a clause with a verb of saying, after which "dass" follows.
  void say(Clause& c) {
    c.verb = &one_of(verbs(VerbKind::saying));
    c.receiver.clear();
    c.object.clear();
    c.place.clear();
    if (c.tense == Tense::modal) c.tense = Tense::present;
  }

  RandomStream random_;
};

bool fits(const std::string& line) {
  const auto words = std::count(line.begin(), line.end(), ' ') + 1;
  return words >= 4 && words <= 16;
}

/// Returns the split of a sentence: one sentence in 20 is for validation, and one in 20 for the
/// test.
std::string_view split_of(const std::string& source) {
  const uint32_t part =
      philox({.seed = stream_id(source), .op = stream_id("sample pairs' split")}, 0)[0] % 20;
  return part == 0 ? "valid" : part == 1 ? "test" : "train";
}

}  // namespace
}  // namespace pairs

SamplePairs sample_pairs(int64_t count, uint64_t seed, std::string_view split) {
  require(count >= 0, "[sample_pairs] the number of sentences ", count, " is negative");
  require(split == "train" || split == "valid" || split == "test",
          "[sample_pairs] no split is called '", split, "': train, valid or test");
  pairs::Maker maker(RandomStream({.seed = seed, .op = stream_id(concat("sample_pairs.", split))}));
  SamplePairs out;
  while (std::ssize(out.source) < count) {
    pairs::Pair pair = maker.sentence();
    if (!pairs::fits(pair.source) || !pairs::fits(pair.target) ||
        pairs::split_of(pair.source) != split)
      continue;
    out.source.push_back(std::move(pair.source));
    out.target.push_back(std::move(pair.target));
  }
  return out;
}

}  // namespace nine
