#include "kernels/loss/cpu/head_gradient_pieces.h"

#include "core/scratch.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

bf16::Factor moved(const bf16::Factor& f, int64_t by) {
  bf16::Factor out = f;
  out.x += by;
  return out;
}

// Packs a factor into this thread's scratch memory.
template <class Pack>
bf16::Packed packed(Pack&& pack, Scratch where, const bf16::Factor& f, int64_t count, int64_t k,
                    int pieces) {
  const bf16::Layout layout = bf16::layout_of(k, pieces);
  auto* tiles = scratch<uint16_t>(where, bf16::packed_size(count, k, pieces));
  return {tiles, layout, pack(f, count, k, layout, tiles), f};
}

}  // namespace

void GradientPieces::pack_contexts(const StackedComponents<float>& stack, Arena& arena) {
  static_assert(kHeadPanel == bf16::kDepth, "a panel's rows are one block of terms");
  pieces_ = stack.pieces();
  int64_t groups = 0;
  for (int64_t k = 0; k < stack.size(); ++k)
    groups = std::max(groups, stack[k].kernel.parts * bf16::groups(stack[k].kernel.product_dims));
  const int64_t panels = stack.panels();
  layout_ = {pieces_ * bf16::kTile, groups * pieces_ * bf16::kTile, pieces_};
  contexts_ = pool_array<uint16_t>(arena, stack.size() * panels * layout_.block_stride);
  auto* largest = pool_array<uint32_t>(arena, stack.size() * panels);
  parallel_for(
      stack.size() * panels,
      [&](int64_t stacked_panel) {
        const int64_t k = stacked_panel / panels, panel = stacked_panel % panels;
        const HeadKernel<float>& kernel = stack[k].kernel;
        largest[stacked_panel] = 0;
        for (int64_t j = 0; j < kernel.parts; ++j) {
          const bf16::Factor h{.x = stack.context(k, panel * kHeadPanel) + j * kernel.part_size,
                               .ld = stack.block().h.ld,
                               .contiguous_terms = false};
          uint16_t* tiles = contexts_ + stacked_panel * layout_.block_stride +
                            j * bf16::groups(kernel.product_dims) * layout_.group_stride;
          largest[stacked_panel] =
              std::max(largest[stacked_panel],
                       bf16::loops()->pack_right(h, kernel.product_dims, stack.rows_of(panel),
                                                 layout_, tiles));
        }
      },
      8.0 * static_cast<double>(stack.block().h.elements()));
  largest_ = *std::max_element(largest, largest + stack.size() * panels);
}

void GradientPieces::add_dw(const StackedComponent<float>& c, const bf16::Factor& h, int64_t rows,
                            const bf16::Factor& gradients, int64_t plane, const Rows& dw) const {
  const HeadKernel<float>& kernel = c.kernel;
  for (int64_t i = 0; i < kernel.parts; ++i)
    for (int64_t j = 0; j < kernel.parts; ++j) {
      const bf16::Packed g =
          packed(bf16::loops()->pack_left, Scratch::packed_left,
                 moved(gradients, (i * kernel.parts + j) * plane), dw.count, rows, pieces_);
      const uint16_t* contexts = contexts_ + c.first_panel * layout_.block_stride +
                                 j * bf16::groups(kernel.product_dims) * layout_.group_stride;
      bf16::multiply({.left = g,
                      .right = {contexts, layout_, largest_, moved(h, j * kernel.part_size)},
                      .m = dw.count,
                      .n = kernel.product_dims,
                      .k = rows,
                      .c = dw.x + i * kernel.part_size,
                      .ldc = dw.ld,
                      .add = dw.add || j > 0});
    }
}

void GradientPieces::add_dh(const StackedComponent<float>& c, const bf16::Factor& w, int64_t words,
                            const bf16::Factor& gradients, int64_t plane, const Rows& dh) const {
  const HeadKernel<float>& kernel = c.kernel;
  for (int64_t i = 0; i < kernel.parts; ++i) {
    const bf16::Packed part =
        packed(bf16::loops()->pack_right, Scratch::packed_right, moved(w, i * kernel.part_size),
               kernel.product_dims, words, pieces_);
    for (int64_t j = 0; j < kernel.parts; ++j)
      bf16::multiply({.left = packed(bf16::loops()->pack_left, Scratch::packed_left,
                                     moved(gradients, (i * kernel.parts + j) * plane), dh.count,
                                     words, pieces_),
                      .right = part,
                      .m = dh.count,
                      .n = kernel.product_dims,
                      .k = words,
                      .c = dh.x + j * kernel.part_size,
                      .ldc = dh.ld,
                      .add = dh.add || i > 0});
  }
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
