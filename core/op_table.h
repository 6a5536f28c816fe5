// One table of function pointers a device: what a backend has to provide. The signatures are those
// of core/ops.h, so that an op is declared once. core fills the CPU's table; cuda::install() fills
// its own.
#pragma once

#include "core/device.h"
#include "core/ops.h"

namespace nine {

struct OpTable {
  // Memory of the device; `index` is the card.
  void* (*allocate)(size_t bytes,
                    int index) = nullptr;  ///< 64-byte aligned; an Error when there is none
  void (*release)(void* p, int index) = nullptr;
  size_t (*available)(int index) = nullptr;  ///< bytes that a pool may take
  void (*clear)(void* p, size_t bytes, int index) = nullptr;
  /// Bytes from x to y, same shape and dtype, where one side is this device and the other this
  /// device or the CPU.
  void (*copy)(const View& x, const View& y) = nullptr;

  decltype(&ops::fill) fill = nullptr;
  decltype(&ops::copy) convert = nullptr;
  decltype(&ops::all_finite) all_finite = nullptr;
  decltype(&ops::unary) unary = nullptr;
  decltype(&ops::unary_backward) unary_backward = nullptr;
  decltype(&ops::binary) binary = nullptr;
  decltype(&ops::scale) scale = nullptr;
  decltype(&ops::column_sums) column_sums = nullptr;
  decltype(&ops::sum) sum = nullptr;
  decltype(&ops::sum_squares) sum_squares = nullptr;
  decltype(&ops::matmul) matmul = nullptr;
  decltype(&ops::linear) linear = nullptr;
  decltype(&ops::embedding) embedding = nullptr;
  decltype(&ops::embedding_with_positions) embedding_with_positions = nullptr;
  decltype(&ops::embedding_backward) embedding_backward = nullptr;
  decltype(&ops::dropout) dropout = nullptr;
  decltype(&ops::dropout_words) dropout_words = nullptr;
  decltype(&ops::bias_dropout_add) bias_dropout_add = nullptr;
  decltype(&ops::layer_norm) layer_norm = nullptr;
  decltype(&ops::layer_norm_backward) layer_norm_backward = nullptr;
  decltype(&ops::lstm) lstm = nullptr;
  /// The part of ops::lstm_backward that runs over time: the gates' gradients in place of io.gates;
  /// dc (B, H) comes as that of c_T and becomes that of c_0; dh (B, H) is room, and becomes that of
  /// h_0 where g.dh0 has memory.
  void (*lstm_through_time)(const ops::Lstm& io, const ops::LstmGradients& g, const View& dh,
                            const View& dc, Arena& arena) = nullptr;
  decltype(&ops::attention) attention = nullptr;
  decltype(&ops::attention_backward) attention_backward = nullptr;
  decltype(&ops::log_softmax) log_softmax = nullptr;
  decltype(&ops::log_softmax_backward) log_softmax_backward = nullptr;
  decltype(&ops::nll) nll = nullptr;
  decltype(&ops::nll_backward) nll_backward = nullptr;
  decltype(&ops::head_stats) head_stats = nullptr;
  decltype(&ops::head_stats_backward) head_stats_backward = nullptr;
  decltype(&ops::head_scores) head_scores = nullptr;
  decltype(&ops::head_loss) head_loss = nullptr;
  decltype(&ops::head_gradients) head_gradients = nullptr;
  decltype(&ops::head_inference) head_inference = nullptr;
  decltype(&ops::prior_penalty) prior_penalty = nullptr;
  decltype(&ops::row_norm_penalty) row_norm_penalty = nullptr;
  decltype(&ops::row_norm_penalty_backward) row_norm_penalty_backward = nullptr;
  decltype(&ops::adam) adam = nullptr;
  decltype(&ops::sgd) sgd = nullptr;
  decltype(&ops::average) average = nullptr;
};

/// The table of a device; an Error when its backend was not installed.
const OpTable& op_table(Device device);
/// For backends: makes `table` the one of this kind of device.
void install_op_table(DeviceKind kind, const OpTable& table);

}  // namespace nine
