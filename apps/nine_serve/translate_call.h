// Answers /translate and /languages as LibreTranslate does.
#pragma once

#include <string>
#include <vector>

#include "apps/nine_serve/translate_request.h"
#include "apps/nine_serve/worker.h"

namespace nine::app {

/// Returns the answer of /languages: each code with the codes into which it is translated.
std::string languages_json(const std::vector<ModelPointer>& models);

/// A call of /translate. Each line of a text is a sentence.
class TranslateCall : public Call {
 public:
  /// ApiErrors (400): no model, or more than one, translates between these languages; a line is too
  /// long; there are too many lines. With TranslateRequest::model: those of ServedModels::find().
  TranslateCall(const ServedModels& models, TranslateRequest request, const Limits& limits);
  std::string answer() const;

 private:
  TranslateRequest request_;
  std::vector<size_t> lines_;  // of each text
};

}  // namespace nine::app
