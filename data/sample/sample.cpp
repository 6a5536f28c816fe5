#include "data/sample/sample.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "data/sample/lexicon.h"

namespace nine {

namespace {

using Symbol = Grammar::Symbol;
using Alternative = Grammar::Alternative;
using Alternatives = std::vector<Alternative>;

enum class Number { singular, plural };
enum class Initial { any, consonant, vowel };
/// The place of a verb phrase, which decides what may follow the verb.
enum class Place { main, complement, relative };

constexpr std::array kNumbers = {Number::singular, Number::plural};
constexpr std::array kTenses = {Tense::past, Tense::present, Tense::future};

double share_of(Number n) { return n == Number::singular ? 0.6 : 0.4; }
double share_of(Tense t) { return t == Tense::past ? 0.5 : t == Tense::present ? 0.35 : 0.15; }

struct Subject {
  NounClass noun;
  double share;
};
constexpr Subject kSubjects[] = {{NounClass::person, 0.62}, {NounClass::animal, 0.22},
                                 {NounClass::thing, 0.06},  {NounClass::food, 0.02},
                                 {NounClass::text, 0.02},   {NounClass::vehicle, 0.03},
                                 {NounClass::place, 0.03}};

bool is_alive(NounClass c) { return c == NounClass::person || c == NounClass::animal; }

/// The frequency of a verb class with each kind of subject; 0: never.
struct VerbUse {
  VerbClass verb;
  double by_people, by_animals, by_others;

  double by(NounClass c) const {
    return c == NounClass::person ? by_people : c == NounClass::animal ? by_animals : by_others;
  }
};
constexpr VerbUse kVerbUses[] = {
    {VerbClass::rest, 8, 14, 0},   {VerbClass::laugh, 9, 0, 0}, {VerbClass::growl, 0, 9, 0},
    {VerbClass::vanish, 0, 0, 30}, {VerbClass::go, 9, 9, 0},    {VerbClass::eat, 5, 14, 0},
    {VerbClass::cook, 5, 0, 0},    {VerbClass::see, 12, 16, 0}, {VerbClass::carry, 9, 0, 0},
    {VerbClass::write, 6, 0, 0},   {VerbClass::drive, 4, 0, 0}, {VerbClass::visit, 6, 0, 0},
    {VerbClass::meet, 7, 0, 0},    {VerbClass::feed, 4, 0, 0},  {VerbClass::hunt, 0, 14, 0},
    {VerbClass::give, 6, 0, 0},    {VerbClass::say, 7, 0, 0}};
/// The frequency of states such as "is tired", on the same scale.
double copula_use(NounClass c) { return is_alive(c) ? 9 : 60; }

/// A direct object: nouns of class `noun` are the share `share` of the objects of verbs of class
/// `verb`. The table lacks verbs that take no object, and verbs that take more than a direct
/// object.
struct Object {
  VerbClass verb;
  NounClass noun;
  double share;
};
constexpr Object kObjects[] = {
    {VerbClass::eat, NounClass::food, 1},      {VerbClass::cook, NounClass::food, 1},
    {VerbClass::see, NounClass::person, 0.3},  {VerbClass::see, NounClass::animal, 0.3},
    {VerbClass::see, NounClass::thing, 0.2},   {VerbClass::see, NounClass::vehicle, 0.2},
    {VerbClass::carry, NounClass::thing, 1},   {VerbClass::write, NounClass::text, 1},
    {VerbClass::drive, NounClass::vehicle, 1}, {VerbClass::visit, NounClass::place, 1},
    {VerbClass::meet, NounClass::person, 1},   {VerbClass::feed, NounClass::animal, 1},
    {VerbClass::hunt, NounClass::animal, 1}};

/// The deepest phrases: a noun phrase of this depth has nothing after its noun.
constexpr int kDeepest = 2;
double phrase_share(int depth) { return depth == 0 ? 0.15 : 0.08; }
double clause_share(int depth) { return depth == 0 ? 0.13 : 0.05; }

/// Adds the rules of the language to a grammar. Each rule is added when it is first needed, after
/// the rules that it uses.
class Builder {
 public:
  explicit Builder(Grammar& grammar) : grammar_(grammar) {}

