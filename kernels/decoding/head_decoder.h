// A head prepared for decoding on the CPU: word vectors are packed and their statistics computed
// once; then it computes, for a few contexts at a time, the most probable words or the
// log-probabilities of given ones. The formulas are those of kernel_softmax, without a tape.
//
// The scores of one context are contiguous, word after word, so that the cost is proportional to
// the number of contexts, however few. Contexts of components that share word vectors are stacked
// and multiplied with each panel of them together. For a single component the scores and their log
// sum of exponentials are all there is to compute; a mixture keeps exponentials
//   e_k(v) = exp(S_k(v) - m_k),  m_k the largest of a chunk's scores,
// from which p(v) = sum_k f_k e_k(v), f_k = pi_k exp(m_k) / Z_k, follows by one multiplication
// each, without further exponentials.
#pragma once

#include <span>
#include <vector>

#include "core/buffer.h"
#include "core/packed_linear.h"
#include "kernels/decoding/decoder_norms.h"
#include "kernels/settings/head.h"

namespace nine {

/// A head's weights on the CPU, of one type, as in HeadWeights.
struct HeadValues {
  std::vector<View> w = {};
  View bias = {}, prior = {}, latent = {};
  HeadNorms norms = {};  ///< on any device
};

/// T is float or double, the type of the weights.
template <class T>
class HeadDecoder {
 public:
  /// The values must outlive it. Learned numbers have the values that `head` says (with_numbers).
  /// Error: they do not fit each other or the head.
  HeadDecoder(const HeadSpec& head, const HeadValues& values);
  HeadDecoder(HeadDecoder&& other) noexcept;
  ~HeadDecoder();

  int64_t words() const { return words_; }
  int64_t dims() const { return dims_; }

  struct Query {
    /// Contexts (rows, dims()), contiguous, with memory for PackedLinear's padded(rows) rows.
    const T* h = nullptr;
    int64_t rows = 0;
    int64_t k = 0;          ///< how many of the most probable words of each row to return
    int32_t excluded = -1;  ///< a word whose probability is set to 0; -1: none
    /// If not empty, the answer has the log-probability of each row's target instead.
    std::span<const int32_t> targets = {};
  };
  /// In a mixture words whose probability is below e^-87 of the best's (in float64 e^-708) may be
  /// in another order, with less exact log-probabilities; those of targets are exact.
  struct Answer {
    std::vector<int32_t> words;     ///< (rows, k), best first; equal ones in the order of their ids
    std::vector<double> log_probs;  ///< (rows, k); of targets (rows)
  };
  /// Working memory, kept between calls; each thread that calls needs one of its own.
  struct Memory {
    Buffer<T> stack, scores, tile_top, chunk_top, row_stats, prior, factors;
    Buffer<double> log_prior, chunk_sum, lse, target_score;
    Buffer<int32_t> extreme_rows;
    Buffer<bfloat16> pieces;
    std::vector<typename PackedLinear<T>::Rows> contexts;
  };
  /// Fills `answer`. A row's answer has the same bits whatever the other rows and the number of
  /// threads. Errors: a row without finite normaliser; a target of probability 0 without a bias of
  /// -infinity; k more than there are words; a target outside of the vocabulary.
  void operator()(const Query& q, Memory& memory, Answer& answer) const;

 private:
  struct Component;  // one component: its kernel, its packed words, its statistics
  struct Pack {
    View of;                // the word vectors, or the part of them, that are packed
    PackedLinear<T> words;  // the packed copy
  };
  struct Block;  // some rows of a query, with pointers to their scores and results

  Block block(const Query& q, int64_t first, int64_t rows, Memory& m) const;
  void add_component(const Score& score, const View& w);
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
