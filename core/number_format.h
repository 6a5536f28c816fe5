// Numbers as text, the same in every locale.
#pragma once

#include <string>

namespace nine {

/// The shortest decimal text that reads back to the same double: "0.1", "1e-05", "nan".
std::string shortest(double value);

/// `value` rounded to exactly `decimals` digits after the point: fixed(2.5, 2) is "2.50".
std::string fixed(double value, int decimals);

}  // namespace nine
