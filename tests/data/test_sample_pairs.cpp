// The sample translation task against a translator of its own: a parser of the German that checks
// agreement and the place of every verb, and puts the English together from what it read.
#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/sample/lexicon.h"
#include "data/sample/pairs.h"
#include "data/sample/pairs_lexicon.h"
#include "tests/support/support.h"

namespace nine::tests::test_sample_pairs {

using pairs::NounKind;
using pairs::VerbKind;

namespace {

enum class Case { nominative, accusative, dative };

struct NounForm {
  const pairs::Noun* noun;
  std::string modifier;  // English
  NounKind kind;
  bool singular, plural, dative_plural;
};
struct VerbForm {
  const pairs::Verb* verb;
  VerbKind kind;
};

/// Every German form to what it means. No form may mean two things.
struct Forms {
  std::map<std::string, NounForm> nouns;
  std::map<std::pair<std::string, std::string>, VerbForm> singular,
      plural;  // finite form and prefix
  std::map<std::string, VerbForm> infinitives;
  std::map<std::pair<std::string, bool>, VerbForm>
      participles;  // and whether the perfect is with sein
  std::map<std::string, std::string> adjectives, time, conjunctions, prepositions;
  std::set<std::string> names;

  Forms() {
    for (NounKind kind : {NounKind::person, NounKind::animal, NounKind::thing, NounKind::place})
      for (const pairs::Noun& n : pairs::nouns(kind)) {
        add(n, {}, kind);
        if (!n.is_head) continue;
        for (const pairs::Modifier& m : pairs::modifiers()) add(n, m, kind);
      }
    for (VerbKind kind : {VerbKind::intransitive, VerbKind::anything, VerbKind::thing,
                          VerbKind::being, VerbKind::giving, VerbKind::saying})
      for (const pairs::Verb& v : pairs::verbs(kind)) {
        const VerbForm form{&v, kind};
        REQUIRE(singular.emplace(std::pair(v.singular, v.prefix), form).second);
        REQUIRE(plural.emplace(std::pair(v.plural, v.prefix), form).second);
        REQUIRE(infinitives.emplace(v.infinitive(), form).second);
        REQUIRE(participles.emplace(std::pair(v.participle, v.with_sein), form).second);
      }
    const auto take = [](std::map<std::string, std::string>& to,
                         const std::vector<pairs::Word>& words) {
      for (const pairs::Word& w : words) REQUIRE(to.emplace(w.german, w.english).second);
    };
    take(adjectives, pairs::adjectives());
    take(time, pairs::time_adverbs(true));
    take(time, pairs::time_adverbs(false));
    take(conjunctions, pairs::conjunctions());
    take(prepositions, pairs::prepositions());
    names.insert(pairs::names().begin(), pairs::names().end());
  }

  void add(const pairs::Noun& n, const pairs::Modifier& m, NounKind kind) {
    REQUIRE(n.singular != n.plural);
    REQUIRE((n.dative_plural.ends_with('n') || n.dative_plural.ends_with('s')));
    for (const std::string& form : std::set<std::string>{n.singular, n.plural, n.dative_plural})
      REQUIRE(nouns
                  .emplace(m.german + form, NounForm{&n, m.english, kind, form == n.singular,
                                                     form == n.plural, form == n.dative_plural})
                  .second);
  }
};

const Forms& forms() {
  static const Forms all;
  return all;
}

/// Throws Error where the German is wrong.
class Translator {
 public:
  explicit Translator(const std::string& line) : words_(words_of(line)) {}

  std::string translate() {
    std::string out;
    const Forms& f = forms();
    if (const auto joint = f.conjunctions.find(here()); joint != f.conjunctions.end()) {
      ++at_;
      out = joint->second + " " + subordinate(std::nullopt) + " ,";
      expect(",");
      return finish(out + " " + main_clause(true));
    }
    if (const auto time = f.time.find(here()); time != f.time.end()) {
      ++at_;
      return finish(time->second + " " + main_clause(true));
    }
    out = main_clause(false);
    if (here() != ",") return finish(out);
    ++at_;
    const bool said = last_kind_ == VerbKind::saying;
    require(said == (here() == "dass"), "a clause with dass belongs to a verb of saying");
    out += said ? " that " : " " + f.conjunctions.at(here()) + " ";
    ++at_;
    return finish(out + subordinate(std::nullopt));
  }

