// The keys of a config.json of Hugging Face's transformers. A key that is missing has the value
// that transformers gives it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace nine {

/// A second name that transformers reads for a key (its `attribute_map`).
struct OtherKeyName {
  const char *key, *other;
};

/// Reads keys and remembers which were read. All errors name the file and the key.
class HuggingFaceConfig {
 public:
  /// `place` names the file in messages. Keeps references to both.
  HuggingFaceConfig(const std::string& place, const Json& keys,
                    std::span<const OtherKeyName> other_names = {})
      : place_(place), keys_(keys), other_names_(other_names) {}

  /// Returns a value; null if the key is missing or null. Error: the key has two names in the file,
  /// with two values.
  const Json* find(const char* key) const;
  /// True if the key is there, null or not.
  bool has(const char* key) const;
  /// Checks a size against that of the tensors. `usual`, if given, is the value of a missing key.
  void size(const char* key, int64_t of_tensors, std::optional<int64_t> usual = {}) const;
  /// Returns a whole number from 1 on. Error: the key is missing or has another value.
  int64_t whole(const char* key) const;
  /// Return the value, or `usual` if the key is missing. Error: another type of value, or null.
  double number(const char* key, double usual) const;
  bool yes(const char* key, bool usual) const;
  std::string text(const char* key, const char* usual) const;
  /// Error: the key has another value than `only`, the one that Nine computes.
  void only(const char* key, const Json& only) const;
  /// Error: the key has another value than null.
  void refuse(const char* key, std::string_view reason) const;
  /// Returns the id of a token, the first of a list; `usual` if the key is missing, nullopt if it
  /// is null or an empty list.
  std::optional<int64_t> token(const char* key, std::optional<int64_t> usual) const;

  /// Returns the keys with a value that nobody asked for and that are not known to have no effect
  /// on what a model computes, as "'a', 'b'".
  std::string unread() const;

 private:
  // Returns the name under which the file has the key.
  const char* name_of(const char* key) const;
  const Json* said(const char* key) const;

  const std::string& place_;
  const Json& keys_;
  std::span<const OtherKeyName> other_names_;
  mutable std::set<std::string, std::less<>> read_;
};

}  // namespace nine
