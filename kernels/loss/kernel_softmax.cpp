// The loss, block by block. The drawing, which docs/architecture.md, "How the loss is cut", has
// too, says how; z are products of words and contexts, and folders are those of kernels/.
//
//   rows: the N contexts of a batch     columns: the V words of the vocabulary
//
//     N rows        a block's stack                 16 chunks of words
//   +-------+   +-------------+---------+   +-------------+-------------+--   --+
//   | block |   | component 0 | panel 0 |   |   chunk 0   |   chunk 1   |  ...  |
//   +-------+   |             | panel 1 |   +------+------+------+------+--   --+  the scores
//   | block |-->+-------------+---------+-->| tile | tile | tile | tile |  ...  |  of a panel
//   +-------+   | component 1 | panel 0 |   +------+------+------+------+--   --+
//   | block |   |             | panel 1 |
//   +-------+   +-------------+---------+   a tile in memory: [64 words][32 lanes], a lane a row
//
//   name        how large                                   whose it is
//   rows        N contexts, each with a target              the caller of kernel_softmax
//    group      blocks whose tanh(C_k' h) are made at once  HeadBlocks (loss/)
//     block     R rows: 576 / K; untied, 128 MiB of z;      HeadBlocks makes it;
//               on a GPU 512 MiB of z; whole panels         ops::HeadBlock (ops.h) describes it
//      stack    K components of R rows in whole panels      StackedComponents (loss/cpu/)
//       panel   32 rows of one component                    kHeadPanel (ops.h)
//        lane   1 row: a SIMD lane, or a thread of a warp   HeadLanes (scores/cpu/)
//   words       V                                           the caller
//    chunk      V / 16, whole tiles; a task with own sums   kHeadChunks (ops.h)
//     strip     1 tile; 4 with bfloat16 pieces              StackedComponents::strip_words
//      tile     64 words by one panel                       kHeadTile (ops.h), HeadTile (scores/)
//
//   CUDA has a stack of its own (loss/cuda/) and cuts the words otherwise:
//    run        all V if products are kept, else 64 MiB     StackedComponents::for_runs
//     split     512 words with sums of their own            kSplitWords (scores/cuda/)
//      tile     64 words by a chunk of up to 8 panels       kTileWords, kChunkPanels (there)
#include "kernels/loss/kernel_softmax.h"

#include <algorithm>

#include "core/least_memory.h"
#include "core/ops.h"
#include "kernels/loss/head_blocks.h"
#include "kernels/ops.h"

namespace nine {

namespace {

// Makes the scalar loss on the tape. It needs a gradient if the contexts or any weight do.
Var loss_of(Tape& tape, const Var& h, const HeadWeights& weights) {
  const auto needs_grad = [](std::span<const Var> all) {
    return std::any_of(all.begin(), all.end(), [](const Var& w) { return w.needs_grad(); });
  };
  const Var others[] = {h, weights.bias, weights.prior, weights.latent};
  return tape.result("kernel_softmax", {}, DType::float64,
                     needs_grad(weights.w)         ? std::span<const Var>(weights.w)
                     : needs_grad(weights.numbers) ? std::span<const Var>(weights.numbers)
                                                   : std::span<const Var>(others));
}

}  // namespace

SoftmaxLoss kernel_softmax(const HeadSpec& head, const Var& h, const HeadWeights& weights,
                           const Tensor& targets, double row_weight, const HeadLoss& options,
                           const SoftmaxRows& own) {
  Tape& tape = h.tape();
  SoftmaxLoss out{.loss = loss_of(tape, h, weights)};
  const bool needs_grad = out.loss.needs_grad();  // false under NoGrad
  HeadBlocks blocks("kernel_softmax", head, h, weights, needs_grad);
  const int64_t rows = blocks.rows(), size = blocks.size();
  require(!own.factor || options.prior.strength == 0,
          "[kernel_softmax] factors of rows do not go with a penalty on the prior: set the penalty "
          "to 0");
  require(
      !own.left_out ||
          (own.left_out.shape() == Shape{4} && own.left_out.dtype() == DType::float64 &&
           own.left_out.device() == tape.arena().device()),
      "[kernel_softmax] left_out of SoftmaxRows must be 4 float64 numbers on the head's device, "
      "got ",
      own.left_out.shape());
  require(!own.lse || own.lse.shape() == Shape{size, rows},
          "[kernel_softmax] lse of SoftmaxRows "
          "must be (",
          size, ", ", rows, "), got ", own.lse.shape());
  out.nll = tape.result("kernel_softmax", {rows}, DType::float64, {});
  if (blocks.mixture()) {
    out.prior = tape.result("kernel_softmax", {rows, size}, h.dtype(), {});
    out.share = tape.result("kernel_softmax", {size, rows}, DType::float64, {});
  }
  // The gradient of the contexts is a result that backward adds, or is written in place.
  Var dh;
  View dh_rows;
  if (needs_grad && h.needs_grad()) {
    const OutputView in_place = LeastMemory::wanted() ? h.grad_input() : OutputView{};
    if (in_place.view && !in_place.add) {
      dh_rows = in_place.view.reshaped({rows, h.shape().cols()});
    } else {
      dh = tape.result("kernel_softmax", {rows, h.shape().cols()}, h.dtype(), {});
      dh_rows = dh.value().view();
    }
  }

  Arena& arena = tape.arena();
  {
    const Arena::Scope scope(arena);
    blocks.start(targets, options.for_block(blocks.words()), options.memory, options.block_rows,
                 out.prior ? out.prior.value().view() : View{}, dh_rows);
    blocks.set_rows(own.factor.view(), own.loss.view());
    blocks.set_left_out(own.left_out.view());
    blocks.for_blocks([&](const ops::HeadBlock& block, int64_t first) {
      const int64_t count = block.rows();
      ops::head_scores(block, arena);
      ops::head_loss(block, row_weight, vector_part(out.nll.value(), first, count),
                     {out.loss.value(), first > 0},
                     blocks.dlogits() ? blocks.dlogits().row_range(first, count) : View{}, arena);
      if (out.share)
        ops::copy(block.share.reshaped({size, count}),
                  out.share.value().view().col_range(first, count));
      if (own.lse)
        ops::copy(block.lse.reshaped({size, count}), own.lse.view().col_range(first, count));
      if (needs_grad) blocks.add_gradients(block, row_weight);
    });
    if (out.prior && options.prior.strength != 0)
      ops::prior_penalty(options.prior.kind, options.prior.strength, out.prior.value(),
                         targets.view().reshaped({rows}), row_weight, out.loss.value(),
                         blocks.dlogits());
    if (needs_grad) blocks.finish_gradients();
  }

  const Var loss = out.loss;
  tape.record(loss, [h, dh, loss] {
    const double grad_output = loss.grad_output().item();
    require(grad_output == 1,
            "[kernel_softmax] the gradients are computed in the forward pass, so in backward the "
            "gradient of this loss must be 1, not ",
            grad_output, ": scale the loss by row_weight instead");
    if (dh) ops::scale(1, dh.value().view().reshaped(h.shape()), h.grad_input());
  });
  return out;
}

}  // namespace nine
