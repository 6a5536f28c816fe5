// Lists the head's ops that a device implements, as core/op_list.h lists all other ops. The list
// generates the members of HeadOpTable (kernels/op_table.h), the declarations of the CPU's and
// CUDA's implementations (kernels/cpu/ops.h, kernels/cuda/ops.cuh) and the two filled tables
// (kernels/cpu/table.cpp, kernels/cuda/install_cuda.cu). kernels/ops.h declares and documents the
// functions.
#pragma once

#define NINE_FOR_EACH_HEAD_OP(OP) \
  OP(head_stats)                  \
  OP(head_stats_backward)         \
  OP(head_pieces)                 \
  OP(head_scores)                 \
  OP(head_loss)                   \
  OP(head_gradients)              \
  OP(head_inference)              \
  OP(row_norms)                   \
  OP(largest_norm)                \
  OP(update_running_norm)         \
  OP(running_norm)                \
  OP(set_norms)                   \
  OP(set_norms_backward)          \
  OP(word_scales)                 \
  OP(word_scales_backward)        \
  OP(prior_penalty)               \
  OP(row_norm_penalty)            \
  OP(row_norm_penalty_backward)
