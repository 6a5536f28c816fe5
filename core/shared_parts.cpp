#include "core/shared_parts.h"

#include <algorithm>

namespace nine {

void for_shared_parts(Communicator& communicator, int64_t parts,
                      const std::function<std::string(int64_t)>& make,
                      const std::function<void(std::string_view)>& take) {
  const int64_t size = communicator.size();
  for (int64_t first = 0; first < parts; first += size) {
    const int64_t mine = first + communicator.rank(), count = std::min(size, parts - first);
    const std::string own = mine < parts ? make(mine) : "";
    if (size == 1) {
      take(own);
      continue;
    }
    const std::vector<std::string> all = communicator.all_gather(own);
    for (int64_t i = 0; i < count; ++i) take(all[static_cast<size_t>(i)]);
  }
}

}  // namespace nine