  Symbol sentence() {
    Alternatives a;
    const Symbol stop = word(".");
    for (Tense t : kTenses) {
      a.push_back({0.60 * share_of(t), {clause(t, Place::main), stop}});
      a.push_back({0.32 * share_of(t), {time(t), clause(t, Place::main), stop}});
      a.push_back({0.08 * share_of(t),
                   {clause(t, Place::complement), one_of("because while but although before"),
                    clause(t, Place::complement), stop}});
    }
    return grammar_.rule(std::move(a));
  }

 private:
  // --- words

  Symbol word(std::string_view text) { return grammar_.word(text); }

  /// Returns a rule for one of the words, or phrases, with a frequency that falls as 1/rank. If
  /// only the words with some first letters are wanted, the weight of the rule is their share of
  /// the whole list; there may be no such word.
  Alternatives ranked(const Words& entries, Initial initial = Initial::any) {
    double whole = 0;
    for (size_t rank = 0; rank < entries.size(); ++rank)
      whole += 1.0 / static_cast<double>(rank + 1);
    Alternatives a;
    for (size_t rank = 0; rank < entries.size(); ++rank) {
      const bool vowel = std::string_view("aeiou").find(entries[rank][0]) != std::string_view::npos;
      if (initial != Initial::any && vowel != (initial == Initial::vowel)) continue;
      Alternative entry{1.0 / (static_cast<double>(rank + 1) * whole), {}};
      for (const std::string& w : words_of(entries[rank])) entry.symbols.push_back(word(w));
      a.push_back(std::move(entry));
    }
    return a;
  }

  Symbol one_of(std::string_view words) {
    return once(words, [&] { return ranked(words_of(words)); });
  }

  Symbol time(Tense t) {
    return once(key("time", t), [&] { return ranked(time_phrases(t)); });
  }

  // --- noun phrases

  Alternatives noun(NounClass c, Number n, Initial initial) {
    Words forms;
    for (const Noun& entry : nouns(c))
      forms.push_back(n == Number::singular ? entry.singular : entry.plural);
    return ranked(forms, initial);
  }

  /// Returns a rule for adjectives from `slot` on, then the noun. Its weight is the share of
  /// phrases that begin as `initial` says, because the first letter decides between "a" and "an".
  Symbol noun_with_adjectives(NounClass c, Number n, Initial initial, int slot = 0) {
    return once(key("noun with adjectives", c, n, initial, slot), [&] {
      constexpr double use[] = {0.25, 0.22, 0.20};
      if (slot == 3) return noun(c, n, initial);
      const Words list = adjectives(c, static_cast<AdjectiveSlot>(slot));
      const Symbol without = noun_with_adjectives(c, n, initial, slot + 1);
      if (list.empty()) return Alternatives{{grammar_.weight(without), {without}}};
      Alternatives a = {{(1 - use[slot]) * grammar_.weight(without), {without}}};
      Alternatives first = ranked(list, initial);
      if (first.empty()) return a;
      const Symbol adjective = once(key("adjective", c, initial, slot), [&] { return first; });
      a.push_back({use[slot] * grammar_.weight(adjective),
                   {adjective, noun_with_adjectives(c, n, Initial::any, slot + 1)}});
      return a;
    });
  }

  /// Returns a rule for a noun with its article or other determiner, and its adjectives.
  Symbol common_noun(NounClass c, Number n) {
    return once(key("common noun", c, n), [&] {
      const Symbol any = noun_with_adjectives(c, n, Initial::any);
      if (n == Number::plural)
        return Alternatives{{0.75, {one_of("the some these two many three several"), any}},
                            {0.25, {any}}};
      const Symbol consonant = noun_with_adjectives(c, n, Initial::consonant),
                   vowel = noun_with_adjectives(c, n, Initial::vowel);
      return Alternatives{{0.60, {one_of("the this my every our each"), any}},
                          {0.40 * grammar_.weight(consonant), {word("a"), consonant}},
                          {0.40 * grammar_.weight(vowel), {word("an"), vowel}}};
    });
  }

  Symbol names(Number n) {
    return once(key("names", n), [&] {
      const Symbol female = once("female", [&] { return ranked(female_names()); }),
                   male = once("male", [&] { return ranked(male_names()); });
      if (n == Number::singular) return Alternatives{{0.5, {female}}, {0.5, {male}}};
      return Alternatives{{0.5, {female, word("and"), male}}, {0.5, {male, word("and"), female}}};
    });
  }

