#include "data/sample/grammar.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace nine {

Grammar::Symbol Grammar::word(std::string_view text) {
  require(!text.empty() && text.find_first_of(" \t\r\n") == std::string_view::npos,
          "[Grammar::word] '", text, "' is not one word");
  const auto [found, is_new] =
      word_index_.try_emplace(std::string(text), static_cast<int32_t>(words_.size()));
  if (is_new) words_.emplace_back(text);
  return {found->second, true};
}

Grammar::Symbol Grammar::rule(std::vector<Alternative> alternatives) {
  require(!alternatives.empty(), "[Grammar::rule] a rule needs at least one alternative");
  Rule rule;
  rule.alternatives = std::move(alternatives);
  for (const Alternative& a : rule.alternatives) {
    require(a.weight > 0 && std::isfinite(a.weight), "[Grammar::rule] the weight ", a.weight,
            " of an alternative is not positive");
    for (Symbol s : a.symbols)
      require(s.index >= 0 && s.index < (s.is_word ? std::ssize(words_) : std::ssize(rules_)),
              "[Grammar::rule] a rule uses a symbol of another grammar");
    rule.weight += a.weight;
  }
  add_expectations(rule);
  rules_.push_back(std::move(rule));
  return {static_cast<int32_t>(rules_.size()) - 1, false};
}

void Grammar::add_expectations(Rule& rule) const {
  double sum = 0;
  for (const Alternative& a : rule.alternatives) {
    const double p = a.weight / rule.weight;
    double nats = -std::log(p), words = 0;
    rule.nats.push_back(nats);
    for (Symbol s : a.symbols) {
      nats += s.is_word ? 0 : rule_of(s).entropy;
      words += s.is_word ? 1 : rule_of(s).expected_words;
    }
    rule.entropy += p * nats;
    rule.expected_words += p * words;
    rule.cumulative.push_back(sum += p);
  }
}

const Grammar::Rule& Grammar::rule_of(Symbol s) const {
  require(!s.is_word && s.index >= 0 && s.index < std::ssize(rules_),
          "[Grammar] a symbol is not a rule of this grammar");
  return rules_[static_cast<size_t>(s.index)];
}

Grammar::Derivation Grammar::generate(Symbol start, RandomStream& random, std::string& line) const {
  Derivation derivation;
  if (start.is_word) {
    if (!line.empty()) line += ' ';
    line += words_[static_cast<size_t>(start.index)];
    derivation.words = 1;
    return derivation;
  }
  const Rule& rule = rule_of(start);
  size_t choice = 0;
  if (rule.alternatives.size() > 1) {
    // The search leaves out the last sum, because rounding may make it a little less than 1.
    choice = static_cast<size_t>(
        std::upper_bound(rule.cumulative.begin(), rule.cumulative.end() - 1, random.uniform()) -
        rule.cumulative.begin());
    derivation.nats = rule.nats[choice];
  }
  for (Symbol s : rule.alternatives[choice].symbols) {
    const Derivation part = generate(s, random, line);
    derivation.nats += part.nats;
    derivation.words += part.words;
  }
  return derivation;
}

}  // namespace nine
