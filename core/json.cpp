#include "core/json.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/json_stream.h"
#include "core/quote.h"

namespace nine {
namespace {

// A place in a text that remembers how far the parser has read.
struct ReadingPlace {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  const char* at;
  const char** read;

  const char& operator*() const { return *at; }
  ReadingPlace& operator++() {
    *read = ++at;
    return *this;
  }
  bool operator==(const ReadingPlace& other) const { return at == other.at; }
};

// Returns the place of the last character of `read` in the library's form: " (line 2, column 5)".
std::string place_text(std::string_view read) {
  const size_t line_begin = read.rfind('\n') + 1;  // 0 on the first line
  return concat(" (line ", 1 + std::count(read.begin(), read.end(), '\n'), ", column ",
                read.size() - line_begin, ")");
}

// What the library says before it quotes a number that is too large.
constexpr std::string_view kOverflow = "number overflow parsing '";

// Keeps only the end of the text that a message of the library quotes, at most 60 characters.
std::string short_what(std::string what) {
  constexpr size_t kMost = 60;
  for (const std::string_view before : {std::string_view("last read: '"), kOverflow}) {
    size_t begin = what.find(before);
    if (begin == std::string::npos) continue;
    begin += before.size();
    size_t end = what.rfind("'; expected ");
    if (end == std::string::npos || end < begin) end = what.rfind('\'');
    if (end <= begin + kMost) break;
    size_t kept = end - kMost;
    while (kept < end && (static_cast<unsigned char>(what[kept]) & 0xc0u) == 0x80u) ++kept;
    what.replace(begin, kept - begin, "...");
    break;
  }
  return what;
}

// Builds a value from the parser's events, in a time that is linear in the text. (The library's own
// builder looks through all members of an object for each new key.)
class Builder : public nlohmann::json_sax<Json> {
 public:
  // `place` returns the place that is read, for errors.
  Builder(int max_levels, std::function<std::string()> place,
          std::span<const JsonStream> streams = {})
      : max_levels_(max_levels), place_(std::move(place)), streams_(streams) {}

  Json root;
  std::string repeated, too_deep, wrong;  // the first complaint of each kind; empty: none

  bool null() override { return put(Json()); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& value) override {
    Open& object = open_.back();
    if (object.stream != nullptr) {
      key_ = std::move(value);
      return true;
    }
    const auto [known, is_new] = object.members.emplace(value, object.value->size());
    if (!is_new && repeated.empty())
      repeated = concat('"', shortened(value), "\" is given twice", place_());
    member_ = known->second;
    key_ = std::move(value);
    return true;
  }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& e) override {
    const std::string what = json_error_text(e.what());
    if (what.starts_with(kOverflow)) {
      wrong = concat("has the number ",
                     what.substr(kOverflow.size(), what.size() - kOverflow.size() - 1),
                     ", which is too large for a double", place_());
    } else {
      wrong = concat("is not JSON: ", what,
                     what.find(" at line ") == std::string::npos ? place_() : "");
    }
    return false;
  }

 private:
  struct Open {
    Json* value;                                      // it does not move while it is open
    std::unordered_map<std::string, size_t> members;  // of an object: their places
    std::string key;                                  // under which its object has it
    const JsonStream* stream = nullptr;               // that takes its elements
  };

