#include "core/notice.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

namespace nine {
namespace {

struct Notices {
  std::mutex mutex;
  std::set<std::string> said;
  std::function<void(const std::string&)> say = [](const std::string& text) {
    std::fprintf(stderr, "%s\n", text.c_str());
  };
};

Notices& notices() {
  static Notices all;
  return all;
}

}  // namespace

void notice(const std::string& text) {
  Notices& all = notices();
  const std::lock_guard lock(all.mutex);
  if (all.said.insert(text).second) all.say(text);
}

void set_notices(std::function<void(const std::string&)> say) {
  Notices& all = notices();
  const std::lock_guard lock(all.mutex);
  all.say = std::move(say);
}

}  // namespace nine
