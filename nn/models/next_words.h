// Chooses the next words of several texts from a network's contexts.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <vector>

#include "nn/decoding_head.h"
#include "nn/models/sampling.h"

namespace nine {

/// A context whose next word is wanted.
struct WantedWord {
  int32_t row = 0;                            ///< of the contexts
  const SamplingOptions* sampling = nullptr;  ///< how a word is chosen; null: no word is chosen
  double uniform = 0;                         ///< the random number in [0, 1) that chooses
  bool all = false;                           ///< true: log p of all words is wanted
};

/// The prediction for a context.
struct NextWord {
  int32_t word = -1;                 ///< the chosen word; -1: no word was chosen
  double log_p = 0;                  ///< its log p under the model itself (temperature 1)
  std::span<const double> all = {};  ///< log p of all words by id, if wanted; while take() runs
  std::exception_ptr error = {};     ///< why no word could be chosen: choose_word()'s errors

  /// Throws the error, if there is one.
  void rethrow() const {
    if (error) std::rethrow_exception(error);
  }
};

/// Predicts with an output layer and chooses words. The output layer draws a word itself where it
/// can, or returns only the likeliest words if the options choose among few. The word is that of
/// choose_word() among all words. For one thread.
class NextWords {
 public:
  /// `head` must outlive this object.
  explicit NextWords(const DecodingHead& head) : head_(head) {}

  /// Calls take(i, next) once for each wanted[i], in no order and from any of the engine's threads.
  /// Contexts: for each head one Var (N, width). The probability of the word `excluded` is set to
  /// 0; excluded = -1: no word.
  using Take = std::function<void(size_t, const NextWord&)>;
  void predict(DecodingHead::Contexts contexts, std::span<const WantedWord> wanted,
               const Take& take, int32_t excluded = -1);

 private:
  enum class Way { likeliest, draw, draw_of_all, all };
  struct Group {
    Way way;
    int64_t k;                                       // how many of the likeliest words are needed
    auto operator<=>(const Group&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  Group group_of(const WantedWord& wanted, int32_t excluded) const;
  void predict_group(DecodingHead::Contexts contexts, std::span<const WantedWord> members,
                     const Group& group, int32_t excluded);
  NextWord chosen(const WantedWord& member, size_t row, const Group& group) const;

  const DecodingHead& head_;
  DecodingHead::Memory memory_;
  WordScores best_;            // the likeliest words, or the drawn words
  std::vector<double> log_p_;  // (members, words), if all are needed
};

}  // namespace nine
