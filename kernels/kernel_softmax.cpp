#include "kernels/kernel_softmax.h"

#include <algorithm>

#include "core/ops.h"
#include "kernels/head_blocks.h"

namespace nine {

std::string to_text(HeadMemory m) { return m == HeadMemory::blocks ? "blocks" : "tiles"; }

HeadMemory head_memory_from_text(std::string_view name) {
  if (name == "blocks") return HeadMemory::blocks;
  if (name == "tiles") return HeadMemory::tiles;
  throw UsageError(concat("--head-memory ", name, ": blocks or tiles"));
}

namespace {

// Whether any gradient of the head is wanted, and its scalar result.
Var loss_of(Tape& tape, const Var& h, const HeadWeights& weights) {
  const Var others[] = {h, weights.bias, weights.prior, weights.latent};
  const bool wanted =
      std::any_of(weights.w.begin(), weights.w.end(), [](const Var& w) { return w.needs_grad(); });
  return tape.result("kernel_softmax", {}, DType::float64,
                     wanted ? std::span<const Var>(weights.w) : std::span<const Var>(others));
}

}  // namespace

SoftmaxLoss kernel_softmax(const HeadSpec& head, const Var& h, const HeadWeights& weights,
                           const Tensor& targets, double row_weight, const HeadLoss& options) {
  Tape& tape = h.tape();
  SoftmaxLoss out{.loss = loss_of(tape, h, weights)};
  const bool wanted = out.loss.needs_grad();  // not under NoGrad, whatever the weights say
  HeadBlocks pass("kernel_softmax", head, h, weights, wanted);
  const int64_t rows = pass.rows(), size = pass.size();
  out.nll = tape.result("kernel_softmax", {rows}, DType::float64, {});
  if (pass.mixture()) {
    out.prior = tape.result("kernel_softmax", {rows, size}, h.dtype(), {});
    out.share = tape.result("kernel_softmax", {size, rows}, DType::float64, {});
  }
  const Var dh = wanted && h.needs_grad()
                     ? tape.result("kernel_softmax", {rows, h.shape().cols()}, h.dtype(), {})
                     : Var();

  Arena& arena = tape.arena();
  {
    const Arena::Scope scope(arena);
    pass.start(targets, options.smoothing.spread(pass.words()), options.memory,
               out.prior ? out.prior.value().view() : View{}, dh ? dh.value().view() : View{});
    pass.for_blocks([&](const ops::HeadBlock& block, int64_t first) {
      const int64_t count = block.rows();
      ops::head_scores(block, arena);
      ops::head_loss(block, row_weight, vector_part(out.nll.value(), first, count),
                     {out.loss.value(), first > 0},
                     pass.dlogits() ? pass.dlogits().row_range(first, count) : View{}, arena);
      if (out.share)
        ops::copy(block.share.reshaped({size, count}),
                  out.share.value().view().col_range(first, count));
      if (wanted) pass.add_gradients(block, row_weight);
    });
    if (out.prior && options.prior.strength != 0)
      ops::prior_penalty(options.prior.kind, options.prior.strength, out.prior.value(),
                         targets.view().reshaped({rows}), row_weight, out.loss.value(),
                         pass.dlogits());
    if (wanted) pass.finish_gradients();
  }

  const Var loss = out.loss;
  tape.record(loss, [h, dh, loss] {
    const double grad_output = loss.grad_output().item();
    require(grad_output == 1,
            "[kernel_softmax] the head forms its gradients on the way forward, so the loss must "
            "reach backward with weight 1, not ",
            grad_output, ": give the weight as row_weight");
    if (dh) ops::scale(1, dh.value().view().reshaped(h.shape()), h.grad_input());
  });
  return out;
}

}  // namespace nine
