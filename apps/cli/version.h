// The version of the programs: what --version prints, and what checkpoints name.
#pragma once

namespace nine::app {

extern const char* const kVersion;      ///< project(VERSION) of CMakeLists.txt: "0.2.0"
extern const char* const kVersionLine;  ///< "nine 0.2.0"

}  // namespace nine::app
