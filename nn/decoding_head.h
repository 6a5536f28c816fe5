// An output layer prepared for decoding.
#pragma once

#include <span>
#include <variant>

#include "kernels/decoding/head_decoder.h"
#include "nn/softmax_head.h"

namespace nine {

/// Predicts words from a few contexts at a time. On the CPU it packs the head's weights once
/// (HeadDecoder); on a GPU it uses the head itself. The head must outlive this object and keep its
/// weights. Several threads may use it at once, each with a Memory of its own.
class DecodingHead {
 public:
  explicit DecodingHead(const SoftmaxHead& head);

  int64_t words() const { return words_; }
  /// Working memory, kept between calls.
  class Memory {
    friend DecodingHead;
    HeadDecoder<float>::Memory of_float_;
    HeadDecoder<double>::Memory of_double_;
  };
  /// Fills `best` with the k most probable words of each context (N, width), as HeadDecoder does.
  /// The probability of the word `excluded` is set to 0; -1: of no word. Errors: HeadDecoder's.
  void best_words(const Var& contexts, int64_t k, int32_t excluded, Memory& memory,
                  WordScores& best) const;
  /// Returns log p of each context's target. Errors: HeadDecoder's.
  std::vector<double> log_probs(const Var& contexts, std::span<const int32_t> targets,
                                Memory& memory) const;
  /// Fills `log_p` (N * words()) with log p of every word, row by row; `excluded` is as above.
  void all_log_probs(const Var& contexts, int32_t excluded, Memory& memory,
                     std::vector<double>& log_p) const;
  /// True if a row's bits do not depend on the other rows: in the results of all_log_probs() if
  /// `all`, otherwise in those of the others.
  bool independent_rows(bool all) const { return decoder_.index() > 0 && !(all && mixture_); }

 private:
  bool run(const Var& contexts, int64_t k, int32_t excluded, std::span<const int32_t> targets,
           bool all, Memory& memory, WordScores& answer) const;

  const SoftmaxHead& head_;
  int64_t words_;
  bool mixture_;
  std::variant<std::monostate, HeadDecoder<float>, HeadDecoder<double>> decoder_;
};

}  // namespace nine
