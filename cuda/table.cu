// CUDA's op table.
#include "core/error.h"
#include "cuda/cuda.h"
#include "cuda/device.cuh"
#include "cuda/ops.cuh"

namespace nine::cuda {

void install() {
  install_op_table(DeviceKind::cuda, {.allocate = allocate,
                                      .release = release,
                                      .available = available,
                                      .clear = clear,
                                      .copy = copy,
                                      .fill = fill,
                                      .convert = convert,
                                      .all_finite = all_finite,
                                      .unary = unary,
                                      .unary_backward = unary_backward,
                                      .binary = binary,
                                      .scale = scale,
                                      .column_sums = column_sums,
                                      .sum = sum,
                                      .sum_squares = sum_squares,
                                      .matmul = matmul,
                                      .linear = linear,
                                      .embedding = embedding,
                                      .embedding_with_positions = embedding_with_positions,
                                      .embedding_backward = embedding_backward,
                                      .dropout = dropout,
                                      .dropout_words = dropout_words,
                                      .bias_dropout_add = bias_dropout_add,
                                      .layer_norm = layer_norm,
                                      .layer_norm_backward = layer_norm_backward,
                                      .lstm = lstm,
                                      .lstm_through_time = lstm_through_time,
                                      .attention = attention,
                                      .attention_backward = attention_backward,
                                      .log_softmax = log_softmax,
                                      .log_softmax_backward = log_softmax_backward,
                                      .nll = nll,
                                      .nll_backward = nll_backward,
                                      .head_stats = head_stats,
                                      .head_stats_backward = head_stats_backward,
                                      .head_scores = head_scores,
                                      .head_loss = head_loss,
                                      .head_gradients = head_gradients,
                                      .head_inference = head_inference,
                                      .prior_penalty = prior_penalty,
                                      .row_norm_penalty = row_norm_penalty,
                                      .row_norm_penalty_backward = row_norm_penalty_backward,
                                      .adam = adam,
                                      .sgd = sgd,
                                      .average = average});
}

bool built() { return true; }
int devices() { return visible_devices(nullptr); }

}  // namespace nine::cuda
