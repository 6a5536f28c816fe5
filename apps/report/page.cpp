#include "apps/report/page.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "apps/svg/text.h"
#include "core/error.h"

namespace nine::app {

std::string page_html(const std::string& title, const std::string& body) {
  return page_html(title, body, kReportStyle, concat(kChartsScript, kLegendScript, kMapScript));
}

std::string page_html(const std::string& title, const std::string& body, std::string_view style,
                      std::string_view script) {
  // With this security policy browsers block every request, even if a text of the page contains
  // one.
  return concat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; font-src data:\">\n"
      "<title>",
      escaped(title), "</title>\n<style>\n\n", style, "</style>\n</head>\n<body>\n<main>\n", body,
      "</main>\n<script>\n\n", script, "</script>\n</body>\n</html>\n");
}

void require_own_page(const std::filesystem::path& file) {
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(file, ignored);
  require(!std::filesystem::is_symlink(status), file.string(),
          " is a symbolic link, and the page would replace what it leads to: remove the link");
  require(!std::filesystem::is_directory(status), file.string(),
          " is a directory, and the page is a file of this name: move the directory elsewhere");
  if (!std::filesystem::is_regular_file(status)) return;
  std::array<char, 4096> start{};
  std::ifstream in(file, std::ios::binary);
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  const std::string_view text(start.data(), static_cast<size_t>(in.gcount()));
  const std::string_view title = text.substr(std::min(text.find("<title>"), text.size()));
  require(text.empty() ||
              title.substr(0, title.find("</title>")).find("– Nine") != std::string_view::npos,
          file.string(), " is not a page that Nine wrote: move it elsewhere");
}

}  // namespace nine::app
