// Probabilistic context-free grammars of finite languages, with their exact entropy.
//
// A rule may use only words and rules that exist already. The grammar therefore has no recursion,
// every sum over it is finite, and expectations are computed in one pass as rules are added:
//   H(rule) = sum_i p_i (-log p_i + sum over its symbols s of H(s)),    H(word) = 0.
// H is the entropy of derivations. Where every text has exactly one derivation it is that of the
// text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "data/text_map.h"

namespace nine {

/// A grammar, built from words and rules.
class Grammar {
 public:
  /// A rule or a word.
  struct Symbol {
    int32_t index = 0;
    bool is_word = false;
  };
  /// One way to expand a rule, taken with probability weight / sum of the rule's weights.
  struct Alternative {
    double weight = 1;
    std::vector<Symbol> symbols;
  };
  struct Rule {
    std::vector<Alternative> alternatives;
    std::vector<double> nats;        ///< -log p of each alternative
    std::vector<double> cumulative;  ///< p_0, p_0 + p_1, ...
    double weight = 0;               ///< sum of the alternatives' weights
    double entropy = 0;              ///< of its derivations, nats
    double expected_words = 0;
  };
  /// What generate() did.
  struct Derivation {
    double nats = 0;  ///< -log p
    int64_t words = 0;
  };

  /// The symbol of a word, the same each time. Error: the text is empty or has spaces.
  Symbol word(std::string_view text);
  /// Adds a rule. Errors: no alternatives, a weight that is not positive, a symbol of another
  /// grammar.
  Symbol rule(std::vector<Alternative> alternatives);
  /// The alternatives' total weight. A rule that holds a part of a list has it as its weight in a
  /// choice between the parts.
  double weight(Symbol rule) const { return rule_of(rule).weight; }

  /// Nats of one derivation of `start`.
  double entropy(Symbol start) const { return rule_of(start).entropy; }
  double expected_words(Symbol start) const { return rule_of(start).expected_words; }
  /// Appends a random derivation's words to `line`, separated by single spaces.
  Derivation generate(Symbol start, RandomStream& random, std::string& line) const;

  /// By Symbol::index.
  const std::vector<Rule>& rules() const { return rules_; }
  /// By Symbol::index, in order of first use.
  const std::vector<std::string>& words() const { return words_; }

 private:
  const Rule& rule_of(Symbol s) const;
  void add_expectations(Rule& rule) const;

  std::vector<Rule> rules_;
  std::vector<std::string> words_;
  TextMap<int32_t> word_index_;
};

}  // namespace nine
