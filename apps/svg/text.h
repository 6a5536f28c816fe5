// Text and numbers in pages and pictures: escaping for HTML, SVG and JSON, formatted numbers.
#pragma once

#include <string>
#include <string_view>

namespace nine::app {

/// `text` for HTML content and for attributes in double quotes. Control characters, those of
/// directions among them (U+202A to 202E, U+2066 to 2069), which would turn round what stands
/// behind them, and broken UTF-8 become U+FFFD.
std::string escaped(std::string_view text);

/// `text` escaped, for HTML content alone, as <bdi>: a word or name that may run from right to left
/// and so would turn round what stands beside it.
std::string isolated(std::string_view text);

/// A sentence, or a word of it, escaped for an element with dir="auto" or isolated() around it.
/// Words that a direction from right to left would change, such as &amp; and C++, are isolated.
std::string escaped_sentence(std::string_view text);

/// `text` as a JSON string with its quotes, safe inside a <script> element.
std::string json_string(std::string_view text);

/// Four significant digits and thousands separated by commas: 5,123 61.23 0.00031 1.2e-7; an en
/// dash when not finite.
std::string figure(double value);

/// A whole number with thousands separated by commas; an en dash when not finite.
std::string count(double value);

/// A number that is often whole: 3, 3.25, 12,000; an en dash when not finite.
std::string plain(double value);

/// An axis label: 12k, 1.5M, 0.001, 1e-5.
std::string compact(double value);

/// Up to `digits` significant digits, as JSON reads them; `null` when not finite.
std::string json_number(double value, int digits = 7);

/// `value` with at most two decimals, for coordinates and percentages.
std::string coordinate(double value);

/// Seconds as 8.2 s, 3 min 12 s, 2 h 14 min; an en dash when not finite.
std::string duration(double seconds);

/// "1 step", "12,000 steps".
std::string plural(double n, std::string_view noun);

}  // namespace nine::app
