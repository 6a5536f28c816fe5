// lm_rescore --lattices: the best paths of lattices under language models, and n-best lists of
// lattices.
#pragma once

#include <array>

#include "apps/lm_rescore/rescore_options.h"

namespace nine::app {

/// The files that only --lattices writes into --output.
inline constexpr std::array<const char*, 2> kLatticeFiles{"lattices.tsv", "nbest.tsv"};

/// Reads the lattices, rescores each (nn/models/lattice_rescoring.h), and writes the results to
/// --output. Prints the word errors if there is a reference, how many tokens of the first pass the
/// models do not know, and a warning if the references do not fit. Error: too many unknown tokens
/// (--max-unknown).
void rescore_lattices(const RescoreOptions& options, Device device);

}  // namespace nine::app
