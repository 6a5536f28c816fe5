// What a flag may be bound to: plain fields, and types whose values are written as one text.
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

/// How a type whose values are written as one text is read. Enumerations with a table of names
/// (core/enum_names.h) have it. Another type, which needs a free to_text(value), specialises it:
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

/// A field of a type with a text form, whichever type that is.
class TextField {
 public:
  virtual ~TextField() = default;
  virtual std::string text() const = 0;
  /// Sets the field. Throws Error, the field unchanged, for a text that is none of its values.
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

/// Flags of bool are --x and --no-x; vectors take one or more values and may be repeated; the pair
/// is "0.9,0.999".
using OptionField = std::variant<bool*, int*, int64_t*, uint64_t*, double*, std::string*,
                                 std::vector<std::string>*, std::array<double, 2>*, TextField*>;

}  // namespace nine::app
