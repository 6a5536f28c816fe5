// The names of all ops that a device implements, written once. This list generates all code with
// one line per op: the members of OpTable (core/op_table.h), the declarations of the CPU's and of
// CUDA's implementations (core/cpu/cpu.h, cuda/ops.cuh) and the two filled tables
// (core/cpu/table.cpp, cuda/table.cu). core/ops.h and core/array_ops.h declare and document the
// functions.
// kernels/op_list.h lists the ops of the output layer.
//
//   #define PRINT(name) std::puts(#name);
//   NINE_FOR_EACH_OP(PRINT)
#pragma once

#define NINE_FOR_EACH_OP(OP)    \
  OP(fill)                      \
  OP(fill_rows)                 \
  OP(copy)                      \
  OP(all_finite)                \
  OP(unary)                     \
  OP(unary_backward)            \
  OP(gated)                     \
  OP(gated_backward)            \
  OP(binary)                    \
  OP(scale)                     \
  OP(column_sums)               \
  OP(sum)                       \
  OP(sum_squares)               \
  OP(matmul)                    \
  OP(linear)                    \
  OP(embedding)                 \
  OP(embedding_with_positions)  \
  OP(embedding_backward)        \
  OP(dropout)                   \
  OP(dropout_words)             \
  OP(bias_dropout_add)          \
  OP(layer_norm)                \
  OP(layer_norm_backward)       \
  OP(rms_norm)                  \
  OP(rms_norm_backward)         \
  OP(rotary)                    \
  OP(lstm)                      \
  OP(lstm_through_time)         \
  OP(attention)                 \
  OP(attention_backward)        \
  OP(listed_attention)          \
  OP(log_softmax)               \
  OP(log_softmax_backward)      \
  OP(nll)                       \
  OP(nll_backward)              \
  OP(update)                    \
  OP(average)                   \
  OP(convert)                   \
  OP(copy_strided)              \
  OP(broadcast_binary)          \
  OP(broadcast_binary_backward) \
  OP(compare)                   \
  OP(select)                    \
  OP(reduce)                    \
  OP(reduce_backward)           \
  OP(arg_reduce)                \
  OP(take)                      \
  OP(take_backward)             \
  OP(cumsum)                    \
  OP(sort)                      \
  OP(gru_cell)                  \
  OP(gru_cell_backward)         \
  OP(im2col)                    \
  OP(col2im)                    \
  OP(transpose_blocks)          \
  OP(max_pool)                  \
  OP(max_pool_backward)         \
  OP(avg_pool)                  \
  OP(avg_pool_backward)         \
  OP(channel_norm)              \
  OP(channel_norm_backward)     \
  OP(logistic_loss)             \
  OP(logistic_loss_backward)
