// The best word sequences of a lattice.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/lattice.h"
#include "data/n_best.h"

namespace nine {

/// A word sequence with the scores of its best path.
struct LatticePath {
  std::vector<int32_t> words;  ///< in Lattice::words
  double acoustic = 0, language = 0;
  double score = 0;  ///< as Lattice::score adds it up
};

/// Returns the text of a path, with single spaces between words.
std::string text_of(const Lattice& lattice, std::span<const int32_t> words);

/// Returns, for each node, the score of the best way from there to an end, that of the end
/// included.
std::vector<double> best_completions(const Lattice& lattice, const LatticeScales& scales);

/// Returns the `count` best different word sequences, best first; fewer if the lattice has fewer.
/// The score of a sequence is that of its best path. Exact: the search takes prefixes of word
/// sequences by the score of their best completion (A*), and holds for each prefix the best path to
/// every node where it may end. It therefore visits only prefixes of the sequences that it returns.
/// Errors: count < 1; a score that is not finite.
std::vector<LatticePath> n_best_paths(const Lattice& lattice, const LatticeScales& scales,
                                      int64_t count);

/// Returns the `count` best word sequences of each lattice, with the scales of the lattice, as
/// n-best lists. Leaves out a sequence without words unless `allow_empty`. Errors: those of
/// n_best_paths(); without `allow_empty`, a lattice has no sequence with words.
std::vector<NBestList> n_best_lists(std::span<const Lattice> lattices, int64_t count,
                                    bool allow_empty);

}  // namespace nine
