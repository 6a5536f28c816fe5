#include "apps/report/page.h"

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

}  // namespace nine::app
