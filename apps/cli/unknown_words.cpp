#include "apps/cli/unknown_words.h"

#include <cstdio>

#include "core/error.h"
#include "core/number_format.h"
#include "data/spelled_specials.h"

namespace nine::app {

void add_max_unknown(Options& o, double& most) {
  o.add("max-unknown", most,
        "largest share of unknown words in a text; a larger share is an error, because the "
        "vocabulary does not fit the text; 1: accept any text")
      .range(0, 1)
      .called("share of unknown words");
}

std::string unknown_text(const std::string& text, int64_t unknown, int64_t tokens) {
  if (unknown == 0) return "";
  return concat(text, ": ",
                fixed(100 * static_cast<double>(unknown) / static_cast<double>(tokens), 2),
                "% of the tokens are unknown");
}

void say_spelled_specials(const SpelledSpecials& spelled, const std::string& text,
                          const std::function<void(std::string)>& say) {
  if (std::string message = spelled.message(text); !message.empty()) say(std::move(message));
}

void say_spelled_specials(const SpelledSpecials& spelled, const std::string& text,
                          const char* program) {
  say_spelled_specials(spelled, text, [&](const std::string& message) {
    std::fprintf(stderr, "%s: %s\n", program, message.c_str());
  });
}

}  // namespace nine::app
