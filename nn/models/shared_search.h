// A BeamSearch's work shared out among processes. What comes out is the same for any number of
// them, to the bit, as results do not depend on neighbouring sentences.
#pragma once

#include "core/communicator.h"
#include "nn/models/beam_search.h"

namespace nine {

/// search.translate(sources, options, progress): each process translates some, all get all.
std::vector<Translation> shared_translate(const BeamSearch& search,
                                          std::span<const BeamSearch::Ids> sources,
                                          const SearchOptions& options,
                                          const BeamSearch::Progress& progress,
                                          Communicator& communicator);

/// search.score(sources, targets, batch, progress), likewise.
std::vector<std::vector<double>> shared_score(const BeamSearch& search,
                                              std::span<const BeamSearch::Ids> sources,
                                              std::span<const BeamSearch::Ids> targets,
                                              int64_t batch, const BeamSearch::Progress& progress,
                                              Communicator& communicator);

}  // namespace nine
