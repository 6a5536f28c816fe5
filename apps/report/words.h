// Word vectors as pictures: nine_report --words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace nine::report {

/// The most frequent words of a model, without </s> and <unk>, with their vectors in the output
/// layer.
struct WordVectors {
  std::vector<std::string> words;
  std::vector<int64_t> counts;  // in the training text
  Tensor vectors;               // (n, d), float64
  std::vector<double> norms;    // of the vectors
  std::string tensor;           // its name in model.safetensors
};

/// Reads at most `most` words of the model in `directory` (model.safetensors and dict.txt):
/// head.weight where there is one (of an untied mixture the first component's), else
/// embedding.weight. Throws Error when there is no such model.
WordVectors read_word_vectors(const std::filesystem::path& directory, int64_t most);

/// A word in the plane.
struct Place {
  double x = 0, y = 0;
};

/// The word by which polar plots are turned: "the", or the most frequent where there is no such
/// word.
size_t reference_word(const WordVectors& words);

/// Where the words stand when their angle is that of the first two principal components of the
/// vectors about their mean, and their distance from the origin the vector's norm in all
/// dimensions. Turned so that the reference word points up, and mirrored so that the most frequent
/// of the others lies to its right: principal components leave both open.
std::vector<Place> polar_places(const WordVectors& words, uint64_t seed);

/// Groups of words that stand in the same places of a sentence; docs/report.md says why these.
inline constexpr size_t kWordGroups = 6;
inline constexpr size_t kNoGroup = kWordGroups;
const char* word_group_name(size_t group);
/// The group of an English word, kNoGroup for most.
size_t word_group(std::string_view word);

/// A text that is already in a picture, one line high: its middle and width.
struct Text {
  Place middle;
  double width = 0;
};
/// Where a label stands relative to its point.
enum class Side : uint8_t { none, right, left, above, below };
/// Labels for points, the first ones first, each where it covers no other label nor labelled point;
/// Side::none where there is no such side. Places in pixels in a plane of width x height; `widths`
/// are the labels' widths. `wanted`: sides that must be kept or become none; empty: any. `texts`
/// are covered by no label.
std::vector<Side> place_labels(const std::vector<Place>& points, const std::vector<double>& widths,
                               double width, double height, const std::vector<Side>& wanted,
                               const std::vector<Text>& texts = {});

struct WordPageSettings {
  int64_t words = 1000;
  double perplexity = 30;
  int64_t iterations = 1000;
  uint64_t seed = 1;
};

/// Writes a page with the words by t-SNE, coloured by frequency, and in polar coordinates. `title`
/// names the model. Throws Error when there is no model, it has too few words, or the page cannot
/// be written.
void write_word_page(const std::filesystem::path& directory, const std::string& title,
                     const WordPageSettings& settings, const std::filesystem::path& output);

}  // namespace nine::report
