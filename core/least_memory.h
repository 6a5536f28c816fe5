// Less working memory for a loss, at the price of time.
#pragma once

namespace nine {

/// While an object exists, each kernel_softmax() that its thread calls on a CPU and that computes
/// gradients takes less working memory, and about a tenth more time. There are V words, vectors of
/// d numbers, and K components.
///  - The products of all words and a block of contexts are kept only if they take 4 MiB or less.
///    Other products are computed twice, as with HeadMemory::tiles.
///  - The products of the first block may be an exception: the memory of the word vectors' gradient
///    keeps them. The block then has up to d / K contexts. The exception requires that all
///    components share the word vectors, and that their gradient is written, not added to.
///  - Each thread has one partial sum of the contexts' gradients, in place of one for each chunk of
///    words (ops::kHeadChunks).
///  - The loss writes the contexts' gradient to its memory on the tape. The loss keeps a separate
///    copy until backward only if that memory already holds a gradient.
/// A pool (Arena) that is made while an object exists takes memory in small pages. The loss has the
/// same bits as without the object. Gradients may have other last digits, because the first block
/// has another size. They do not depend on the number of threads. Norms of vectors (HeadNorms) turn
/// the first two points off. Objects may be nested.
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
