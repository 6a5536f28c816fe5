#include "data/tokenizers/token_list.h"

#include "core/error.h"
#include "core/quote.h"

namespace nine {

void TokenList::add(std::string_view token, int64_t id) {
  require(id >= 0 && id <= kMostId, "the token ", quote(token), " has the id ", id,
          ", which is not from 0 to ", kMostId);
  require(find(token) == kNone, "the token ", quote(token), " has two ids, ", find(token), " and ",
          id);
  require(!has(id), "the id ", id, " has two tokens, ",
          quote(has(id) ? this->token(static_cast<int32_t>(id)) : ""), " and ", quote(token));
  texts_.add(token);
  ids_.push_back(static_cast<int32_t>(id));
  if (id >= size()) numbers_.resize(static_cast<size_t>(id) + 1, kNone);
  numbers_[static_cast<size_t>(id)] = texts_.size() - 1;
}

void TokenList::check_gaps() const {
  constexpr int32_t kMostGaps = 100'000;
  require(size() - tokens() <= kMostGaps || size() <= 2 * int64_t{tokens()}, "the largest id is ",
          size() - 1, ", but there are only ", tokens(), " tokens");
}

}  // namespace nine
