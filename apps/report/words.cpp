#include "apps/report/words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "apps/report/projection.h"
#include "core/ops.h"
#include "core/safetensors.h"
#include "data/vocabulary.h"

namespace nine::report {
namespace {

struct Group {
  const char* name;
  std::vector<std::string_view> words;
};

const std::array<Group, kWordGroups>& groups() {
  static const std::array<Group, kWordGroups> kGroups{{
      {"determiners and numbers",
       {"the",  "a",     "an",      "this", "that", "these",   "those", "some", "any",
        "no",   "each",  "every",   "all",  "both", "several", "few",   "many", "much",
        "more", "other", "another", "one",  "two",  "three",   "four",  "five"}},
      {"pronouns",
       {"i",    "you", "he",  "she", "it",    "we", "they", "me",  "him",  "her",   "us",
        "them", "his", "its", "our", "their", "my", "your", "who", "what", "which", "there"}},
      {"prepositions",
       {"of",     "in",    "on",      "at",     "to",      "with",    "by",    "for",     "from",
        "near",   "into",  "through", "over",   "under",   "up",      "down",  "out",     "off",
        "behind", "along", "across",  "around", "beside",  "between", "about", "against", "while",
        "as",     "next",  "front",   "inside", "outside", "above",   "during"}},
      {"be, have, do, modals",
       {"is", "are",  "was", "were", "be",    "been", "being", "am",  "has",   "have", "had",
        "do", "does", "did", "can",  "could", "will", "would", "may", "might", "must", "should"}},
      {"colours",
       {"red", "blue", "white", "black", "green", "yellow", "brown", "orange", "pink", "gray",
        "grey", "purple", "dark", "blond", "blonde"}},
      {"people", {"man",    "woman",  "men",   "women",    "boy",     "boys",    "girl",    "girls",
                  "people", "person", "child", "children", "kids",    "kid",     "player",  "lady",
                  "guy",    "baby",   "group", "farmer",   "farmers", "teacher", "teachers"}},
  }};
  return kGroups;
}

}  // namespace

WordVectors read_word_vectors(const std::filesystem::path& directory, int64_t most) {
  const Vocabulary vocabulary =
      Vocabulary::read((directory / "dict.txt").string(), Specials::kLanguageModel);
  const Safetensors weights = read_safetensors(directory / "model.safetensors");
  WordVectors out;
  out.tensor = weights.tensors.contains("head.weight") ? "head.weight" : "embedding.weight";
  const Tensor& all = weights.at(out.tensor);
  require(all.view().rows() >= vocabulary.size(), "[report] ", directory.string(), ": ", out.tensor,
          " ", all.shape(), " has fewer rows than dict.txt words, ", vocabulary.size());
  constexpr int32_t kFirst = Specials::kLanguageModel.unknown + 1;
  const int64_t n = std::min<int64_t>(most, vocabulary.size() - kFirst), d = all.view().cols();
  for (int32_t id = kFirst; id < kFirst + n; ++id) {
    out.words.push_back(vocabulary.word(id));
    out.counts.push_back(vocabulary.count(id));
  }
  out.vectors = Tensor({n, d}, DType::float64);
  ops::copy(all.reshaped({all.view().rows(), d}).row_range(kFirst, n), out.vectors);
  const double* row = out.vectors.data<double>();
  for (int64_t i = 0; i < n; ++i, row += d)
    out.norms.push_back(std::sqrt(std::inner_product(row, row + d, row, 0.0)));
  return out;
}

size_t reference_word(const WordVectors& words) {
  const auto found = std::find(words.words.begin(), words.words.end(), "the");
  return found == words.words.end() ? 0 : static_cast<size_t>(found - words.words.begin());
}

std::vector<Place> polar_places(const WordVectors& words, uint64_t seed) {
  const Principal pca = principal_components(words.vectors, 2, true, seed);
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

const char* word_group_name(size_t group) { return groups().at(group).name; }

size_t word_group(std::string_view word) {
  for (size_t g = 0; g < kWordGroups; ++g)
    if (const auto& members = groups()[g].words;
        std::find(members.begin(), members.end(), word) != members.end())
      return g;
  return kNoGroup;
}

std::vector<Side> place_labels(const std::vector<Place>& points, const std::vector<double>& widths,
                               double width, double height, const std::vector<Side>& wanted,
                               const std::vector<Text>& texts) {
  struct Box {
    double left, top, right, bottom;
    bool meets(const Box& b) const {
      return left < b.right && b.left < right && top < b.bottom && b.top < bottom;
    }
  };
  constexpr double kHeight = 14, kGap = 5, kPoint = 3;
  const auto box_of = [&](size_t i, Side side) {
    const auto [x, y] = points[i];
    const double w = widths[i];
    switch (side) {
      case Side::right:
        return Box{x + kGap, y - kHeight / 2, x + kGap + w, y + kHeight / 2};
      case Side::left:
        return Box{x - kGap - w, y - kHeight / 2, x - kGap, y + kHeight / 2};
      case Side::above:
        return Box{x - w / 2, y - kGap - kHeight, x + w / 2, y - kGap};
      default:
        return Box{x - w / 2, y + kGap, x + w / 2, y + kGap + kHeight};
    }
  };
  std::vector<Side> sides(points.size(), Side::none);
  std::vector<Box> taken;
  for (const auto& [at, w] : texts)
    taken.push_back({at.x - w / 2, at.y - kHeight / 2, at.x + w / 2, at.y + kHeight / 2});
  const auto is_free = [&](const Box& box) {
    return std::none_of(taken.begin(), taken.end(), [&](const Box& b) { return b.meets(box); });
  };
  for (size_t i = 0; i < points.size(); ++i) {
    const Box point{points[i].x - kPoint, points[i].y - kPoint, points[i].x + kPoint,
                    points[i].y + kPoint};
    if (!is_free(point)) continue;  // under another's label
    for (const Side side : {Side::right, Side::left, Side::above, Side::below}) {
      if (!wanted.empty() && wanted[i] != side) continue;
      const Box box = box_of(i, side);
      const bool inside =
          box.left >= 0 && box.top >= 0 && box.right <= width && box.bottom <= height;
      if (!inside || !is_free(box)) continue;
      sides[i] = side;
      taken.push_back(box);
      taken.push_back(point);
      break;
    }
  }
  return sides;
}

}  // namespace nine::report