  Json& add(Json value) {
    if (open_.empty()) return root = std::move(value);
    if (open_.back().stream != nullptr) {
      element_key_ = std::move(key_);
      return element_ = std::move(value);
    }
    Json& parent = *open_.back().value;
    if (parent.is_array()) return parent.get_ref<Json::array_t&>().emplace_back(std::move(value));
    auto& members = parent.get_ref<Json::object_t&>();
    const auto known = members.begin() + static_cast<std::ptrdiff_t>(member_);
    if (known != members.end()) return known->second = std::move(value);
    return members.emplace_back(std::move(key_), std::move(value)).second;
  }
  bool put(Json value) {
    add(std::move(value));
    take_element();
    return true;
  }
  // Gives the element that is complete to the stream of its array or object.
  void take_element() {
    if (open_.empty() || open_.back().stream == nullptr) return;
    open_.back().stream->take(open_.back().value->is_object() ? &element_key_ : nullptr, element_);
  }
  const JsonStream* stream_of(const std::string& key) const {
    constexpr size_t kLevels = 2;  // the streams' level: the root and the parent are open
    if (open_.size() != kLevels || !open_[0].value->is_object() || !open_[1].value->is_object())
      return nullptr;
    const auto found = std::ranges::find_if(streams_, [&](const JsonStream& stream) {
      return stream.parent == open_[1].key && stream.name == key;
    });
    return found == streams_.end() ? nullptr : &*found;
  }
  bool open(Json value) {
    if (open_.size() >= static_cast<size_t>(max_levels_)) {
      too_deep = concat("is nested more deeply than ", max_levels_, " levels", place_());
      return false;
    }
    std::string key = open_.empty() || !open_.back().value->is_object() ? "" : key_;
    const JsonStream* const stream = stream_of(key);
    Json& added = add(std::move(value));
    open_.push_back({&added, {}, std::move(key), stream});
    return true;
  }
  bool close() {
    open_.pop_back();
    take_element();
    return true;
  }

  const int max_levels_;
  const std::function<std::string()> place_;
  const std::span<const JsonStream> streams_;
  std::vector<Open> open_;
  std::string key_;
  size_t member_ = 0;  // the place of key_ among the members of the open object
  Json element_;       // of a stream
  std::string element_key_;
};

Json parse(const std::string& text, int max_levels, std::span<const JsonStream> streams) {
  const char *const begin = text.data(), *const end = begin + text.size(), *read = begin;
  Builder builder(
      max_levels,
      [&] {
        return place_text({begin, static_cast<size_t>(read - begin)});
      },
      streams);
  Json::sax_parse(ReadingPlace{begin, &read}, ReadingPlace{end, &read}, &builder);
  for (const std::string* what : {&builder.too_deep, &builder.wrong, &builder.repeated})
    if (!what->empty()) throw UsageError(*what);
  return std::move(builder.root);
}

}  // namespace

Json parse_json(const std::string& text, int max_levels) { return parse(text, max_levels, {}); }

Json parse_json_object(std::string_view text) {
  Builder builder(kJsonLevels, [] { return std::string(); });
  return Json::sax_parse(text, &builder) && builder.root.is_object() ? std::move(builder.root)
                                                                     : Json();
}

Json require_json_object(const std::string& text) { return require_json_object(text, {}); }

Json require_json_object(const std::string& text, std::span<const JsonStream> streams) {
  Json value;
  try {
    value = parse(text, kJsonLevels, streams);
  } catch (const UsageError& e) {
    const std::string_view what = e.what();
    const bool of_file = what.starts_with("is ") || what.starts_with("has ");
    throw UsageError(concat("is not a JSON object: ", of_file ? "it " : "", what));
  }
  if (!value.is_object()) throw UsageError("is not a JSON object");
  return value;
}

Json read_json_object(const std::filesystem::path& file, std::string_view instead) {
  const std::string text = read_text(file);
  try {
    return require_json_object(text);
  } catch (const UsageError& e) {
    fail(file.string(), " ", e.what(), instead);
  }
}

std::string unexpected_value(std::string_view key, const Json& value, std::string_view expected) {
  return concat("the key '", key, "' is ", shortened(json_text(value)), ", and ", expected,
                " was expected");
}

bool is_empty_text(const Json& value) {
  return value.is_string() && value.get_ref<const std::string&>().empty();
}

std::string json_error_text(std::string message) {
  const size_t id_end = message.find("] ");
  if (!message.starts_with("[json.exception.") || id_end == std::string::npos) return message;
  return short_what(message.substr(id_end + 2));
}

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nine