 private:
  const std::string& here() const { return words_.at(at_); }
  void expect(const std::string& word) {
    require(here() == word, "'", word, "' expected, not '", here(), "'");
    ++at_;
  }
  std::string finish(const std::string& english) {
    expect(".");
    require(at_ == words_.size(), "something follows the full stop");
    return english + " .";
  }

  // A determiner's stem and which case and column (masculine, feminine, neuter, plural) its form
  // may have.
  static std::string english_determiner(const std::string& word, Case c, int column,
                                        bool& shows_case) {
    const bool masculine = column == 0, feminine = column == 1, neuter = column == 2,
               plural = column == 3;
    const std::string after_d = feminine ? (c == Case::dative ? "er" : "ie")
                                : plural ? (c == Case::dative ? "en" : "ie")
                                : neuter ? (c == Case::dative ? "em" : "as")
                                : masculine && c == Case::nominative ? "er"
                                : c == Case::accusative              ? "en"
                                                                     : "em";
    shows_case = true;
    if (word == "d" + after_d) return "the";
    const std::string weak = after_d == "ie" ? "e" : after_d == "as" ? "es" : after_d;
    if (word == "dies" + weak) return plural ? "these" : "this";
    const bool short_form = (masculine && c == Case::nominative) || (neuter && c != Case::dative);
    shows_case = !short_form;
    const std::string ending = short_form ? "" : weak;
    if (word == "mein" + ending) return "my";
    if (word == "ein" + ending && !plural) return "a";
    fail("'", word, "' does not agree");
  }

  static std::string adjective_ending(Case c, int column, bool determined, bool shows_case) {
    if (!determined) return c == Case::dative ? "en" : "e";
    if (!shows_case) return column == 0 ? "er" : "es";
    const bool plain =
        column < 3 && (c == Case::nominative || (c == Case::accusative && column > 0));
    return plain ? "e" : "en";
  }

  struct Phrase {
    std::string english;
    bool plural = false;
    int column = 0;  // masculine, feminine, neuter, plural; -1: a name
    NounKind kind = NounKind::person;
  };

  Phrase phrase(Case c) {
    if (forms().names.contains(here())) return {words_[at_++], false, -1};
    size_t noun_at = at_;
    while (!forms().nouns.contains(words_.at(noun_at))) ++noun_at;
    const NounForm& form = forms().nouns.at(words_[noun_at]);
    const size_t before = noun_at - at_;
    require(before <= 2, "too much before ", words_[noun_at]);
    const bool plural = !form.singular;
    require(!plural || (c == Case::dative ? form.dative_plural : form.plural), words_[noun_at],
            " has the wrong case");
    const int column = plural ? 3 : static_cast<int>(form.noun->gender);
    const std::string& first = here();
    const bool determined = before > 0 && (first.starts_with("d") || first.starts_with("ein") ||
                                           first.starts_with("mein"));
    bool shows_case = false;
    std::string determiner;
    if (determined) determiner = english_determiner(words_[at_++], c, column, shows_case);
    require(determined || plural, words_[noun_at], " stands alone");
    std::string english = form.noun->english;
    if (plural) english = form.noun->english_plural;
    if (!form.modifier.empty()) english = form.modifier + " " + english;
    if (at_ < noun_at) {
      const std::string ending = adjective_ending(c, column, determined, shows_case);
      const std::string& word = words_[at_++];
      require(word.ends_with(ending), "'", word, "' should end in ", ending);
      english = forms().adjectives.at(word.substr(0, word.size() - ending.size())) + " " + english;
    }
    require(at_ == noun_at, "'", here(), "' before ", words_[noun_at]);
    ++at_;
    if (determiner == "a" && std::string("aeiou").find(english[0]) != std::string::npos)
      determiner = "an";
    return {determiner.empty() ? english : determiner + " " + english, plural, column, form.kind};
  }

  Phrase subject() {
    Phrase p = phrase(Case::nominative);
    if (here() != ",") return p;
    const std::string next = words_.at(at_ + 1);
    if (p.column < 0 || (next != "der" && next != "die" && next != "das")) return p;
    ++at_;
    bool shows_case = false;
    require(english_determiner(words_[at_++], Case::nominative, p.column, shows_case) == "the",
            "a relative pronoun");
    p.english += (p.kind == NounKind::person ? " who " : " that ") + subordinate(p.plural);
    expect(",");
    return p;
  }

