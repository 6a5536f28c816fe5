// Reads the fields of a request's JSON object. Every error names the field and what it expects.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"

namespace nine::app {

/// The fields of one JSON object. A field that is null counts as left out.
class RequestFields {
 public:
  /// Reads a request's body. ApiErrors (400): not UTF-8; not a JSON object of at most `levels`
  /// nested levels; a field is given twice.
  RequestFields(const std::string& body, int levels);

  /// Returns a field's value; null if it is left out.
  const Json* find(const std::string& name);
  /// Return the value of a field, or `usual` if it is left out. ApiError: another type, or a number
  /// outside of [low, high].
  bool flag(const std::string& name, bool usual);
  int64_t count(const std::string& name, int64_t usual, int64_t low, int64_t high);
  double number(const std::string& name, double usual, double low, double high);
  std::string text(const std::string& name, const std::string& usual = {});
  /// Returns a field that is a text or a list of texts; no texts if it is left out. ApiError:
  /// more than `most` texts.
  std::vector<std::string> texts(const std::string& name, int64_t most);
  /// Takes a field that has no effect, whatever its value, because it only describes the client.
  void ignore(const std::string& name) { find(name); }
  /// ApiError: the field is given with another value than `usual`; the message has `why`.
  void require_usual(const std::string& name, const Json& usual, const std::string& why);
  /// ApiError: a field was given that no call has asked for.
  void require_all_known() const;

 private:
  Json& object() const { return *object_; }

  std::shared_ptr<Json> object_;
  std::set<std::string> known_;
};

/// Throws an ApiError (400) that says which value the field has and what it should be.
[[noreturn]] void fail_field(const std::string& name, const Json& value,
                             const std::string& expected);

/// Returns a number for an answer; null for an infinite one, which JSON does not have.
Json json_number(double x);

}  // namespace nine::app
