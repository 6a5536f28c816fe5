#include "apps/nine_serve/stop_texts.h"

#include <algorithm>

#include "core/error.h"

namespace nine::app {

StopTexts::StopTexts(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    require(!text.empty(), "[StopTexts] a stop text is empty");
    Stop stop{text, {0}};
    for (size_t i = 1; i < text.size(); ++i)
      stop.shorter.push_back(next(stop, stop.shorter.back(), text[i]));
    stops_.push_back(std::move(stop));
  }
}

// Returns how many bytes match after `byte`, if `matched` bytes, fewer than all, match before.
uint32_t StopTexts::next(const Stop& stop, uint32_t matched, char byte) {
  while (matched > 0 && stop.text[matched] != byte) matched = stop.shorter[matched - 1];
  return stop.text[matched] == byte ? matched + 1 : 0;
}

size_t StopTexts::read(char byte, Matched& matched) const {
  matched.resize(stops_.size(), 0);
  size_t found = 0;
  for (size_t i = 0; i < stops_.size(); ++i) {
    matched[i] = next(stops_[i], matched[i], byte);
    if (matched[i] == stops_[i].text.size()) found = std::max<size_t>(found, matched[i]);
  }
  return found;
}

size_t StopTexts::held_back(const Matched& matched) {
  return matched.empty() ? 0 : *std::ranges::max_element(matched);
}

}  // namespace nine::app
