// The built-in sample text: a language like English whose exact entropy is known. So a model's
// perplexity can be compared with the best possible perplexity.
//
//   yesterday the old farmers near the river saw a red fox .
//   the dog that the teachers follow is eating an apple .
//
// A model has to learn: number agreement across a phrase or a relative clause; "a" or "an" by the
// next letter; the order of adjectives; verbs that choose their subjects and objects; the tense,
// which the first adverb decides; names and pronouns; frequencies that fall as 1/rank in each class
// of words. There are 1,049 words. A sentence has 10.71 tokens on average, and the perplexity is
// 15.516.
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
  double nats = 0;                    ///< the sum of sentence_nats
  int64_t tokens = 0;                 ///< words and, for each line, </s>

  /// Returns the perplexity of these lines under the language itself, as of a perfect model.
  double perplexity() const;
};

/// The sample language: its grammar, its entropy and random texts.
class SampleLanguage {
 public:
  SampleLanguage();

  /// Return the expected nats and the expected tokens (with </s>) of a sentence, exact up to
  /// rounding.
  double entropy_per_sentence() const { return grammar_.entropy(start_); }
  double expected_tokens() const { return grammar_.expected_words(start_) + 1; }
  /// Return the nats per token of an endless text, and the exponential of this number. No model
  /// that reads from left to right has a lower expected perplexity if its vocabulary holds all
  /// words. (A model with <unk> does not have to predict the words that <unk> stands for.)
  double entropy_per_token() const { return entropy_per_sentence() / expected_tokens(); }
  double perplexity() const;

  /// Returns `sentences` random lines. Equal (seed, split) give equal lines, and a longer text
  /// starts with the shorter text. The texts of different splits ("train", "valid", "test") are
  /// independent. Error: sentences < 0.
  SampleCorpus generate(uint64_t seed, std::string_view split, int64_t sentences) const;
  /// Returns the random numbers from which a split is drawn.
  static RandomStream stream(uint64_t seed, std::string_view split);
  /// Sets `line` to the next sentence, and returns its -log p and its number of words without </s>.
  Grammar::Derivation next(RandomStream& random, std::string& line) const;

  const Grammar& grammar() const { return grammar_; }
  Grammar::Symbol start() const { return start_; }
  /// Returns all words, without special words.
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

/// Writes train.txt, valid.txt and test.txt into `directory`, which it creates if necessary. It
/// needs little memory at any size. Errors: a size < 1; a file that cannot be written.
std::array<SampleFile, 3> write_sample(const std::string& directory, uint64_t seed,
                                       const SampleSizes& sizes);

}  // namespace nine
