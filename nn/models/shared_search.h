// Shares a BeamSearch's work out among processes. Results are bit-identical for any number of
// processes, because they do not depend on neighbouring sentences.
#pragma once

#include "core/communicator.h"
#include "nn/models/beam_search.h"

namespace nine {

/// Returns search.translate(sources, options, progress, prefixes). Each process translates a part;
/// all processes get all translations.
std::vector<Translation> shared_translate(const BeamSearch& search,
                                          std::span<const BeamSearch::Ids> sources,
                                          const SearchOptions& options,
                                          const BeamSearch::Progress& progress,
                                          Communicator& communicator,
                                          std::span<const BeamSearch::Ids> prefixes = {});

/// Returns search.score(sources, targets, batch, progress), in the same way.
std::vector<std::vector<double>> shared_score(const BeamSearch& search,
                                              std::span<const BeamSearch::Ids> sources,
                                              std::span<const BeamSearch::Ids> targets,
                                              int64_t batch, const BeamSearch::Progress& progress,
                                              Communicator& communicator);

}  // namespace nine
