// Losses that take little memory besides their gradients.
#pragma once

namespace nine {

/// While an object exists, each kernel_softmax() that its thread calls on a CPU and that computes
/// gradients takes less working memory. In blocks of contexts (N contexts, V words that all
/// components share, vectors of d numbers, K components):
///  - the products of the first block lie in the memory of the word vectors' gradient, if that is
///    written and not added to. The block has up to d / K contexts;
///  - further blocks have 4 MiB of products, or one panel of contexts (ops::kHeadPanel) if that is
///    more. With products of bfloat16 pieces they have head_block_rows();
///  - each thread has one partial sum of the contexts' gradients, in place of one for each chunk of
///    words (ops::kHeadChunks).
/// HeadMemory::tiles keeps no products here either. Gradients are added in another order than
/// without the object, so their last bits differ; they do not depend on the number of threads.
/// More blocks read the word vectors more often. Not for norms of vectors (HeadNorms). Objects may
/// be nested.
class LeastMemory {
 public:
  LeastMemory();
  ~LeastMemory();
  LeastMemory(const LeastMemory&) = delete;
  LeastMemory& operator=(const LeastMemory&) = delete;

  /// True while an object of this thread exists.
  static bool wanted();
};

}  // namespace nine