  static std::string person_form(const pairs::Verb& v, bool plural) {
    return plural ? v.english : v.english_third;
  }

  /// What the finite verb and the rest of the verb say, in English; sets last_kind_.
  std::string verb(const std::string& finite, const std::string& rest, bool plural) {
    const Forms& f = forms();
    VerbForm form{};
    std::string english;
    if (finite == (plural ? "haben" : "hat") || finite == (plural ? "sind" : "ist")) {
      form = f.participles.at({rest, finite == "ist" || finite == "sind"});
      english = form.verb->english_past;
    } else {
      for (const pairs::Modal& m : pairs::modals())
        if (finite == (plural ? m.plural : m.singular)) {
          form = f.infinitives.at(rest);
          english = (plural ? m.english : m.english_third) + " " + form.verb->english;
        }
      if (!form.verb) {
        form = (plural ? f.plural : f.singular).at({finite, rest});
        english = person_form(*form.verb, plural);
      }
    }
    last_kind_ = form.kind;
    return english;
  }

  std::string complements(size_t end) {
    std::string out;
    const VerbKind kind = last_kind_;
    if (kind == VerbKind::giving) {
      const Phrase receiver = phrase(Case::dative);
      require(receiver.kind == NounKind::person, "things are given to people");
      out += " " + receiver.english;
    }
    if (kind != VerbKind::intransitive && kind != VerbKind::saying) {
      const Phrase object = phrase(Case::accusative);
      const bool is_thing = object.kind == NounKind::thing;
      require(kind == VerbKind::anything || is_thing == (kind != VerbKind::being),
              "an object of the wrong kind");
      out += " " + object.english;
    }
    if (at_ < end) {
      std::string preposition = words_[at_];
      if (preposition == "im" || preposition == "beim") {
        words_[at_] = "dem";
        preposition = preposition == "im" ? "in" : "bei";
      } else {
        ++at_;
        require(here() != "dem" || preposition == "hinter" || preposition == "neben", preposition,
                " joins dem");
      }
      const Phrase place = phrase(Case::dative);
      require(place.kind == NounKind::place, "a place");
      out += " " + forms().prepositions.at(preposition) + " " + place.english;
    }
    require(at_ == end, "'", words_[at_], "' is left");
    return out;
  }

  size_t clause_end() const {
    size_t end = at_;
    while (words_.at(end) != "," && words_[end] != ".") ++end;
    return end;
  }

  std::string main_clause(bool inverted) {
    std::string finite;
    if (inverted) finite = words_.at(at_++);
    const Phrase who = subject();
    if (!inverted) finite = words_.at(at_++);
    const size_t end = clause_end();
    // The last word belongs to the verb unless the finite form is complete without it.
    const std::string last = words_[end - 1];
    const auto& whole = who.plural ? forms().plural : forms().singular;
    const bool closed =
        end > at_ && (!whole.contains({finite, ""}) || whole.contains({finite, last}));
    const std::string english = verb(finite, closed ? last : "", who.plural);
    const std::string rest = complements(closed ? end - 1 : end);
    at_ = end;
    return who.english + " " + english + rest;
  }

  /// With its subject, or that of a relative clause, of which only the number counts.
  std::string subordinate(std::optional<bool> relative_plural) {
    std::string who;
    bool plural = relative_plural.value_or(false);
    if (!relative_plural) {
      const Phrase p = subject();
      who = p.english + " ";
      plural = p.plural;
    }
    const size_t end = clause_end();
    const std::string last = words_.at(end - 1);
    std::string english;
    size_t stop = end - 1;
    for (const auto& [key, form] : plural ? forms().plural : forms().singular)
      if (key.second + key.first == last) english = verb(key.first, key.second, plural);
    if (english.empty()) english = verb(last, words_.at(--stop), plural);
    const std::string rest = complements(stop);
    at_ = end;
    return who + english + rest;
  }

