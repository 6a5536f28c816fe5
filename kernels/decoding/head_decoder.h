// A head prepared for decoding on the CPU. It packs the word vectors and computes their statistics
// once. For a few contexts at a time it then computes the most probable words, or the
// log-probabilities of given words. The formulas are those of kernel_softmax, without a tape.
//
// The scores of one context are contiguous, word after word, so the cost is proportional to the
// number of contexts, also for few contexts. Contexts of components that share word vectors are
// stacked, and each panel of word vectors is multiplied with all of them. A single component needs
// only the scores and their log sum of exponentials. A mixture keeps exponentials
//   e_k(v) = exp(S_k(v) - m_k),  m_k the largest of a chunk's scores,
// and gets p(v) = sum_k f_k e_k(v), f_k = pi_k exp(m_k) / Z_k, by one multiplication each, without
// more exponentials.
#pragma once

#include <span>
#include <vector>

#include "core/buffer.h"
#include "core/packed_linear.h"
#include "kernels/decoding/decoder_norms.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/settings/head.h"

namespace nine {

/// A head's weights on the CPU, all of one type; fields as in HeadWeights.
struct HeadValues {
  std::vector<View> w = {};
  View bias = {}, prior = {}, latent = {};
  HeadNorms norms = {};  ///< on any device
};

/// How a row's word is drawn: word v with probability proportional to p(v)^(1 / temperature).
struct Draw {
  double uniform = 0;      ///< a random number in [0, 1): the sum of shares, by id, that is passed
  double temperature = 1;  ///< above 0
  int32_t never = -1;      ///< a word that is not drawn; -1: every word may be drawn
};

/// Computes the most probable words, or log p of given words, from contexts on the CPU. T is float
/// or double, the type of the weights.
template <class T>
class HeadDecoder {
 public:
  /// The values must outlive this object. `head` must have the values of learned numbers
  /// (with_numbers). Error: the values do not fit each other or the head.
  HeadDecoder(const HeadSpec& head, const HeadValues& values);
  HeadDecoder(HeadDecoder&& other) noexcept;
  ~HeadDecoder();

  int64_t words() const { return words_; }
  int64_t dims() const { return dims_; }

  struct Query {
    const T* h = nullptr;  ///< contexts (rows, dims()), contiguous
    int64_t rows = 0;
    int64_t k = 0;          ///< number of most probable words to return for each row
    int32_t excluded = -1;  ///< a word whose probability is set to 0; -1: no word
    /// If not empty, the answer has the log-probability of each row's target instead of the k
    /// words.
    std::span<const int32_t> targets = {};
    /// True: the answer has log p of every word of each row instead, in the order of the ids.
    bool all = false;
    /// If not empty, the answer has the word that each row's draw chooses. With `all` its
    /// log-probabilities are those of every word; otherwise they are those of the drawn words. The
    /// drawn word is the same in both cases. Not for mixtures.
    std::span<const Draw> draws = {};
  };
  /// The words with log p in nats. log_probs is (rows, k), for targets and draws (rows), for all
  /// words (rows, words()). A drawn word is -1 if every word that may be drawn has probability 0.
  /// One limit holds for the k words of a mixture: a word below e^-87 of the best word's
  /// probability (in float64 e^-708) may be out of order, and its log p is less exact. Log p of
  /// targets and of all words is exact.
  using Answer = WordScores;
  /// Working memory, kept between calls. Each calling thread needs its own.
  struct Memory {
    Buffer<T> stack, scores, tile_top, chunk_top, row_stats, prior, factors;
    Buffer<double> log_prior, chunk_sum, lse, target_score;
    Buffer<int32_t> extreme_rows;
    Buffer<bfloat16> pieces;
    std::vector<typename PackedLinear<T>::Rows> contexts;
  };
  /// Fills `answer`. A row's bits do not depend on the other rows or on the number of threads.
  /// Errors: a row whose normaliser is not finite; a target of probability 0 without a bias of
  /// -infinity; draws from a mixture, or not one for each row; k larger than the number of words; a
  /// target outside the vocabulary.
  void operator()(const Query& q, Memory& memory, Answer& answer) const;

 private:
  struct Component;  // one component: its kernel, its packed words, its statistics
  struct Pack {
    View of;                // the packed word vectors, or part of them
    PackedLinear<T> words;  // the packed copy
  };
  struct Block;  // some rows of a query, with pointers to their scores and results

  void check(const Query& q) const;
  Block block(const Query& q, int64_t first, int64_t rows, Memory& m) const;
  void add_component(const Score& score, const View& w);
  // True if contexts are copied or changed before they meet the words.
  bool own_stack() const { return head_.size() > 1 || head_.contexts || norms_.contexts(); }
  int64_t pack_of(const View& part);
  void stack_contexts(const Block& b, Memory& m) const;
  template <class F>
  void each_product(const Block& b, F&& f) const;
  void prepare_contexts(Block& b, Memory& m) const;
  void score_panel(const Block& b, int64_t panel) const;
  void finish_panel(const Block& b, int64_t panel) const;
  void sum_chunk(const Block& b, int64_t chunk) const;
  void normalise(const Block& b) const;
  void weigh_without_excluded(const Block& b, int64_t row) const;
  void mix(const Block& b, int64_t row, T* p) const;
  void best_words(const Block& b, int64_t row, int64_t k, int32_t* words, double* log_probs) const;
  void score_targets(const Block& b) const;
  double target_log_prob(const Block& b, int64_t row) const;
  double log_prob(const Block& b, int64_t row, int64_t word) const;
  int32_t drawn_word(const Block& b, int64_t row, const Draw& draw) const;

  HeadSpec head_;
  DecoderNorms norms_;
  View bias_;
  int64_t words_ = 0, dims_ = 0, stats_ = 0;
  bool one_pack_ = true;  // all components use the same packed word vectors
  std::vector<Component> components_;
  std::vector<Pack> packs_;
  std::vector<Tensor> word_stats_;  // (stats, words) each
  PackedLinear<T> prior_, latent_;
};

}  // namespace nine
