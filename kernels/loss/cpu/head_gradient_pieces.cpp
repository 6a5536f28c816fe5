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

namespace {

void clear(const Rows& rows, int64_t columns) {
  for (int64_t r = 0; r < rows.count; ++r) std::fill_n(rows.x + r * rows.ld, columns, 0.0f);
}

// Returns a factor from a block of terms on.
bf16::Factor from_block(const bf16::Factor& f, int64_t block) {
  return moved(f, block * bf16::kDepth * (f.contiguous_terms ? 1 : f.ld));
}

// A list of blocks of terms, in this thread's scratch memory.
class BlockList {
 public:
  explicit BlockList(int64_t most) : blocks_(scratch<int32_t>(Scratch::kept_blocks, most)) {}
  void clear() { count_ = 0; }
  void add(int64_t block) { blocks_[count_++] = static_cast<int32_t>(block); }
  int64_t size() const { return count_; }
  int64_t operator[](int64_t i) const { return blocks_[i]; }
  const int32_t* data() const { return blocks_; }

 private:
  int32_t* blocks_;
  int64_t count_ = 0;
};

// Multiplies the listed blocks of the left factor, which has `terms` terms, by the same blocks of
// p.right. Packs the left factor's blocks side by side. Without blocks the product is 0.
void multiply_blocks(bf16::Product p, const bf16::Factor& left, int64_t terms,
                     const BlockList& blocks, int pieces) {
  const auto terms_of = [&](int64_t i) {
    return std::min(bf16::kDepth, terms - blocks[i] * bf16::kDepth);
  };
  if (blocks.size() == 0) {
    if (!p.add) clear({p.c, p.ldc, p.m, false}, p.n);
    return;
  }
  p.k = blocks.size() * bf16::kDepth;
  p.left.layout = bf16::layout_of(p.k, pieces);
  auto* const tiles = scratch<uint16_t>(Scratch::packed_left, bf16::packed_size(p.m, p.k, pieces));
  p.left.tiles = tiles;
  for (int64_t i = 0; i < blocks.size(); ++i)
    p.left.largest =
        std::max(p.left.largest,
                 bf16::loops()->pack_left(from_block(left, blocks[i]), p.m, terms_of(i),
                                          p.left.layout, tiles + i * p.left.layout.block_stride));
  p.right_blocks = blocks.data();
  if (bf16::fits(p.left.largest, p.right.largest, p.k)) return bf16::loops()->multiply(p);
  // bf16::multiply() computes products of numbers that are too large from their sources, which have
  // no lists of blocks.
  for (int64_t i = 0; i < blocks.size(); ++i) {
    bf16::Product one = p;
    one.right_blocks = nullptr;
    one.left.tiles += i * p.left.layout.block_stride;
    one.left.source = from_block(left, blocks[i]);
    one.right.tiles += blocks[i] * p.right.layout.block_stride;
    one.right.source = from_block(p.right.source, blocks[i]);
    one.k = terms_of(i);
    one.add = p.add || i > 0;
    bf16::multiply(one);
  }
}

}  // namespace

void GradientPieces::add_dw(const StackedComponent<float>& c, const bf16::Factor& h, int64_t rows,
                            const bf16::Factor& gradients, int64_t plane, const Rows& dw,
                            const KeptTiles& kept) const {
  const HeadKernel<float>& kernel = c.kernel;
  for (int64_t i = 0; i < kernel.parts; ++i)
    for (int64_t j = 0; j < kernel.parts; ++j) {
      const int64_t column = (i * kernel.parts + j) * plane;
      const bf16::Factor part = moved(gradients, column);
      const uint16_t* contexts = contexts_ + c.first_panel * layout_.block_stride +
                                 j * bf16::groups(kernel.product_dims) * layout_.group_stride;
      bf16::Product p{.right = {contexts, layout_, largest_, moved(h, j * kernel.part_size)},
                      .m = dw.count,
                      .n = kernel.product_dims,
                      .k = rows,
                      .c = dw.x + i * kernel.part_size,
                      .ldc = dw.ld,
                      .add = dw.add || j > 0};
      if (!kept.from(column).all(tiles_of(dw.count), panels_of(rows))) {
        add_dw_tiles(p, part, kept.from(column));
        continue;
      }
      p.left =
          packed(bf16::loops()->pack_left, Scratch::packed_left, part, dw.count, rows, pieces_);
      bf16::multiply(p);
    }
}

