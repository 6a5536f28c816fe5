// What --version prints.
#pragma once

namespace nine::app {

inline constexpr const char* kVersion = "0.1.0";
inline constexpr const char* kVersionLine = "nine 0.1.0";

}  // namespace nine::app
