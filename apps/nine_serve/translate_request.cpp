#include "apps/nine_serve/translate_request.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/nine_serve/api_error.h"
#include "apps/nine_serve/request_fields.h"
#include "core/quote.h"
#include "data/tokenizers/model_tokenizer.h"

namespace nine::app {
namespace {

// Decodes a form's text: + is a space, and %41 is a byte.
std::string form_text(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const bool whole = i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    if (!whole) throw ApiError(400, "the form has a % without two hexadecimal digits");
    out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
    i += 2;
  }
  return out;
}

// Returns the JSON object of a form's fields. A whole number stays a number.
Json json_of_form(std::string_view form) {
  constexpr size_t kMostFields = 64;  // each is compared with all others
  Json out = Json::object();
  while (!form.empty()) {
    const std::string_view field = form.substr(0, form.find('&'));
    form.remove_prefix(std::min(form.size(), field.size() + 1));
    const size_t equals = field.find('=');
    const std::string name = form_text(field.substr(0, equals)),
                      value = equals == std::string_view::npos
                                  ? ""
                                  : form_text(field.substr(equals + 1));
    if (visible_text(name) != name || visible_text(value) != value)
      throw ApiError(400, "the form is not UTF-8");
    if (out.contains(name)) throw ApiError(400, concat("the form has ", name, " twice"), name);
    if (out.size() == kMostFields)
      throw ApiError(400, concat("the form has more than ", kMostFields, " fields"));
    const bool number = name == "alternatives" && !value.empty() && value.size() < 10 &&
                        std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
    out[name] = number ? Json(std::stoll(value)) : Json(value);
  }
  return out;
}

}  // namespace

TranslateRequest parse_translate(const std::string& body, const std::string& content_type,
                                 const Limits& limits) {
  const bool form =
      content_type.starts_with("application/x-www-form-urlencoded") && !body.starts_with('{');
  RequestFields fields(form ? json_text(json_of_form(body)) : body, limits.json_levels);
  TranslateRequest r;
  const Json* const q = fields.find("q");
  require_field(q != nullptr, "q", "the key 'q' is missing: give the text to translate");
  r.is_list = q->is_array();
  r.q = fields.texts("q", limits.texts);
  r.source = fields.text("source", "auto");
  r.target = fields.text("target");
  r.api_key = fields.text("api_key");
  r.model = fields.text("model");
  const std::string format = fields.text("format", "text");
  require_field(format == "text", "format", "the format ", quote(format),
                " is not read: send plain text as \"text\"");
  r.beam = fields.count("beam", 5, 1, 64);
  r.alternatives = fields.count("alternatives", 0, 0, 16);
  r.beam = std::max(r.beam, r.alternatives + 1);
  r.length_penalty = fields.number("length_penalty", 1, -10, 10);
  r.attention = fields.flag("attention", false);
  fields.require_all_known();
  return r;
}

}  // namespace nine::app
