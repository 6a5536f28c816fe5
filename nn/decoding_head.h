// Output layers prepared for decoding.
#pragma once

#include <deque>
#include <span>
#include <variant>

#include "kernels/decoding/head_decoder.h"
#include "nn/softmax_head.h"

namespace nine {

/// Predicts words from a few contexts at a time. Several heads of one vocabulary form an ensemble:
/// a word's probability is the mean of theirs. On the CPU a head's weights are packed once
/// (HeadDecoder), and a row's bits do not depend on the other rows; on a GPU the head itself is
/// used. The heads must outlive this object and keep their weights. Several threads may use it at
/// once, each with a Memory of its own.
class DecodingHead {
 public:
  /// Error: heads of different vocabularies.
  explicit DecodingHead(std::span<const SoftmaxHead* const> heads);
  explicit DecodingHead(const SoftmaxHead& head) : DecodingHead(std::vector{&head}) {}

  int64_t words() const { return words_; }
  /// Working memory, kept between calls.
  class Memory {
    friend DecodingHead;
    HeadDecoder<float>::Memory of_float_;
    HeadDecoder<double>::Memory of_double_;
    WordScores answer_;
  };
  /// For each head one Var of contexts (N, width).
  using Contexts = std::span<const Var>;
  /// Fills `best` with the k most probable words of each row, best first; ties in the order of the
  /// ids. The probability of the word `excluded` is set to 0; -1: of no word. Errors:
  /// HeadDecoder's.
  void best_words(Contexts contexts, int64_t k, int32_t excluded, Memory& memory,
                  WordScores& best) const;
  /// Returns log p of each row's target. Errors: HeadDecoder's.
  std::vector<double> log_probs(Contexts contexts, std::span<const int32_t> targets,
                                Memory& memory) const;
  /// Fills `log_p` (N * words()) with log p of every word, row by row; `excluded` is as above.
  void all_log_probs(Contexts contexts, int32_t excluded, Memory& memory,
                     std::vector<double>& log_p) const;
  /// True if draw_words() can draw: one head, on the CPU, which is no mixture.
  bool draws() const;
  /// Draws a word for each row (Draw): fills `drawn` with the words and their log p. With `log_p`,
  /// also fills it as all_log_probs() does; the words are the same. A word is -1 if every word that
  /// may be drawn has probability 0. Only if draws().
  void draw_words(Contexts contexts, std::span<const Draw> draws, int32_t excluded, Memory& memory,
                  WordScores& drawn, std::vector<double>* log_p = nullptr) const;
  /// True if a row's bits do not depend on the other rows.
  bool independent_rows() const { return heads_.front().decoder.index() > 0; }

 private:
  struct Head {
    const SoftmaxHead* head;
    std::variant<std::monostate, HeadDecoder<float>, HeadDecoder<double>> decoder = {};
  };
  struct Question {
    int64_t k = 0;
    int32_t excluded = -1;
    std::span<const int32_t> targets = {};
    bool all = false;
    std::span<const Draw> draws = {};
  };
  static bool ask(const Head& head, const Var& contexts, const Question& q, Memory& memory,
                  WordScores& answer);
  static void all_of(const Head& head, const Var& contexts, Memory& memory,
                     std::vector<double>& log_p);

  std::deque<Head> heads_;
  int64_t words_;
};

}  // namespace nine
