// CUDA's implementations, by the names and signatures of core/ops.h. Shapes and types were checked
// there.
#pragma once

#include "core/op_table.h"

namespace nine::cuda {

// Declared with the table's own types, so that a signature that drifts does not compile.
#define NINE_CUDA_OP(name) std::remove_pointer_t<decltype(OpTable::name)> name
NINE_CUDA_OP(fill);
NINE_CUDA_OP(convert);
NINE_CUDA_OP(all_finite);
NINE_CUDA_OP(unary);
NINE_CUDA_OP(unary_backward);
NINE_CUDA_OP(binary);
NINE_CUDA_OP(scale);
NINE_CUDA_OP(column_sums);
NINE_CUDA_OP(sum);
NINE_CUDA_OP(sum_squares);
NINE_CUDA_OP(matmul);
NINE_CUDA_OP(linear);
NINE_CUDA_OP(embedding);
NINE_CUDA_OP(embedding_with_positions);
NINE_CUDA_OP(embedding_backward);
NINE_CUDA_OP(dropout);
NINE_CUDA_OP(dropout_words);
NINE_CUDA_OP(bias_dropout_add);
NINE_CUDA_OP(layer_norm);
NINE_CUDA_OP(layer_norm_backward);
NINE_CUDA_OP(lstm);
void lstm_through_time(const ops::Lstm& io, const ops::LstmGradients& g, const View& dh,
                       const View& dc, Arena& arena);
NINE_CUDA_OP(attention);
NINE_CUDA_OP(attention_backward);
NINE_CUDA_OP(log_softmax);
NINE_CUDA_OP(log_softmax_backward);
NINE_CUDA_OP(nll);
NINE_CUDA_OP(nll_backward);
NINE_CUDA_OP(head_stats);
NINE_CUDA_OP(head_stats_backward);
NINE_CUDA_OP(head_scores);
NINE_CUDA_OP(head_loss);
NINE_CUDA_OP(head_gradients);
NINE_CUDA_OP(head_inference);
NINE_CUDA_OP(prior_penalty);
NINE_CUDA_OP(row_norm_penalty);
NINE_CUDA_OP(row_norm_penalty_backward);
NINE_CUDA_OP(adam);
NINE_CUDA_OP(sgd);
NINE_CUDA_OP(average);
#undef NINE_CUDA_OP

}  // namespace nine::cuda
