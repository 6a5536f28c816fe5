// A Transformer that decodes word by word on the CPU. It packs the weights once, keeps keys and
// values of earlier words, and records nothing for a gradient.
//
// Each sentence has one slot per beam. A step writes the keys and values of a prefix into the
// prefix's slot, where they stay. Reordering beams moves no keys: a table of ancestors gives, for
// each prefix, the slot in which each of its words was decoded. Rows are computed independently, so
// a row's bits do not depend on the other rows.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/buffer.h"
#include "kernels/decoding/head_decoder.h"
#include "nn/models/transformer.h"

namespace nine {

/// `T`: float or double, the type of the model's weights.
template <class T>
class IncrementalTransformer {
 public:
  explicit IncrementalTransformer(const Transformer& model);

  const TransformerConfig& config() const { return config_; }
  const HeadDecoder<T>& head() const { return *head_; }

  /// One prefix at a step: its last word and its slot among the slots of all sentences, sentence *
  /// slots + beam.
  struct Row {
    int32_t sentence, slot, word;
  };
  /// A batch of sentences that are being decoded. The next batch reuses its memory.
  class Batch {
    friend IncrementalTransformer;

   public:
    explicit Batch(const IncrementalTransformer& model) : model_(model) {}

    /// Encodes sentences of ids (with </s>). Each sentence may have at most `slots` rows in a step.
    void encode(std::span<const std::vector<int32_t>> sentences, int64_t slots);
    /// Computes step t of the rows. Word s < t of a row's prefix was decoded in slot
    /// ancestors[row.slot * stride + s]. Returns the decoder's output, (rows, dim), padded in
    /// memory to whole tiles of rows; it is valid until the next step.
    const T* step(int64_t t, std::span<const Row> rows, const int32_t* ancestors, int64_t stride);
    /// Makes step() keep its attention weights, for attention().
    void keep_attention(bool on) { keep_attention_ = on; }
    /// Call after step(). Returns the last layer's attention weights of one row, as the mean over
    /// heads: one weight for each word of the row's source sentence.
    std::span<const float> attention(int64_t row) const;

   private:
    int64_t source_length(int64_t sentence) const {
      return offsets_[static_cast<size_t>(sentence) + 1] - offsets_[static_cast<size_t>(sentence)];
    }
    void reserve(int64_t rows);
    void self_attention(size_t layer, int64_t t, std::span<const Row> rows,
                        const int32_t* ancestors, int64_t stride);
    void cross_attention(size_t layer, std::span<const Row> rows);
    T* past(size_t step, size_t layer, int64_t slot) const;

    const IncrementalTransformer& model_;
    int64_t slots_ = 0;  // number of slots of all sentences
    bool keep_attention_ = false;
    std::vector<int64_t> offsets_;        // of each sentence: its first row in the encoder's rows
    Buffer<T> x_, in_, wide_, y_;         // (rows, d), (rows, d), (rows, 3d or ffn), (rows, d)
    std::vector<Buffer<T>> source_keys_;  // per layer: (source rows, 2d), keys and values
    std::vector<Buffer<T>> past_;         // per step: (layers, slots, 2d), keys and values
    Buffer<float> attention_;             // (rows, longest_)
    int64_t longest_ = 0;                 // words of the longest source
    std::vector<int32_t> sentence_of_;    // of each row of the last step
  };

 private:
  using Linear = PackedLinear<T>;
  struct Norm {
    const T *gamma, *beta;
    void operator()(const T* x, int64_t rows, int64_t d, T* y) const;
  };
  struct FeedForward {
    Linear first, second;
  };
  struct EncoderLayer {
    Linear qkv, out;
    FeedForward feed;
    Norm norm1, norm2;
  };
  struct DecoderLayer {
    Linear qkv, out, cross_q, cross_kv, cross_out;
    FeedForward feed;
    Norm norm1, norm2, norm3;
  };

  View at(const std::string& name) const;  // returns an empty view if the model lacks the tensor
  Linear linear(const std::string& name) const;
  // Packs parts first ... first + count - 1 of queries, keys and values.
  Linear projection(const std::string& attention, int64_t first, int64_t count) const;
  FeedForward feed(const std::string& layer) const;
  Norm norm(const std::string& name) const;
  void embed(const View& table, int32_t word, int64_t position, T* y) const;
  // Computes x = norm(x + f(x)), or x += f(norm(x)); f adds its result to x.
  template <class F>
  void residual(const Norm& norm, T* x, int64_t rows, T* spare, F&& f) const;
  void feed_forward(const FeedForward& f, const Norm& norm, Batch& b, int64_t rows) const;

  TransformerConfig config_;
  double embed_scale_;
  Tensor weights_;  // all weights
  std::vector<NamedView> views_;
  Tensor positions_;
  View src_embedding_, tgt_embedding_;
  std::vector<EncoderLayer> encoder_;
  std::vector<DecoderLayer> decoder_;
  Norm encoder_norm_{}, decoder_norm_{};  // unused in models without final norms
  std::unique_ptr<HeadDecoder<T>> head_;
};

}  // namespace nine
