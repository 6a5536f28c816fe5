// Numbers as text, the same in every locale.
#pragma once

#include <string>

namespace nine {

/// Returns the shortest decimal text that reads back to the same double: "0.1", "1e-05", "nan".
std::string shortest(double value);

/// Returns `value` rounded to exactly `decimals` digits after the point: fixed(2.5, 2) is "2.50".
std::string fixed(double value, int decimals);

/// Returns e^exponent, such as a perplexity from nats per token, with `decimals` digits after the
/// point. From 1e9 on the text is "1.23457e+12"; above double's range it is "e^812.35".
std::string power_of_e(double exponent, int decimals);

}  // namespace nine
