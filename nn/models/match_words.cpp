#include "nn/models/match_words.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "core/dtype.h"
#include "core/error.h"

namespace nine {
namespace {

// Finds words of another vocabulary in a model's.
class ModelWords {
 public:
  explicit ModelWords(const LanguageWords& model) : model_(model) {
    if (!model.tokenizer) return;
    for (int32_t id = 0; id < model.vocabulary.size(); ++id)
      if (std::string bytes = model.tokenizer->bytes(id); !bytes.empty())
        by_bytes_.emplace(std::move(bytes), id);
  }

  // Returns the row of the word that adds `text` to a text and is called `name`; -1: none.
  int32_t find(const std::string& name, const std::string& text) const {
    const Vocabulary& words = model_.vocabulary;
    if (!model_.tokenizer) {
      const std::string word = text.starts_with(' ') ? text.substr(1) : text;
      const int32_t id = words.id(word);
      return id < words.size() && words.word(id) == word ? id : -1;
    }
    if (text.empty()) {  // a special token
      const int32_t id = words.id(name);
      return words.word(id) == name ? id : -1;
    }
    const auto found = by_bytes_.find(text);
    return found == by_bytes_.end() ? -1 : found->second;
  }

  // Returns the rows of the pieces of a text; empty: the model has no pieces for it.
  std::vector<int32_t> pieces(const std::string& text) const {
    if (!model_.tokenizer || text.empty()) return {};
    try {
      return cut(*model_.tokenizer, text);
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error&) {  // no token for some of the text, and no unknown token
      return {};
    }
  }

 private:
  static std::vector<int32_t> cut(const ModelTokenizer& tokenizer, const std::string& text) {
    std::vector<int32_t> ids = tokenizer.encode(text);
    if (text.starts_with(' ')) {
      // Behind another word, because some tokenizers put a space before a text.
      const std::vector<int32_t> before = tokenizer.encode("a");
      std::vector<int32_t> both = tokenizer.encode("a" + text);
      if (both.size() > before.size() && std::equal(before.begin(), before.end(), both.begin()))
        ids.assign(both.begin() + std::ssize(before), both.end());
    }
    // Some tokenizers leave out text that they have no token for.
    const bool blank = std::ranges::all_of(ids, [&](int32_t id) {
      return tokenizer.bytes(id).find_first_not_of(' ') == std::string::npos;
    });
    if (blank || std::ranges::find(ids, tokenizer.unknown()) != ids.end()) return {};
    return ids;
  }

  const LanguageWords& model_;
  std::unordered_map<std::string, int32_t> by_bytes_;
};

template <class T>
void mean_of(const T* table, int64_t width, const std::vector<int32_t>& rows, T* out) {
  for (int64_t i = 0; i < width; ++i) {
    double sum = 0;
    for (const int32_t row : rows) sum += static_cast<double>(table[row * width + i]);
    out[i] = static_cast<T>(sum / static_cast<double>(rows.size()));
  }
}

}  // namespace

Tensor WordMatch::rows(const Tensor& table) const {
  const bool of_components = table.shape().rank() == 3;
  const int64_t blocks = of_components ? table.shape()[0] : 1,
                words = table.shape()[of_components ? 1 : 0],
                width = table.elements() / (blocks * words), size = std::ssize(sources);
  Tensor out(of_components               ? Shape{blocks, size, width}
             : table.shape().rank() == 2 ? Shape{size, width}
                                         : Shape{size},
             table.dtype());
  dispatch_float(table.dtype(), "match_words", [&]<class T>(T) {
    std::vector<T> mean(static_cast<size_t>(width));
    for (int64_t block = 0; block < blocks; ++block) {
      const T* const from = table.data<T>() + block * words * width;
      mean_of(from, width, all, mean.data());
      for (int64_t id = 0; id < size; ++id) {
        T* const to = out.data<T>() + (block * size + id) * width;
        const std::vector<int32_t>& source = sources[static_cast<size_t>(id)];
        if (source.size() == 1)
          std::copy_n(from + source[0] * width, width, to);
        else if (source.empty())
          std::copy(mean.begin(), mean.end(), to);
        else
          mean_of(from, width, source, to);
      }
    }
  });
  return out;
}

WordMatch match_words(const LanguageWords& model, const std::vector<bool>& excluded,
                      const Vocabulary& vocabulary, const ModelTokenizer* tokenizer) {
  const Vocabulary& theirs = model.vocabulary;
  const Specials& specials = vocabulary.specials();
  const ModelWords words(model);
  WordMatch out;
  for (int32_t row = specials.size; row < theirs.size(); ++row)
    if (!excluded[static_cast<size_t>(row)]) out.all.push_back(row);
  if (out.all.empty()) {
    out.all.resize(static_cast<size_t>(theirs.size()));
    std::iota(out.all.begin(), out.all.end(), 0);
  }
  out.same = theirs.size() == vocabulary.size();
  std::vector<bool> used(static_cast<size_t>(theirs.size()));
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string& word = vocabulary.word(id);
    std::vector<int32_t> source;
    int32_t row = -1;  // of the same word
    if (id < specials.size) {
      row = id;
      // A model of transformers has its own row for unknown words, if it has any.
      if (id == specials.unknown && tokenizer == nullptr && excluded[static_cast<size_t>(id)])
        row = model.tokenizer && model.tokenizer->unknown() != id ? model.tokenizer->unknown() : -1;
    } else {
      const std::string text = tokenizer != nullptr ? tokenizer->bytes(id) : ' ' + word;
      const bool here = out.same && theirs.word(id) == word &&
                        (tokenizer != nullptr) == model.tokenizer.has_value();
      row = here ? id : words.find(word, text);
      if (row < 0) source = words.pieces(text);
      // A tokenizer of whole words has them without a space.
      if (source.size() == 1 && tokenizer == nullptr &&
          model.tokenizer->bytes(source.front()) == word)
        row = source.front();
    }
    if (row >= 0) {
      source = {row};
      used[static_cast<size_t>(row)] = true;
    }
    (row >= 0 ? out.kept : out.added).push_back(word);
    out.same = out.same && row == id;
    out.sources.push_back(std::move(source));
  }
  for (int32_t row = 0; row < theirs.size(); ++row)
    if (!used[static_cast<size_t>(row)]) out.dropped.push_back(theirs.word(row));
  return out;
}

}  // namespace nine
