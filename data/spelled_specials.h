// Words of a text that are spelled as a special word, </s> say (HTML has <s> and </s>), and are
// therefore read as it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "data/vocabulary.h"

namespace nine {

/// Counts them, but for <unk>: a text that has it means it so.
class SpelledSpecials {
 public:
  explicit SpelledSpecials(const Specials& specials) : specials_(specials) {}

  /// The ids of a sentence's words, without the </s> that ends it.
  void add(std::span<const int32_t> ids);
  /// A line of kModelText (data/text.h), every word of which is looked up as it is spelled.
  void add_line(std::string_view line);

  /// "TEXT: 8 words are spelled </s>, which ends a sentence here; ..."; empty where there is no
  /// such word.
  std::string message(std::string_view text) const;

 private:
  bool is_counted(int32_t id) const { return id < specials_.size && id != specials_.unknown; }

  Specials specials_;
  std::array<int64_t, std::tuple_size_v<decltype(Specials::texts)>> counts_{};
};

}  // namespace nine
