#include "apps/lm_score/lm_clusters.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "apps/report/word_vectors.h"
#include "core/error.h"
#include "core/number_format.h"
#include "data/ppmi.h"
#include "data/text.h"
#include "nn/models/model_directory.h"

namespace nine::app {
namespace {

// The vectors of the words `ids`.
std::vector<double> vectors_of(const std::filesystem::path& model, const Vocabulary& vocabulary,
                               const std::vector<int32_t>& ids, const ClusterOptions& o) {
  if (o.spec.distance != WordDistance::ppmi)
    return read_word_vectors(model, vocabulary, ids).vectors.to_vector();
  std::fprintf(stderr, "lm_score: counting neighbours in %s\n", o.text.c_str());
  return ppmi_vectors({o.text}, vocabulary, ids, {.seed = o.seed});
}

}  // namespace

ClusterSpec ClusterSpec::parse(std::string_view text) {
  const size_t colon = text.find(':');
  ClusterSpec spec;
  if (colon == std::string_view::npos || !parse_count(text.substr(0, colon), spec.count) ||
      spec.count < 1)
    throw UsageError(concat("'", text, "' is not a number of sets and a distance, such as ",
                            "20:ppmi or 20:inner"));
  spec.distance = enum_from_text<WordDistance>(text.substr(colon + 1));
  return spec;
}

void write_clusters(const std::string& checkpoint, const ClusterOptions& o, std::ostream& out) {
  const std::filesystem::path model = model_directory(checkpoint, kDictionaryFile);
  const Vocabulary vocabulary =
      Vocabulary::read((model / kDictionaryFile).string(), Specials::kLanguageModel);
  std::vector<int32_t> ids = ids_by_count(vocabulary);
  std::erase_if(ids, [&](int32_t id) { return vocabulary.count(id) < o.min_count; });
  const int64_t frequent = std::ssize(ids);
  require(frequent >= o.size, "only ", frequent, " words of the vocabulary have ", o.min_count,
          " occurrences or more, but a set needs ", o.size, "; lower --cluster-min-count");
  const std::vector<double> vectors = vectors_of(model, vocabulary, ids, o);
  const size_t width = vectors.size() / static_cast<size_t>(std::max<int64_t>(frequent, 1));
  const std::vector<WordCluster> clusters =
      closest_clusters(word_distances(vectors, width, o.spec.distance), static_cast<size_t>(o.size),
                       static_cast<size_t>(o.spec.count));
  if (std::ssize(clusters) < o.spec.count)
    std::fprintf(stderr, "lm_score: %lld sets of %lld words without a common word, not %lld\n",
                 static_cast<long long>(clusters.size()), static_cast<long long>(o.size),
                 static_cast<long long>(o.spec.count));
  out << "# " << clusters.size() << " sets of " << o.size << " among the " << frequent
      << " words with " << o.min_count
      << " occurrences or more; distance: " << to_text(o.spec.distance)
      << (o.spec.distance == WordDistance::ppmi ? " in " + o.text
                                                : " of the vectors of " + checkpoint)
      << "\n# words, a tab, their counts in the training text\n";
  for (const WordCluster& cluster : clusters) {
    for (size_t i = 0; i < cluster.words.size(); ++i)
      out << (i > 0 ? " " : "") << vocabulary.word(ids[cluster.words[i]]);
    for (size_t i = 0; i < cluster.words.size(); ++i)
      out << (i > 0 ? " " : "\t") << vocabulary.count(ids[cluster.words[i]]);
    out << '\n';
  }
}

}  // namespace nine::app
