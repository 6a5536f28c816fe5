#include "apps/cli/option_conflicts.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/cli/option_data.h"
#include "data/lower_case.h"

namespace nine::app {

void only_with(const Options& options, bool fits, const char* what,
               const std::vector<const char*>& keys) {
  if (fits) return;
  const auto now = options.to_json(), before = options.defaults_json();
  for (const char* key : keys)
    require_usage(now[key] == before[key], "--", flag_of(key), " is for ", what,
                  "; leave it out, or give the options that it needs");
}

void refuse_idle_flags(const Options& options, const std::vector<FlagUse>& flags) {
  const auto now = options.to_json(), before = options.defaults_json();
  for (const FlagUse& f : flags) {
    const std::string key = key_of(f.flag);
    require_usage(f.useful || now[key] == before[key], "--", f.flag,
                  " has no effect here: it needs ", f.needs);
  }
}

void refuse_empty(const Options& given, std::initializer_list<const char*> keys) {
  const auto now = given.to_json();
  for (const char* key : keys)
    require_usage(!given.was_set(flag_of(key)) || !is_empty_text(now[key]), "--", flag_of(key),
                  " '': is empty; give a name, or leave the option out");
}

void require_format(const char* flag, const std::string& file, const char* what,
                    std::string_view ending) {
  constexpr std::array<std::string_view, 20> kEndings{
      ".bmp", ".csv", ".eps", ".gif", ".gz",   ".htm", ".html", ".jpeg", ".jpg",  ".json",
      ".pdf", ".png", ".ps",  ".svg", ".svgz", ".tif", ".tiff", ".txt",  ".webp", ".zip"};
  const std::string own = lower_case(std::filesystem::path(file).extension().string());
  if (own == ending || (ending == ".html" && own == ".htm")) return;
  require_usage(std::ranges::find(kEndings, own) == kEndings.end(), flag, " ", file, ": ", what,
                " is written, whatever the name; give a name that ends with ", ending);
}

}  // namespace nine::app
