// The built-in sample text: an English-like language whose exact entropy is known, so that a
// model's perplexity can be read against the best that any model could reach.
//
//   yesterday the old farmers near the river saw a red fox .
//   the dog that the teachers follow is eating an apple .
//
// What there is to learn: number agreement across a phrase or a relative clause, "a" or "an" by the
// next letter, the order of adjectives, verbs that choose their subjects and objects, tense from
// the adverb that opens the sentence, names and pronouns, and frequencies that fall as 1/rank in
// each class of words. 1,049 words, on average 10.71 tokens a sentence, perplexity 15.516.
//
// The entropy of a text equals that of its derivation because each sentence has exactly one:
//   - no word form is in two classes that can stand in the same place (data/sample/lexicon.cpp);
//   - a noun phrase has at most one phrase or clause after its noun, and that belongs to the
//     nearest noun;
//   - the prepositions after nouns (near, from, with, ...) differ from those after verbs (in, at,
//     ...; to, into, ...);
//   - only main verbs take an adverb or a place, so that nothing at the end of a relative clause
//     can belong to two verbs;
//   - a clause joins another by a conjunction only at the top, and "that" follows a noun or a verb
//     of saying, never both.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "data/sample/grammar.h"

namespace nine {

/// Sentences of the sample language.
struct SampleCorpus {
  std::vector<std::string> lines;     ///< words separated by single spaces, without </s>
  std::vector<double> sentence_nats;  ///< exact -log p of each line
  double nats = 0;                    ///< their sum
  int64_t tokens = 0;                 ///< words and, for each line, </s>

  /// The perplexity of the language itself on these lines: what a perfect model scores.
  double perplexity() const;
};

/// The sample language: its grammar, its entropy and random texts.
class SampleLanguage {
 public:
  SampleLanguage();

  /// Expected nats and tokens (with </s>) of a sentence, exact up to rounding.
  double entropy_per_sentence() const { return grammar_.entropy(start_); }
  double expected_tokens() const { return grammar_.expected_words(start_) + 1; }
  /// Nats per token of an endless text, and its exponential: no model that reads from left to right
  /// has a lower perplexity in expectation, provided that its vocabulary holds all words (a
  /// model with <unk> need not predict the words that it stands for).
  double entropy_per_token() const { return entropy_per_sentence() / expected_tokens(); }
  double perplexity() const;

  /// `sentences` random lines. Equal (seed, split) give equal lines, and a longer text starts with
  /// the shorter one; the text of another split ("train", "valid", "test") is independent. Error:
  /// sentences < 0.
  SampleCorpus generate(uint64_t seed, std::string_view split, int64_t sentences) const;
  /// The stream from which a split is drawn.
  static RandomStream stream(uint64_t seed, std::string_view split);
  /// Sets `line` to the next sentence and returns its -log p and number of words, </s> not counted.
  Grammar::Derivation next(RandomStream& random, std::string& line) const;

  const Grammar& grammar() const { return grammar_; }
  Grammar::Symbol start() const { return start_; }
  /// Every word, without the specials.
  const std::vector<std::string>& words() const { return grammar_.words(); }

 private:
  Grammar grammar_;
  Grammar::Symbol start_;
};

/// Sizes of the files that write_sample writes.
struct SampleSizes {
  int64_t train = 20000, valid = 1000, test = 1000;  ///< sentences
};
/// A file that write_sample wrote.
struct SampleFile {
  std::string path;
  int64_t sentences = 0;
  int64_t tokens = 0;  ///< with </s>
  double nats = 0;     ///< exact -log p of the text
  double perplexity() const;
};

/// Writes train.txt, valid.txt and test.txt into `directory`, which is made when it is not there,
/// at any size in little memory. Errors: a size < 1; what cannot be written.
std::array<SampleFile, 3> write_sample(const std::string& directory, uint64_t seed,
                                       const SampleSizes& sizes);

}  // namespace nine
