#include "data/token_weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "core/error.h"
#include "core/quote.h"
#include "data/text.h"

namespace nine {
namespace {

double weight_of(std::string_view text, const TextReader& reader) {
  double weight = 0;
  require(parse_number(text, weight) && std::isfinite(weight) && weight >= 0, reader.place(), ": ",
          quote(text), " is not a weight: a number from 0 on was expected");
  return weight;
}

void require_some(const std::vector<double>& weights, const std::string& path) {
  require(std::ranges::any_of(weights, [](double w) { return w > 0; }), path,
          ": all weights are 0, so that nothing would be trained");
}

}  // namespace

std::vector<double> read_token_weights(const std::vector<std::string>& paths, int64_t lines,
                                       const std::function<int64_t(int64_t)>& tokens) {
  TextReader reader(paths);
  std::vector<double> weights;
  std::vector<std::string_view> numbers;
  std::string_view line;
  int64_t read = 0;
  for (; reader.next_line(line); ++read) {
    require(read < lines, reader.place(), ": the text has ", lines,
            " lines only, and each line of weights belongs to a line of the text");
    const int64_t wanted = tokens(read);
    if (wanted == 0) continue;
    split_words(line, numbers);
    require(std::ssize(numbers) == wanted, reader.place(), ": ", numbers.size(),
            numbers.size() == 1 ? " weight" : " weights", ", but line ", read + 1,
            " of the text has ", wanted - 1, wanted == 2 ? " word" : " words", " and </s>: write ",
            wanted, wanted == 1 ? " number" : " numbers");
    for (const std::string_view number : numbers) weights.push_back(weight_of(number, reader));
  }
  require(read == lines, reader.place(), " is the last line of weights, but the text has ", lines,
          " lines");
  require_some(weights, paths.front());
  return weights;
}

std::vector<double> read_class_weights(const std::string& path, const Vocabulary& vocabulary) {
  TextReader reader({path});
  std::vector<double> weights(static_cast<size_t>(vocabulary.size()), 1);
  std::vector<bool> listed(weights.size());
  std::vector<std::string_view> parts;
  for (std::string_view line; reader.next_line(line);) {
    split_words(line, parts);
    require(parts.size() == 2, reader.place(), ": ", quote(line),
            " is not a word and its weight with a space between");
    const auto id = static_cast<size_t>(vocabulary.id(parts[0]));
    require(vocabulary.word(static_cast<int32_t>(id)) == parts[0], reader.place(), ": the word ",
            quote(parts[0]), " is not in the vocabulary; leave it out, or list <unk>");
    require(!listed[id], reader.place(), ": the word ", quote(parts[0]), " has a weight already");
    listed[id] = true;
    weights[id] = weight_of(parts[1], reader);
  }
  require_some(weights, path);
  return weights;
}

void require_trainable(const std::vector<double>& weights, const std::string& token_file,
                       const std::string& class_file) {
  const bool both = !token_file.empty() && !class_file.empty();
  const std::string place =
      concat(token_file, both ? " and " : "", class_file,
             both ? ": the products of tokens' and words' weights " : ": the weights of the text ");
  require(std::ranges::any_of(weights, [](double w) { return w > 0 || std::isnan(w); }), place,
          "are all 0, so that nothing would be trained");
  require(std::isfinite(std::accumulate(weights.begin(), weights.end(), 0.0)), place,
          "or their sum are too large for a double: divide the weights of a file by a number");
}

}  // namespace nine
