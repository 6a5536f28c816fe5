// The page of the server.
#pragma once

#include <string_view>

namespace nine::app {

/// apps/nine_serve/page.html, built into the program. It asks this server alone.
extern const std::string_view kServePage;

}  // namespace nine::app
