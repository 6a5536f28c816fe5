// nine_report --words ... --angles: in which directions word vectors point, as a page with pictures
// and as numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/report/word_vectors.h"
#include "core/json.h"

namespace nine::app {

/// Words that are shown together, "NAME=word,word". A name that begins with "syntactic" is drawn in
/// a blue, another in a red.
struct AngleGroup {
  std::string name;
  std::vector<std::string> words;

  /// UsageError: not of that form.
  static AngleGroup parse(const std::string& text);
  bool syntactic() const { return name.starts_with("syntactic"); }
};

/// What is computed.
struct AngleSettings {
  int64_t words = 1000;       ///< at most so many, the most frequent ones
  double perplexity = 30;     ///< of t-SNE; lowered to a third of the words
  int64_t iterations = 1000;  ///< of t-SNE
  int64_t permutations = 999;
  uint64_t seed = 1;
  std::vector<AngleGroup> groups;  ///< none: a list of English pairs
};

/// One model's words in the plane, and its numbers by name. Angles are in degrees; those of the
/// full space are of the vectors about their mean.
struct ModelAngles {
  std::string model;
  WordVectors words;
  double perplexity = 0;      ///< of t-SNE, as it was used
  std::vector<Place> places;  ///< x to the right, y upwards; the reference word at (1, 0)
  std::map<std::string, double> measures;
};
/// t-SNE of the first 50 principal components, scaled and turned so that reference_word() lies at
/// (1, 0), and mirrored so that the most frequent of the other words lies above it. Error: fewer
/// than ten words; no model.
ModelAngles measure_angles(const std::filesystem::path& directory, const std::string& model,
                           const AngleSettings& settings);

/// Several models' angles, and how alike they are.
struct AngleStudy {
  /// A number over the models: mean, and a 95% interval by Student's t.
  struct Statistic {
    double mean = 0, low = 0, high = 0;
    int64_t models = 0;
  };
  /// Two models' cosines between the words that both show.
  struct Pair {
    size_t a = 0, b = 0;
    int64_t words = 0;
    double correlation = 0, p = 1;  ///< Spearman's; by Mantel's permutation test
  };
  std::vector<ModelAngles> models;
  std::map<std::string, Statistic> statistics;  ///< of two models or more
  std::vector<Pair> pairs;
};
AngleStudy study_angles(std::vector<ModelAngles> models, const AngleSettings& settings);

/// Everything as one object.
Json angles_json(const AngleStudy& study, const AngleSettings& settings);
/// The numbers as tables for a terminal.
std::string angles_text(const AngleStudy& study, const AngleSettings& settings);
/// Writes the page. Error: it cannot be written.
void write_angle_page(const AngleStudy& study, const AngleSettings& settings,
                      const std::filesystem::path& output);

}  // namespace nine::app
