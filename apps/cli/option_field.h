// The types to which a flag may be bound: plain fields, and types whose values are written as one
// text.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/enum_names.h"

namespace nine::app {

/// Says how to read a type whose values are written as one text. Enumerations with a table of names
/// (core/enum_names.h) have this specialisation. Another type needs a free function to_text(value)
/// and a specialisation:
///
///   template <>
///   struct TextForm<TrainingLength> {
///     static constexpr const char* kPlaceholder = "AMOUNT";  // in the help: --after AMOUNT
///     static constexpr const char* kValid = "an amount such as 10e";  // errors: "must be ..."
///     static std::vector<std::string> choices() { return {}; }  // all texts, where they are few
///     static TrainingLength from_text(std::string_view text);   // throws Error
///   };
template <class T>
struct TextForm;

template <NamedEnum E>
struct TextForm<E> {
  static constexpr const char* kPlaceholder = "TEXT";
  static constexpr const char* kValid = "a text";
  static std::vector<std::string> choices() { return enum_names<E>(); }
  static E from_text(std::string_view text) { return enum_from_text<E>(text); }
};

template <class T>
concept HasTextForm = requires(std::string_view text) {
  { TextForm<T>::from_text(text) } -> std::same_as<T>;
};

/// A field of any type with a text form.
class TextField {
 public:
  virtual ~TextField() = default;
  virtual std::string text() const = 0;
  /// Sets the field. Throws Error for a text that is not a value of the type; the field is then
  /// unchanged.
  virtual void set(const std::string& text) = 0;
  /// TextForm's members.
  virtual std::vector<std::string> choices() const = 0;
  virtual const char* placeholder() const = 0;
  virtual const char* valid() const = 0;
};

template <HasTextForm T>
class TextFieldOf final : public TextField {
 public:
  explicit TextFieldOf(T& field) : field_(field) {}
  std::string text() const override { return to_text(field_); }
  void set(const std::string& text) override { field_ = TextForm<T>::from_text(text); }
  std::vector<std::string> choices() const override { return TextForm<T>::choices(); }
  const char* placeholder() const override { return TextForm<T>::kPlaceholder; }
  const char* valid() const override { return TextForm<T>::kValid; }

 private:
  T& field_;
};

/// A field of a flag. Flags of bool are --x and --no-x. Flags of vectors take one or more values
/// and may be repeated. The pair is written "0.9,0.999".
using OptionField = std::variant<bool*, int*, int64_t*, uint64_t*, double*, std::string*,
                                 std::vector<std::string>*, std::array<double, 2>*, TextField*>;

}  // namespace nine::app
