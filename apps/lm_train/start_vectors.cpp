#include "apps/lm_train/start_vectors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "apps/cli/option_conflicts.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/ops.h"
#include "core/quote.h"
#include "data/word_vectors.h"

namespace nine::app {
namespace {

constexpr std::array<const char*, 2> kTables{"embedding", "head"};

// The rows of the words of a vocabulary, by the words of a file of vectors.
std::unordered_map<std::string, std::vector<int32_t>> rows_by_word(const LmData& data) {
  std::unordered_map<std::string, std::vector<int32_t>> out;
  for (int32_t id = 0; id < data.vocabulary.size(); ++id) {
    std::string word = data.vocabulary.word(id);
    if (data.tokenizer && id >= data.vocabulary.specials().size) {
      word = data.tokenizer->bytes(id);
      if (word.starts_with(' ')) word.erase(0, 1);
    }
    if (!word.empty()) out[word].push_back(id);
  }
  return out;
}

// Returns how many words got a vector.
int64_t set_table(const VectorsOfTable& from, const LmData& data, Parameter& table, int64_t& width,
                  std::vector<bool>& found) {
  const Tensor values = table.value().to(kCpu);
  const int64_t words = data.vocabulary.size(), own = values.shape().cols(),
                blocks = values.elements() / (words * own);
  const auto rows = rows_by_word(data);
  dispatch_float(values.dtype(), "vectors", [&]<class T>(T) {
    const WordVectorsRead read = read_word_vectors(
        from.file, [&](std::string_view word, std::span<const double> numbers, int64_t line) {
          require(std::ssize(numbers) == own, from.file, ", line ", line, ": the vectors have ",
                  numbers.size(), " numbers, and ", table.name, " has the width ", own,
                  ": give vectors of that width, or train a model of theirs");
          const auto row = rows.find(std::string(word));
          if (row == rows.end()) return;
          for (const int32_t id : row->second) {
            found[static_cast<size_t>(id)] = true;
            for (int64_t block = 0; block < blocks; ++block) {
              T* const to = values.data<T>() + (block * words + id) * own;
              std::transform(numbers.begin(), numbers.end(), to,
                             [](double x) { return static_cast<T>(x); });
              require(std::all_of(to, to + own, [](T x) { return std::isfinite(x); }), from.file,
                      ", line ", line, ": the vector of ", quote(word), " has a number beyond ",
                      "3.4e38, where float32 ends");
            }
          }
        });
    width = read.width;
  });
  ops::copy(values, table.value());
  return std::ranges::count(found, true);
}

}  // namespace

VectorsOfTable vectors_of_table(const std::string& value) {
  for (const char* table : kTables)
    if (const std::string before = concat(table, '='); value.starts_with(before))
      return {table, value.substr(before.size())};
  return {kTables.front(), value};
}

void check_vectors(const std::vector<std::string>& values, bool tied) {
  std::vector<std::string> tables;
  for (const std::string& value : values) {
    const VectorsOfTable one = vectors_of_table(value);
    require_usage(!one.file.empty(), "--vectors ", value, " names no file");
    require_usage(std::ranges::find(tables, one.table) == tables.end(), "--vectors has two files ",
                  "for the table ", one.table, ": give one, or one as ", kTables[0], "=FILE and ",
                  "one as ", kTables[1], "=FILE");
    require_usage(!tied || one.table != kTables[1], "--vectors ", value, ": with tied embeddings ",
                  "the output layer has no word vectors of its own: give ", kTables[0],
                  "=FILE, or --no-tie-embeddings");
    tables.push_back(one.table);
  }
}

StartVectors set_start_vectors(const std::vector<std::string>& values, const LmData& data,
                               ParameterSet& parameters) {
  StartVectors out;
  for (const std::string& value : values) {
    const VectorsOfTable from = vectors_of_table(value);
    Parameter& table = parameters.at(from.table + ".weight");
    std::vector<bool> found(static_cast<size_t>(data.vocabulary.size()));
    int64_t width = 0;
    const int64_t words = set_table(from, data, table, width, found);
    require(words > 0, "--vectors ", value, ": no word of the vocabulary has a vector there: are ",
            "its words spelled as in the training text?");
    out.text += concat("\n--vectors: ", words, " of ", data.vocabulary.size(), " rows of ",
                       table.name, " start from the vectors of width ", width, " in ", from.file);
    std::string lacking;
    int shown = 0;
    for (size_t id = 0; id < found.size() && shown < 6; ++id)
      if (!found[id]) {
        const std::string& word = data.vocabulary.word(static_cast<int32_t>(id));
        lacking += (shown++ == 0 ? "" : " ") + shortened(visible_text(word));
      }
    if (shown > 0) out.text += concat("; without a vector are, first, ", lacking);
    out.event.push_back({{"table", table.name},
                         {"file", from.file},
                         {"width", width},
                         {"found", words},
                         {"words", data.vocabulary.size()}});
  }
  return out;
}

}  // namespace nine::app
