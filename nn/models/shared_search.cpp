#include "nn/models/shared_search.h"

#include <algorithm>
#include <tuple>

#include "core/shared_parts.h"

namespace nine {
namespace {

// Returns this process's elements of `all`: process r of P has elements r, r + P, r + 2P, ...
template <class T>
std::vector<T> own_of(std::span<const T> all, const Communicator& communicator) {
  std::vector<T> own;
  for (size_t i = static_cast<size_t>(communicator.rank()); i < all.size();
       i += static_cast<size_t>(communicator.size()))
    own.push_back(all[i]);
  return own;
}

// Gathers the results of all processes, in the order of all `count` elements.
template <class T, class Put, class Get>
std::vector<T> results_of_all(const std::vector<T>& own, size_t count, Communicator& communicator,
                              Put&& put, Get&& get) {
  ByteWriter mine;
  for (const T& result : own) put(mine, result);
  const std::vector<std::string> texts = communicator.all_gather(mine.take());
  std::vector<ByteReader> readers(texts.begin(), texts.end());
  std::vector<T> all;
  for (size_t i = 0; i < count; ++i) all.push_back(get(readers[i % readers.size()]));
  return all;
}

template <class Found>
auto fields_of_hypothesis(Found& h) {
  return std::tie(h.words, h.log_prob, h.score, h.complete, h.word_log_probs, h.attention);
}

void put_translation(ByteWriter& out, const Translation& translation) {
  out.put(translation.size());
  for (const Hypothesis& h : translation) out.put_all(fields_of_hypothesis(h));
}

Translation get_translation(ByteReader& in) {
  Translation translation(in.get<size_t>());
  for (Hypothesis& h : translation) in.get_all(fields_of_hypothesis(h));
  return translation;
}

// Reports progress as if all processes had done as much as this process.
BeamSearch::Progress of_all(const BeamSearch::Progress& progress, size_t count, int processes) {
  if (!progress) return progress;
  return [progress, count = static_cast<int64_t>(count), processes](int64_t done) {
    progress(std::min(done * processes, count));
  };
}

}  // namespace

std::vector<Translation> shared_translate(const BeamSearch& search,
                                          std::span<const BeamSearch::Ids> sources,
                                          const SearchOptions& options,
                                          const BeamSearch::Progress& progress,
                                          Communicator& communicator,
                                          std::span<const BeamSearch::Ids> prefixes) {
  if (communicator.size() == 1) return search.translate(sources, options, progress, prefixes);
  SearchOptions mine = options;
  mine.first_number += communicator.rank() * options.number_step;
  mine.number_step *= communicator.size();
  const auto own = search.translate(own_of(sources, communicator), mine,
                                    of_all(progress, sources.size(), communicator.size()),
                                    own_of(prefixes, communicator));
  return results_of_all(own, sources.size(), communicator, put_translation, get_translation);
}

std::vector<std::vector<double>> shared_score(const BeamSearch& search,
                                              std::span<const BeamSearch::Ids> sources,
                                              std::span<const BeamSearch::Ids> targets,
                                              int64_t batch, const BeamSearch::Progress& progress,
                                              Communicator& communicator) {
  if (communicator.size() == 1) return search.score(sources, targets, batch, progress);
  const auto own = search.score(own_of(sources, communicator), own_of(targets, communicator), batch,
                                of_all(progress, sources.size(), communicator.size()));
  return results_of_all(
      own, sources.size(), communicator,
      [](ByteWriter& out, const std::vector<double>& nats) { out.put(nats); },
      [](ByteReader& in) { return in.list<double>(); });
}

}  // namespace nine
