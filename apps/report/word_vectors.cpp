#include "apps/report/word_vectors.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/report/pca.h"
#include "core/files.h"
#include "core/ops.h"
#include "nn/models/language_network.h"
#include "nn/models/language_words.h"
#include "nn/models/model_directory.h"
#include "nn/models/read_model.h"

namespace nine::app {
namespace {

// The tensor that begins with the vectors of the output layer, of an untied mixture with the first
// component's: where these are tied to the embedding, head.weight begins with the second's.
std::string output_tensor(const ModelFiles& files) {
  const Safetensors& weights = files.weights;
  const char *const own = "head.weight", *const embedding = "embedding.weight";
  if (!weights.tensors.contains(own)) return embedding;
  if (weights.at(own).shape().rank() < 3) return own;
  const HeadSpec head = files.head().spec;
  return has_tied_embeddings(weights, head) ? embedding : own;
}

WordVectors vectors_in(const ModelFiles& files, const Vocabulary& vocabulary,
                       std::span<const int32_t> ids) {
  WordVectors out;
  out.tensor = output_tensor(files);
  const Tensor& all = files.weights.at(out.tensor);
  const Shape& shape = all.shape();
  const std::string place = (files.directory / kDictionaryFile).string();
  require(shape.rank() >= 2 && shape[shape.rank() - 2] == vocabulary.size(), "[report] ", place,
          " has ", vocabulary.size(), " entries with </s> and <unk>, but ", out.tensor,
          " of its model has the shape ", shape, ": put the model's own dictionary there");
  const int64_t n = std::ssize(ids), d = all.view().cols();
  const Tensor rows = all.reshaped({all.view().rows(), d});
  out.vectors = Tensor({n, d}, DType::float64);
  for (int64_t i = 0; i < n; ++i) {
    const int32_t id = ids[static_cast<size_t>(i)];
    out.words.push_back(vocabulary.word(id));
    out.counts.push_back(vocabulary.count(id));
    ops::copy(rows.row_range(id, 1), out.vectors.row_range(i, 1));
  }
  const double* row = out.vectors.data<double>();
  for (int64_t i = 0; i < n; ++i, row += d) {
    out.norms.push_back(std::sqrt(std::inner_product(row, row + d, row, 0.0)));
    require(std::isfinite(out.norms.back()), files.directory.string(), ": the vector of '",
            out.words[static_cast<size_t>(i)], "' in ", out.tensor, " is too long to have a norm");
    // Squares of norms are multiplied with each other: beyond these bounds as 0 or infinity.
    constexpr double kShortest = 1e-75, kLongest = 1e75;
    const double norm = out.norms.back();
    const bool zero = std::all_of(row, row + d, [](double x) { return x == 0; });
    require(zero || (norm >= kShortest && norm <= kLongest), files.directory.string(),
            ": the vector of '", out.words[static_cast<size_t>(i)], "' in ", out.tensor, " is too ",
            norm < 1 ? "short" : "long",
            " for angles and distances: its norm must lie between 1e-75 and 1e75");
  }
  return out;
}

}  // namespace

std::vector<int32_t> ids_by_count(const Vocabulary& vocabulary) {
  const int32_t first = vocabulary.specials().size;
  std::vector<int32_t> ids(static_cast<size_t>(vocabulary.size() - first));
  std::iota(ids.begin(), ids.end(), first);
  std::ranges::stable_sort(ids, std::ranges::greater(),
                           [&](int32_t id) { return vocabulary.count(id); });
  return ids;
}

WordVectors read_word_vectors(const std::filesystem::path& directory, const Vocabulary& vocabulary,
                              std::span<const int32_t> ids) {
  return vectors_in(read_model(directory), vocabulary, ids);
}

WordVectors read_word_vectors(const std::filesystem::path& directory, int64_t most) {
  const ModelFiles files = read_model(directory);
  const bool counted = is_there(directory / kDictionaryFile);
  const Vocabulary vocabulary =
      language_words(directory, counted ? 0 : files.embedding("lm").shape().rows()).vocabulary;
  std::vector<int32_t> ids = ids_by_count(vocabulary);
  ids.resize(static_cast<size_t>(std::min(std::ssize(ids), std::max<int64_t>(most, 0))));
  WordVectors out = vectors_in(files, vocabulary, ids);
  out.counted = counted;
  return out;
}

size_t reference_word(const WordVectors& words) {
  const auto found = std::find(words.words.begin(), words.words.end(), "the");
  return found == words.words.end() ? 0 : static_cast<size_t>(found - words.words.begin());
}

std::vector<Place> polar_places(const WordVectors& words, uint64_t seed) {
  const PrincipalComponents pca = principal_components(words.vectors, 2, true, seed);
  const double* const scores = pca.scores.data<double>();
  const auto angle = [&](size_t i) { return std::atan2(scores[2 * i + 1], scores[2 * i]); };
  const size_t first = reference_word(words), other = first == 0 ? 1 : 0;
  const double turn = angle(first), side = std::sin(turn - angle(other)) < 0 ? -1 : 1;
  std::vector<Place> places;
  for (size_t i = 0; i < words.words.size(); ++i) {
    const double clockwise = side * (turn - angle(i));  // from the top
    places.push_back({words.norms[i] * std::sin(clockwise), words.norms[i] * std::cos(clockwise)});
  }
  return places;
}

}  // namespace nine::app
