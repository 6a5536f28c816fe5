#include "apps/lm_score/lm_clusters.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "apps/report/word_vectors.h"
#include "core/error.h"
#include "core/number_format.h"
#include "core/quote.h"
#include "data/ppmi.h"
#include "data/text.h"
#include "nn/models/model_directory.h"

namespace nine::app {
namespace {

// The vectors of the words `ids`. For ppmi a word that stands beside no other in the text is no
// candidate and is taken out.
std::vector<double> vectors_of(const std::filesystem::path& model, const Vocabulary& vocabulary,
                               std::vector<int32_t>& ids, const ClusterOptions& o) {
  if (o.spec.distance != WordDistance::ppmi)
    return read_word_vectors(model, vocabulary, ids).vectors.to_vector();
  std::fprintf(stderr, "lm_score: counting neighbours in %s\n", o.text.c_str());
  const auto frequent = std::ssize(ids);
  std::vector<double> vectors =
      ppmi_vectors_of_neighbours({o.text}, vocabulary, ids, {.seed = o.seed});
  const int64_t alone = frequent - std::ssize(ids);
  require(std::ssize(ids) >= o.size, "of the ", frequent, " words with ", o.min_count,
          " occurrences or more, only ", ids.size(),
          " stand next to another word of the vocabulary in ", o.text, ", but a set needs ", o.size,
          ": give the text that the model was trained on, or lower --cluster-min-count");
  if (alone > 0)
    std::fprintf(stderr,
                 "lm_score: frequent words that are left out, because they never stand next to "
                 "another word of the vocabulary in %s: %lld\n",
                 o.text.c_str(), static_cast<long long>(alone));
  return vectors;
}

// The words, a tab, their counts.
void write_set(const WordCluster& cluster, const std::vector<int32_t>& ids,
               const Vocabulary& vocabulary, std::ostream& out) {
  // Behind a space, a set that begins with a word such as #1 is no comment.
  if (vocabulary.word(ids[cluster.words[0]]).starts_with('#')) out << ' ';
  for (size_t i = 0; i < cluster.words.size(); ++i)
    out << (i > 0 ? " " : "") << vocabulary.word(ids[cluster.words[i]]);
  for (size_t i = 0; i < cluster.words.size(); ++i)
    out << (i > 0 ? " " : "\t") << vocabulary.count(ids[cluster.words[i]]);
  out << '\n';
}

}  // namespace

ClusterSpec ClusterSpec::parse(std::string_view text) {
  const size_t colon = text.find(':');
  ClusterSpec spec;
  if (colon == std::string_view::npos || !parse_count(text.substr(0, colon), spec.count) ||
      spec.count < 1)
    throw UsageError(concat(quote(text), " must be the number of sets and a distance, such as ",
                            "20:ppmi or 20:inner"));
  spec.distance = enum_from_text<WordDistance>(text.substr(colon + 1));
  return spec;
}

void write_clusters(const std::string& checkpoint, const ClusterOptions& o, std::ostream& out) {
  const std::filesystem::path model = model_directory(checkpoint, kDictionaryFile);
  const Vocabulary vocabulary =
      Vocabulary::read_saved((model / kDictionaryFile).string(), Specials::kLanguageModel);
  std::vector<int32_t> ids = ids_by_count(vocabulary);
  std::erase_if(ids, [&](int32_t id) { return vocabulary.count(id) < o.min_count; });
  require(std::ssize(ids) >= o.size, "only ", ids.size(), " words of the vocabulary have ",
          o.min_count, " occurrences or more, but a set needs ", o.size,
          "; lower --cluster-min-count");
  const std::vector<double> vectors = vectors_of(model, vocabulary, ids, o);
  const size_t width = vectors.size() / std::max<size_t>(ids.size(), 1);
  const std::vector<WordCluster> clusters =
      closest_clusters(word_distances(vectors, width, o.spec.distance), static_cast<size_t>(o.size),
                       static_cast<size_t>(o.spec.count));
  if (std::ssize(clusters) < o.spec.count)
    std::fprintf(
        stderr,
        "lm_score: found %lld sets of %lld words that share no word, but %lld were asked for\n",
        static_cast<long long>(clusters.size()), static_cast<long long>(o.size),
        static_cast<long long>(o.spec.count));
  out << "# " << clusters.size() << " sets of " << o.size << " among the " << ids.size()
      << " words with " << o.min_count
      << " occurrences or more; distance: " << to_text(o.spec.distance)
      << (o.spec.distance == WordDistance::ppmi ? " in " + o.text
                                                : " of the vectors of " + checkpoint)
      << "\n# words, a tab, their counts in the training text\n";
  for (const WordCluster& cluster : clusters) write_set(cluster, ids, vocabulary, out);
}

}  // namespace nine::app
