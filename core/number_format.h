// Numbers as text, the same in every locale.
#pragma once

#include <string>

namespace nine {

/// The shortest decimal text that reads back to the same double: "0.1", "1e-05", "nan".
std::string shortest(double value);

/// `value` rounded to exactly `decimals` digits after the point: fixed(2.5, 2) is "2.50".
std::string fixed(double value, int decimals);

/// e to the power `exponent`, such as a perplexity of nats per token, in that form; from 1e9 on
/// "1.23457e+12", and "e^812.35" where that is too large for a double.
std::string power_of_e(double exponent, int decimals);

}  // namespace nine
