// kernel_inspect --explain: a small numeric example through forward and backward, computed by the
// library's own ops. Examples of heads are in explain_kernel.cpp, those of layers in
// explain_layers.cpp.
#pragma once

#include <string>
#include <vector>

#include "apps/inspect/worked_example.h"
#include "kernels/head.h"
#include "kernels/head_norms.h"
#include "kernels/margin.h"

namespace nine::app {

/// The names of the examples that are not kernels: softmax, lstm, ...
std::vector<std::string> layer_examples();

/// The example of a kernel with its parameters ("pow:p=1"), of one of layer_examples(), or of lin
/// with a margin or norms: "margin=cos:0.3", "word_norm=uniform", "context_norm=max", several with
/// commas (unigram:A,B has its own). UsageError: none of these.
WorkedExample explain(const std::string& name);

/// Row r of a matrix.
inline std::vector<double> row(const Tensor& t, int64_t r) { return t.row_range(r, 1).to_vector(); }

/// The examples themselves.
WorkedExample explain_kernel(const Score& score);
WorkedExample explain_softmax();
WorkedExample explain_mixture();
WorkedExample explain_layer_norm();
WorkedExample explain_lstm();
WorkedExample explain_attention();
/// A margin or a norm: "cos:0.3", or with its option's name "word_norm uniform".
WorkedExample explain_margin(const Margin& margin, const WordNorm& word,
                             const ContextNorm& context);

}  // namespace nine::app
