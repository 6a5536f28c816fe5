// The CPU's implementations, by the names and signatures of core/ops.h. Shapes and types were
// checked there.
#pragma once

#include "core/op_table.h"

namespace nine::cpu {

// Declared with the table's own types, so that a signature that drifts does not compile.
#define NINE_CPU_OP(name) std::remove_pointer_t<decltype(OpTable::name)> name
NINE_CPU_OP(fill);
NINE_CPU_OP(convert);
NINE_CPU_OP(all_finite);
NINE_CPU_OP(unary);
NINE_CPU_OP(unary_backward);
NINE_CPU_OP(binary);
NINE_CPU_OP(scale);
NINE_CPU_OP(column_sums);
NINE_CPU_OP(sum);
NINE_CPU_OP(sum_squares);
NINE_CPU_OP(matmul);
NINE_CPU_OP(linear);
NINE_CPU_OP(embedding);
NINE_CPU_OP(embedding_with_positions);
NINE_CPU_OP(embedding_backward);
NINE_CPU_OP(dropout);
NINE_CPU_OP(dropout_words);
NINE_CPU_OP(bias_dropout_add);
NINE_CPU_OP(layer_norm);
NINE_CPU_OP(layer_norm_backward);
NINE_CPU_OP(lstm);
void lstm_through_time(const ops::Lstm& io, const ops::LstmGradients& g, const View& dh,
                       const View& dc, Arena& arena);
NINE_CPU_OP(attention);
NINE_CPU_OP(attention_backward);
NINE_CPU_OP(log_softmax);
NINE_CPU_OP(log_softmax_backward);
NINE_CPU_OP(nll);
NINE_CPU_OP(nll_backward);
NINE_CPU_OP(head_stats);
NINE_CPU_OP(head_stats_backward);
NINE_CPU_OP(head_scores);
NINE_CPU_OP(head_loss);
NINE_CPU_OP(head_gradients);
NINE_CPU_OP(head_inference);
NINE_CPU_OP(prior_penalty);
NINE_CPU_OP(row_norm_penalty);
NINE_CPU_OP(row_norm_penalty_backward);
NINE_CPU_OP(adam);
NINE_CPU_OP(sgd);
NINE_CPU_OP(average);
#undef NINE_CPU_OP

}  // namespace nine::cpu
