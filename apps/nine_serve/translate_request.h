// The request of /translate (LibreTranslate, "Translate text").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/nine_serve/limits.h"

namespace nine::app {

/// The fields of the request: LibreTranslate's, and `model`, `beam`, `length_penalty` and
/// `attention` of our own.
struct TranslateRequest {
  std::vector<std::string> q;  ///< the texts
  bool is_list = false;        ///< q was a list, so that the answer has lists
  std::string source, target;  ///< codes of languages; source may be "auto"
  std::string api_key;         ///< the token, if no header has it
  std::string model;           ///< instead of the languages
  int64_t alternatives = 0;    ///< further translations of each text
  int64_t beam = 5;
  double length_penalty = 1;
  bool attention = false;
};

/// Reads the request: JSON, or a form (application/x-www-form-urlencoded). ApiErrors (400) name
/// the field.
TranslateRequest parse_translate(const std::string& body, const std::string& content_type,
                                 const Limits& limits);

}  // namespace nine::app
