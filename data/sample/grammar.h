// Probabilistic context-free grammars of finite languages, with their exact entropy.
//
// A rule may use only words and rules that exist already. So the grammar has no recursion, and
// every sum over it is finite. Expectations are computed in one pass while rules are added:
//   H(rule) = sum_i p_i (-log p_i + sum over its symbols s of H(s)),    H(word) = 0.
// H is the entropy of derivations. If every text has exactly one derivation, H is the entropy of
// the text.
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
  /// One way to expand a rule. Its probability is weight / sum of the rule's weights.
  struct Alternative {
    double weight = 1;
    std::vector<Symbol> symbols;
  };
  struct Rule {
    std::vector<Alternative> alternatives;
    std::vector<double> nats;        ///< -log p of each alternative
    std::vector<double> cumulative;  ///< p_0, p_0 + p_1, ...
    double weight = 0;               ///< sum of the alternatives' weights
    double entropy = 0;              ///< of the rule's derivations, in nats
    double expected_words = 0;
  };
  /// The result of generate().
  struct Derivation {
    double nats = 0;  ///< -log p
    int64_t words = 0;
  };

  /// Returns the symbol of a word. The same word always has the same symbol. Error: the text is
  /// empty or has spaces.
  Symbol word(std::string_view text);
  /// Adds a rule. Errors: no alternatives, a weight that is not positive, a symbol of another
  /// grammar.
  Symbol rule(std::vector<Alternative> alternatives);
  /// Returns the sum of the alternatives' weights. If rules hold parts of a list, this is the
  /// weight of a part in a choice between the parts.
  double weight(Symbol rule) const { return rule_of(rule).weight; }

  /// Returns the entropy of the derivations of `start`, in nats.
  double entropy(Symbol start) const { return rule_of(start).entropy; }
  double expected_words(Symbol start) const { return rule_of(start).expected_words; }
  /// Appends a random derivation's words to `line`, separated by single spaces.
  Derivation generate(Symbol start, RandomStream& random, std::string& line) const;

  /// Returns the rules by Symbol::index.
  const std::vector<Rule>& rules() const { return rules_; }
  /// Returns the words by Symbol::index, which is the order of first use.
  const std::vector<std::string>& words() const { return words_; }

 private:
  const Rule& rule_of(Symbol s) const;
  void add_expectations(Rule& rule) const;

  std::vector<Rule> rules_;
  std::vector<std::string> words_;
  TextMap<int32_t> word_index_;
};

}  // namespace nine
