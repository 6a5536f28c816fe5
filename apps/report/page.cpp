#include "apps/report/page.h"

#include "apps/report/text.h"
#include "core/error.h"

namespace nine::report {

// The policy makes browsers refuse any request, whatever slipped into the page.
std::string page_html(const std::string& title, const std::string& body) {
  return concat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n",
      "<meta name=\"color-scheme\" content=\"light dark\">\n",
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'\">\n",
      "<title>", escaped(title), "</title>\n<style>\n", kStyle,
      "</style>\n</head>\n<body>\n<main>\n", body, "</main>\n<script>\n", kScript,
      "</script>\n</body>\n</html>\n");
}

}  // namespace nine::report