  Symbol noun_phrase(NounClass c, Number n, int depth) {
    return once(key("noun phrase", c, n, depth), [&] {
      const Symbol noun = common_noun(c, n);
      const double name_share = c != NounClass::person ? 0 : n == Number::singular ? 0.3 : 0.1;
      Alternatives a;
      if (name_share > 0) a.push_back({name_share, {names(n)}});
      const double phrase = depth < kDeepest ? phrase_share(depth) : 0,
                   clause = depth < kDeepest ? clause_share(depth) : 0;
      a.push_back({(1 - name_share) * (1 - phrase - clause), {noun}});
      if (depth == kDeepest) return a;
      a.push_back({(1 - name_share) * phrase, {noun, phrase_after(c, depth + 1)}});
      a.push_back({(1 - name_share) * clause, {noun, relative_clause(c, n, depth + 1)}});
      return a;
    });
  }

  Symbol noun_phrase(NounClass c, int depth) {
    return once(key("noun phrase of any number", c, depth), [&] {
      Alternatives a;
      for (Number n : kNumbers) a.push_back({share_of(n), {noun_phrase(c, n, depth)}});
      return a;
    });
  }

  /// Returns a rule for a phrase such as "near the river" after a noun.
  Symbol phrase_after(NounClass c, int depth) {
    return once(key("phrase after", c, depth), [&] {
      Alternatives a = {
          {0.75, {one_of("near from behind beside"), noun_phrase(NounClass::place, depth)}}};
      if (is_alive(c)) a.push_back({0.25, {word("with"), noun_phrase(NounClass::thing, depth)}});
      return a;
    });
  }

  /// Returns a rule for a relative clause after a noun: "who saw a fox", where the noun is the
  /// subject, or "that the farmers see", where it is the object.
  Symbol relative_clause(NounClass c, Number n, int depth) {
    return once(key("relative clause", c, n, depth), [&] {
      const Symbol pronoun = word(c == NounClass::person ? "who" : "that");
      Alternatives a;
      for (Tense t : kTenses)
        a.push_back({0.6 * share_of(t), {pronoun, verb_phrase(c, t, n, Place::relative, depth)}});
      if (!verbs_with_object(c).empty())
        a.push_back({0.4, {pronoun, clause_without_object(c, depth)}});
      return a;
    });
  }

  // --- verbs

  Symbol verb_form(VerbClass v, std::string Verb::*form, std::string_view name) {
    return once(key(name, v), [&] {
      Words forms;
      for (const Verb& entry : verbs(v)) forms.push_back(entry.*form);
      return ranked(forms);
    });
  }

  /// Returns a form of "be": "was" or "were", "is" or "are", "will be".
  std::vector<Symbol> be(Tense t, Number n) {
    const bool one = n == Number::singular;
    if (t == Tense::future) return {word("will"), word("be")};
    return {word(t == Tense::past ? (one ? "was" : "were") : (one ? "is" : "are"))};
  }

  /// Returns a rule for the forms of a verb: "saw", "were seeing", "sees", "is seeing", "will see".
  Symbol finite_verb(VerbClass v, Tense t, Number n) {
    return once(key("finite verb", v, t, n), [&] {
      const Symbol base = verb_form(v, &Verb::base, "base");
      if (t == Tense::future) return Alternatives{{1, {word("will"), base}}};
      const Symbol simple = t == Tense::past      ? verb_form(v, &Verb::past, "past")
                            : n == Number::plural ? base
                                                  : verb_form(v, &Verb::third, "third person");
      std::vector<Symbol> progressive = be(t, n);
      progressive.push_back(verb_form(v, &Verb::participle, "participle"));
      return Alternatives{{0.75, {simple}}, {0.25, std::move(progressive)}};
    });
  }

