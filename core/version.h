// The version of Nine.
#pragma once

namespace nine {

extern const char* const kVersion;      ///< project(VERSION) of CMakeLists.txt: "0.2.0"
extern const char* const kVersionLine;  ///< "nine 0.2.0"

}  // namespace nine
