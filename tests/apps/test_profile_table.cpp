// What --profile measures a machine's rates with.
#include "apps/training/profile_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "checks/values.h"

namespace nine::tests::test_profile_table {

TEST_CASE("profile: the numbers of products are random, also beyond the block that is drawn") {
  for (const int64_t n : {int64_t{1}, int64_t{1000}, (int64_t{1} << 20) + 77}) {
    CAPTURE(n);
    const Tensor t({n}, DType::float32);
    app::fill_randomly(t);
    const checks::Doubles x = t.to_vector();
    CHECK(*std::min_element(x.begin(), x.end()) >= -1);
    CHECK(*std::max_element(x.begin(), x.end()) < 1);
    if (n == 1) continue;
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(n);
    CHECK(std::abs(mean) <
          5 * std::sqrt(1.0 / 3 / static_cast<double>(std::min(n, int64_t{1} << 20))));
    const std::set<double> last(x.end() - 70, x.end());
    CHECK(last.size() == 70);
  }
}

}  // namespace nine::tests::test_profile_table