  /// Returns a rule for a clause such as "the farmers see", whose object of class c stands before
  /// the clause.
  Symbol clause_without_object(NounClass c, int depth) {
    return once(key("clause without object", c, depth), [&] {
      Alternatives a;
      for (const auto& [use, share] : verbs_with_object(c))
        for (NounClass subject : {NounClass::person, NounClass::animal})
          for (Number n : kNumbers)
            for (Tense t : kTenses) {
              const double weight = share * use.by(subject) * share_of(n) * share_of(t);
              if (weight > 0)
                a.push_back(
                    {weight, {subject_phrase(subject, n, depth), finite_verb(use.verb, t, n)}});
            }
      return a;
    });
  }

  static std::vector<std::pair<VerbUse, double>> verbs_with_object(NounClass c) {
    std::vector<std::pair<VerbUse, double>> out;
    for (const VerbUse& use : kVerbUses)
      for (const Object& object : kObjects)
        if (object.verb == use.verb && object.noun == c) out.emplace_back(use, object.share);
    return out;
  }

  /// Returns a rule for a verb that agrees with a subject of class c and number n, with its objects
  /// and adverbs.
  Symbol verb_phrase(NounClass c, Tense t, Number n, Place place, int depth) {
    return once(key("verb phrase", c, t, n, place, depth), [&] {
      Alternatives a;
      for (const VerbUse& use : kVerbUses) {
        if (use.by(c) == 0 || (use.verb == VerbClass::say && place != Place::main)) continue;
        a.push_back({use.by(c), {finite_verb(use.verb, t, n), complement(use.verb, place, depth)}});
      }
      std::vector<Symbol> is_so = be(t, n);
      is_so.push_back(state(is_alive(c)));
      a.push_back({copula_use(c), std::move(is_so)});
      return a;
    });
  }

  Symbol state(bool alive) {
    return once(key("state", alive), [&] {
      const Symbol list = once(key("states", alive), [&] { return ranked(states(alive)); });
      return Alternatives{{0.75, {list}}, {0.25, {one_of("very quite too"), list}}};
    });
  }

  /// Returns the symbols that follow a verb of the class.
  Symbol complement(VerbClass v, Place place, int depth) {
    return once(key("complement", v, place, depth), [&] {
      switch (v) {
        case VerbClass::go:
          return Alternatives{
              {1, {one_of("to into through across"), noun_phrase(NounClass::place, depth)}}};
        case VerbClass::give:
          return gift(depth);
        case VerbClass::say:
          return statement();
        case VerbClass::rest:
        case VerbClass::laugh:
        case VerbClass::growl:
        case VerbClass::vanish:
          return circumstances(place);
        default:
          return object(v, place, depth);
      }
    });
  }

  /// Returns a rule for two objects, such as "a letter to the king".
  Alternatives gift(int depth) {
    const Symbol to = word("to"), receiver = noun_phrase(NounClass::person, depth);
    return {{0.5, {noun_phrase(NounClass::thing, kDeepest), to, receiver}},
            {0.25, {noun_phrase(NounClass::text, kDeepest), to, receiver}},
            {0.25, {noun_phrase(NounClass::food, kDeepest), to, receiver}}};
  }

  /// Returns a rule for a clause such as "that the bird sings".
  Alternatives statement() {
    Alternatives a;
    for (Tense t : kTenses)
      a.push_back({share_of(t), {word("that"), clause(t, Place::complement)}});
    return a;
  }

  /// Returns a rule for "slowly in the garden", one of the two, or nothing.
  Alternatives circumstances(Place place) {
    if (place == Place::relative) return {{1, {}}};
    const Symbol manner = once("manner", [&] { return ranked(manner_adverbs()); }),
                 where = location();
    return {{0.40, {}}, {0.25, {manner}}, {0.25, {where}}, {0.10, {manner, where}}};
  }

  Symbol location() {
    return once("location", [&] {
      return Alternatives{{1, {one_of("in at inside outside"), noun_phrase(NounClass::place, 1)}}};
    });
  }

  Alternatives object(VerbClass v, Place place, int depth) {
    Alternatives a;
    for (const Object& o : kObjects) {
      if (o.verb != v) continue;
      // Avoids a place within a place, as in "visited the castle in the garden".
      const double located = place == Place::relative || o.noun == NounClass::place ? 0 : 0.15;
      a.push_back({o.share * (1 - located), {noun_phrase(o.noun, depth)}});
      if (located > 0)
        a.push_back({o.share * located, {noun_phrase(o.noun, kDeepest), location()}});
    }
    return a;
  }