  Words words_;
  size_t at_ = 0;
  VerbKind last_kind_ = VerbKind::intransitive;
};

}  // namespace

TEST_CASE("sample pairs: the English is what a parser of the German makes of it") {
  const SamplePairs text = sample_pairs(6000, 3);
  REQUIRE(text.source.size() == 6000);
  REQUIRE(text.target.size() == 6000);
  int shown = 0;
  for (size_t i = 0; i < text.source.size() && shown < 5; ++i) {
    std::string made;
    try {
      made = Translator(text.source[i]).translate();
    } catch (const std::exception& e) {
      made = e.what();
    }
    if (made == text.target[i]) continue;
    ++shown;
    FAIL_CHECK(text.source[i], " -> ", text.target[i], ", but the parser says ", made);
  }
}

TEST_CASE("sample pairs: the parser sees what is wrong") {
  CHECK(Translator("gestern hat die kluge tante dem kind einen neuen gartentisch gezeigt .")
            .translate() == "yesterday the clever aunt showed the child a new garden table .");
  CHECK(Translator("wenn der alte mann die küchentür aufmacht , laufen die katzen weg .")
            .translate() == "when the old man opens the kitchen door , the cats flee .");
  for (const char* wrong : {"der frau schläft .", "der alten mann schläft .", "der mann schlafen .",
                            "ein kleine hund lacht .", "der mann sieht der hund .",
                            "der mann lacht , weil die frau sieht den hund .",
                            "der mann bietet dem kind das buch .", "der mann ist gelacht .",
                            "der mann hat gesehen den hund .", "die frau gibt das kind das buch ."})
    CHECK_THROWS_MESSAGE(Translator(wrong).translate(), std::string(wrong));
}

TEST_CASE("sample pairs: words, lengths and variety") {
  const SamplePairs text = sample_pairs(20000, 1);
  std::set<std::string> german, english, compounds,
      sentences(text.source.begin(), text.source.end());
  int final_prefix = 0, verb_final = 0;
  for (size_t i = 0; i < text.source.size(); ++i) {
    const Words source = words_of(text.source[i]), target = words_of(text.target[i]);
    CHECK_MESSAGE(
        (source.size() >= 4 && source.size() <= 16 && target.size() >= 4 && target.size() <= 16),
        text.source[i]);
    german.insert(source.begin(), source.end());
    english.insert(target.begin(), target.end());
    for (const std::string& word : source)
      if (const auto found = forms().nouns.find(word);
          found != forms().nouns.end() && !found->second.modifier.empty())
        compounds.insert(word);
    const std::string& last = source[source.size() - 2];
    final_prefix += last == "an" || last == "auf" || last == "zu" || last == "weg" ||
                    last == "ab" || last == "ein" || last == "zurück";
    verb_final += has(text.source[i], " , ");
  }
  CHECK(german.size() > 800);
  CHECK(german.size() < 1400);
  CHECK(english.size() > 350);
  CHECK(english.size() < 500);
  CHECK(compounds.size() > 400);
  CHECK(sentences.size() > 19000);
  CHECK(final_prefix > 500);
  CHECK(verb_final > 5000);
}

TEST_CASE("sample pairs: follow from seed and split; no split has another's sentences") {
  const SamplePairs one = sample_pairs(500, 7), longer = sample_pairs(1000, 7);
  CHECK(std::equal(one.source.begin(), one.source.end(), longer.source.begin()));
  CHECK(std::equal(one.target.begin(), one.target.end(), longer.target.begin()));
  CHECK(sample_pairs(500, 8).source != one.source);
  const SamplePairs train = sample_pairs(20000, 1), valid = sample_pairs(1000, 2, "valid"),
                    test = sample_pairs(1000, 1, "test");
  const std::set<std::string> seen(train.source.begin(), train.source.end()),
      held(valid.source.begin(), valid.source.end());
  for (const std::string& line : valid.source) CHECK_MESSAGE(!seen.contains(line), line);
  for (const std::string& line : test.source)
    CHECK_MESSAGE((!seen.contains(line) && !held.contains(line)), line);
  CHECK(sample_pairs(0, 1).source.empty());
  CHECK(has(error_of([] { sample_pairs(-1, 1); }),
            "[sample_pairs] the number of sentences -1 is negative"));
  CHECK(has(error_of([] { sample_pairs(1, 1, "dev"); }),
            "no split is called 'dev': train, valid or test"));
}

}  // namespace nine::tests::test_sample_pairs
