#include "kernels/kernel_softmax.h"

#include <algorithm>

#include "core/ops.h"

namespace nine {
namespace {

// Part of a vector; a view without memory stays one.
View part(const View& v, int64_t begin, int64_t count) {
  if (!v) return v;
  View p = v;
  p.data = static_cast<std::byte*>(v.data) + begin * static_cast<int64_t>(size_of(v.dtype));
  p.shape = Shape{count};
  p.ld = count;
  return p;
}

View matrix(const View& v) { return v.shape.rank() == 2 ? v : v.reshaped({v.rows(), v.cols()}); }

}  // namespace

double LabelSmoothing::spread(int64_t words) const {
  require(epsilon >= 0 && epsilon <= 1, "[kernel_softmax] label smoothing must be in [0, 1], not ", epsilon);
  if (epsilon == 0 || kind == Kind::uniform) return epsilon / static_cast<double>(std::max<int64_t>(1, words));
  require(words > 1, "[kernel_softmax] label smoothing over the other words ('others') needs a second word; use 'uniform'");
  return epsilon / static_cast<double>(words - 1);
}

std::string to_text(LabelSmoothing::Kind kind) { return kind == LabelSmoothing::Kind::uniform ? "uniform" : "others"; }

LabelSmoothing::Kind smoothing_from_text(std::string_view name) {
  if (name == "uniform") return LabelSmoothing::Kind::uniform;
  if (name == "others") return LabelSmoothing::Kind::others;
  throw UsageError(concat("--smoothing ", name, ": uniform or others"));
}

SoftmaxLoss kernel_softmax(const HeadSpec& head, const Var& h, const Var& w, const Var& bias, const Tensor& targets, double row_weight,
                           const LabelSmoothing& smoothing) {
  Tape& tape = h.tape();
  const View contexts = matrix(h.value());
  const int64_t rows = contexts.rows(), vocabulary = w.shape().rows();
  require(rows > 0, "[kernel_softmax] there are no contexts to score");
  const Var loss = tape.result("kernel_softmax", {}, DType::float64, {h, w, bias});
  const Var nll = tape.result("kernel_softmax", {rows}, DType::float64, {});
  const Var dh = tape.result("kernel_softmax", contexts.shape, h.dtype(), {});
  const double spread = smoothing.spread(vocabulary);
  const bool wanted = loss.needs_grad();  // not under NoGrad, whatever w says
  const Sink dw = wanted ? w.sink() : Sink{}, dbias = wanted && bias ? bias.sink() : Sink{};

  Arena& arena = tape.arena();
  const Arena::Scope scope(arena);
  const Tensor lse = arena.temporary({rows}, DType::float64), target_score = arena.temporary({rows}, DType::float64);
  const Tensor score_sum = spread != 0 ? arena.temporary({rows}, DType::float64) : Tensor();
  const ops::HeadSmoothing smoothed{spread, score_sum ? score_sum.view() : View{}};
  const int64_t block_rows = std::min(kHeadBlockRows, (rows + ops::kHeadPanel - 1) / ops::kHeadPanel * ops::kHeadPanel);
  const Tensor scores = wanted ? arena.temporary({vocabulary, block_rows}, h.dtype()) : Tensor();
  const View flat_targets = targets.view().reshaped({rows});

  for (int64_t first = 0; first < rows; first += kHeadBlockRows) {
    const int64_t count = std::min(kHeadBlockRows, rows - first);
    ops::HeadBlock block{.score = head.components.front(),
                         .h = contexts.row_range(first, count),
                         .w = w.value(),
                         .bias = bias ? bias.value().view() : View{},
                         .targets = part(flat_targets, first, count),
                         .scores = {},
                         .lse = part(lse, first, count),
                         .target_score = part(target_score, first, count),
                         .first_row = first,
                         .smoothing = {spread, part(smoothed.score_sum, first, count)}};
    if (scores) block.scores = scores.view().col_range(0, (count + ops::kHeadPanel - 1) / ops::kHeadPanel * ops::kHeadPanel);
    ops::head_scores(block, arena);
    if (!scores) continue;
    const bool later = first > 0;  // further blocks add to what the first one wrote
    ops::head_gradients(block, row_weight, {h.needs_grad() ? dh.value().view().row_range(first, count) : View{}}, {dw.view, dw.add || later},
                        {dbias.view, dbias.add || later}, arena);
  }
  ops::head_loss(lse, target_score, flat_targets, row_weight, smoothed, vocabulary, nll.value(), {loss.value()});

  tape.record(loss, [h, dh, loss] {
    const double upstream = loss.upstream().item();
    require(upstream == 1, "[kernel_softmax] the head forms its gradients on the way forward, so the loss must reach backward with weight 1, not ",
            upstream, ": give the weight as row_weight");
    if (h.needs_grad()) ops::scale(1, dh.value().view().reshaped(h.shape()), h.sink());
  });
  return {loss, nll};
}

Tensor log_probabilities(const HeadSpec& head, const Var& h, const Var& w, const Var& bias) {
  const View contexts = matrix(h.value());
  const int64_t rows = contexts.rows(), vocabulary = w.shape().rows();
  require(rows > 0, "[log_probabilities] there are no contexts to score");
  Arena& arena = h.tape().arena();
  Tensor out({rows, vocabulary}, DType::float64);
  double* log_p = out.data<double>();
  // Panel by panel: lanes of a panel are computed alike, whichever of them are in use.
  for (int64_t first = 0; first < rows; first += ops::kHeadPanel) {
    const int64_t count = std::min(ops::kHeadPanel, rows - first);
    const Arena::Scope scope(arena);
    const Tensor lse = arena.temporary({count}, DType::float64), target_score = arena.temporary({count}, DType::float64);
    const Tensor targets = arena.temporary({count}, DType::int32), scores = arena.temporary({vocabulary, ops::kHeadPanel}, h.dtype());
    ops::fill(targets, -1);
    ops::head_scores({.score = head.components.front(),
                      .h = contexts.row_range(first, count),
                      .w = w.value(),
                      .bias = bias ? bias.value().view() : View{},
                      .targets = targets,
                      .scores = scores,
                      .lse = lse,
                      .target_score = target_score,
                      .first_row = first},
                     arena);
    const std::vector<double> s = scores.to_vector(), normaliser = lse.to_vector();
    for (int64_t v = 0; v < vocabulary; ++v)
      for (int64_t r = 0; r < count; ++r)
        log_p[(first + r) * vocabulary + v] = s[static_cast<size_t>(v * ops::kHeadPanel + r)] - normaliser[static_cast<size_t>(r)];
  }
  return out;
}

}  // namespace nine
