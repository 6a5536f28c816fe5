// The frame of a page: head, style sheet and script around the content.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace nine::app {

/// apps/report/report.css, built into the program: light and dark, wide and narrow. The curves'
/// colours keep a distance (CIE76) of at least 15 from each other for normal, protan, deutan and
/// tritan sight, and a contrast of 3:1 or more to the ground. --depth is the share of the accent
/// colour in a full cell of an attention map, low enough for the number in it to be read.
extern const std::string_view kReportStyle;
/// The page's scripts, charts.js, legend.js and map.js of apps/report in this order: charts with
/// exact values by pointer and arrow keys, a legend that switches curves in all of them, and the
/// words of a map by pointer, arrow keys and name. The page shows everything important without
/// them.
extern const std::string_view kChartsScript, kLegendScript, kMapScript;

/// A whole HTML page that fetches nothing. `title` is text, `body` is HTML.
std::string page_html(const std::string& title, const std::string& body);
/// The same with another style sheet and script.
std::string page_html(const std::string& title, const std::string& body, std::string_view style,
                      std::string_view script);

/// For a page whose name nobody gave. Error: its file is there and is not a page that Nine wrote,
/// or is a symbolic link, so that writing the page would replace a file of the user's.
void require_own_page(const std::filesystem::path& file);

}  // namespace nine::app