// Computes the same for the tiles that are kept. A panel is a block of terms.
void GradientPieces::add_dw_tiles(const bf16::Product& all, const bf16::Factor& gradients,
                                  const KeptTiles& kept) const {
  BlockList blocks(panels_of(all.k));
  for (int64_t word = 0; word < all.m; word += kHeadTile) {
    blocks.clear();
    for (int64_t panel = 0; panel < panels_of(all.k); ++panel)
      if (kept.kept(word / kHeadTile, panel)) blocks.add(panel);
    bf16::Product p = all;
    p.m = std::min(kHeadTile, all.m - word);
    p.c += word * all.ldc;
    multiply_blocks(p, moved(gradients, word * gradients.ld), all.k, blocks, pieces_);
  }
}

void GradientPieces::add_dh(const StackedComponent<float>& c, const bf16::Factor& w, int64_t words,
                            const bf16::Factor& gradients, int64_t plane, const Rows& dh,
                            const KeptTiles& kept) const {
  const HeadKernel<float>& kernel = c.kernel;
  for (int64_t i = 0; i < kernel.parts; ++i) {
    const int64_t columns = i * kernel.parts * plane;  // the first of the part's planes
    const KeptTiles of_part = kept.from(columns);
    const bf16::Factor source = moved(w, i * kernel.part_size);
    const bool all = of_part.all(tiles_of(words), kernel.parts * plane / kHeadPanel);
    const bf16::Packed part =
        all ? packed(bf16::loops()->pack_right, Scratch::packed_right, source, kernel.product_dims,
                     words, pieces_)
            : pack_words(source, kernel.product_dims, words, kernel.parts * plane, of_part);
    for (int64_t j = 0; j < kernel.parts; ++j) {
      const bf16::Factor g = moved(gradients, columns + j * plane);
      bf16::Product p{.right = part,
                      .m = dh.count,
                      .n = kernel.product_dims,
                      .k = words,
                      .c = dh.x + j * kernel.part_size,
                      .ldc = dh.ld,
                      .add = dh.add || i > 0};
      if (!all) {
        add_dh_tiles(p, g, of_part.from(j * plane));
        continue;
      }
      p.left = packed(bf16::loops()->pack_left, Scratch::packed_left, g, dh.count, words, pieces_);
      bf16::multiply(p);
    }
  }
}

// Packs the words of the tiles that any of the columns keeps, at the places that they have if all
// tiles are kept.
bf16::Packed GradientPieces::pack_words(const bf16::Factor& w, int64_t dims, int64_t words,
                                        int64_t columns, const KeptTiles& kept) const {
  const bf16::Layout layout = bf16::layout_of(words, pieces_);
  auto* const tiles =
      scratch<uint16_t>(Scratch::packed_right, bf16::packed_size(dims, words, pieces_));
  uint32_t largest = 0;
  for (int64_t word = 0; word < words; word += kHeadTile) {
    bool any = false;
    for (int64_t panel = 0; panel < columns / kHeadPanel && !any; ++panel)
      any = kept.kept(word / kHeadTile, panel);
    if (!any) continue;
    const int64_t block = word / bf16::kDepth;
    largest = std::max(largest, bf16::loops()->pack_right(from_block(w, block), dims,
                                                          std::min(kHeadTile, words - word), layout,
                                                          tiles + block * layout.block_stride));
  }
  return {tiles, layout, largest, w};
}

// Computes dH of one plane for the tiles that are kept, panel by panel.
void GradientPieces::add_dh_tiles(const bf16::Product& all, const bf16::Factor& gradients,
                                  const KeptTiles& kept) const {
  BlockList blocks(bf16::blocks(all.k));
  for (int64_t row = 0; row < all.m; row += kHeadPanel) {
    blocks.clear();
    for (int64_t block = 0; block < bf16::blocks(all.k); ++block)
      if (kept.kept(block * bf16::kDepth / kHeadTile, row / kHeadPanel)) blocks.add(block);
    bf16::Product p = all;
    p.m = std::min(kHeadPanel, all.m - row);
    p.c += row * all.ldc;
    multiply_blocks(p, moved(gradients, row), all.k, blocks, pieces_);
  }
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