  // --- clauses

  Symbol subject_phrase(NounClass c, Number n, int depth) {
    if (c != NounClass::person) return noun_phrase(c, n, depth);
    return once(key("subject", n, depth), [&] {
      const Symbol pronoun = one_of(n == Number::singular ? "he she" : "they we you");
      return Alternatives{{0.82, {noun_phrase(c, n, depth)}}, {0.18, {pronoun}}};
    });
  }

  Symbol clause(Tense t, Place place) {
    return once(key("clause", t, place), [&] {
      const int depth = place == Place::main ? 0 : 1;
      Alternatives a;
      for (const Subject& subject : kSubjects)
        for (Number n : kNumbers) {
          a.push_back({subject.share * share_of(n),
                       {subject_phrase(subject.noun, n, depth),
                        verb_phrase(subject.noun, t, n, place, depth)}});
        }
      return a;
    });
  }

  // --- one rule for each name

  template <class... Parts>
  static std::string key(std::string_view name, Parts... parts) {
    return concat(name, concat(' ', static_cast<int>(parts))...);
  }

  template <class Make>
  Symbol once(std::string_view name, Make make) {
    if (const auto found = rules_.find(name); found != rules_.end()) return found->second;
    const Symbol rule = grammar_.rule(make());
    rules_.emplace(name, rule);
    return rule;
  }

  Grammar& grammar_;
  std::map<std::string, Symbol, std::less<>> rules_;
};

double perplexity_of(double nats, int64_t tokens) {
  return std::exp(nats / static_cast<double>(tokens));
}

SampleFile write_split(const SampleLanguage& language, const std::string& directory,
                       std::string_view split, uint64_t seed, int64_t sentences) {
  require(sentences >= 1, "[write_sample] the ", split, " text needs at least one sentence, not ",
          sentences);
  SampleFile file;
  file.path = concat((std::filesystem::path(directory) / split).string(), ".txt");
  file.sentences = sentences;
  std::ofstream out(file.path, std::ios::binary);
  RandomStream random = SampleLanguage::stream(seed, split);
  std::string line;
  for (int64_t i = 0; i < sentences; ++i) {
    const Grammar::Derivation d = language.next(random, line);
    file.nats += d.nats;
    file.tokens += d.words + 1;
    out << line << '\n';
  }
  out.flush();
  require(out.good(), file.path,
          " cannot be written: check the directory's permissions and that there is room");
  return file;
}

}  // namespace

double SampleCorpus::perplexity() const { return perplexity_of(nats, tokens); }
double SampleFile::perplexity() const { return perplexity_of(nats, tokens); }

SampleLanguage::SampleLanguage() : start_(Builder(grammar_).sentence()) {}

double SampleLanguage::perplexity() const { return std::exp(entropy_per_token()); }

RandomStream SampleLanguage::stream(uint64_t seed, std::string_view split) {
  return RandomStream({.seed = seed, .op = stream_id(concat("sample.", split))});
}

Grammar::Derivation SampleLanguage::next(RandomStream& random, std::string& line) const {
  line.clear();
  return grammar_.generate(start_, random, line);
}

SampleCorpus SampleLanguage::generate(uint64_t seed, std::string_view split,
                                      int64_t sentences) const {
  require(sentences >= 0, "[SampleLanguage::generate] the number of sentences ", sentences,
          " is negative");
  SampleCorpus corpus;
  RandomStream random = stream(seed, split);
  std::string line;
  for (int64_t i = 0; i < sentences; ++i) {
    const Grammar::Derivation d = next(random, line);
    corpus.lines.push_back(line);
    corpus.sentence_nats.push_back(d.nats);
    corpus.nats += d.nats;
    corpus.tokens += d.words + 1;
  }
  return corpus;
}

std::array<SampleFile, 3> write_sample(const std::string& directory, uint64_t seed,
                                       const SampleSizes& sizes) {
  make_directories(directory);
  const SampleLanguage language;
  return {write_split(language, directory, "train", seed, sizes.train),
          write_split(language, directory, "valid", seed, sizes.valid),
          write_split(language, directory, "test", seed, sizes.test)};
}

}  // namespace nine
