#include "data/spelled_specials.h"

#include "core/error.h"
#include "data/text.h"

namespace nine {

void SpelledSpecials::add(std::span<const int32_t> ids) {
  for (const int32_t id : ids)
    if (is_counted(id)) ++counts_[static_cast<size_t>(id)];
}

void SpelledSpecials::add_beginning(std::string_view line) {
  marks_ += line.starts_with(kByteOrderMark) ? 1 : 0;
}

void SpelledSpecials::add_line(std::string_view line) {
  add_beginning(line);
  for_each_word(line, [&](std::string_view word) {
    for (int32_t id = 0; id < specials_.size; ++id)
      if (word == specials_.text(id) && is_counted(id)) ++counts_[static_cast<size_t>(id)];
  });
}

std::string SpelledSpecials::message(std::string_view text) const {
  std::string out;
  for (int32_t id = 0; id < specials_.size; ++id) {
    const int64_t count = counts_[static_cast<size_t>(id)];
    if (count == 0) continue;
    out += concat(out.empty() ? concat(text, ": ") : "; ", count,
                  count == 1 ? " word is spelled " : " words are spelled ", specials_.text(id),
                  id == specials_.end   ? ", which ends a sentence here"
                  : id == specials_.pad ? ", which fills up batches here"
                                        : ", which begins a sentence here");
  }
  if (marks_ > 0)
    out +=
        concat(out.empty() ? concat(text, ": ") : "; ", marks_,
               marks_ == 1 ? " line begins" : " lines begin",
               " with a byte-order mark (U+FEFF) inside the text, as where files were joined; it "
               "is a part of the first word: remove it, for example with `sed "
               "'s/^\\xEF\\xBB\\xBF//'`");
  return out;
}

}  // namespace nine
