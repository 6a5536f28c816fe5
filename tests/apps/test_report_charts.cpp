// The charts' numbers: colours, axes and how numbers are written.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "apps/report/figures.h"
#include "apps/svg/scale.h"
#include "apps/svg/text.h"
#include "tests/apps/report_pages.h"

namespace nine::tests::test_report_charts {

namespace fs = std::filesystem;
using nine::Json;

TEST_CASE("report: curves have the colours of kernel_inspect's figures") {
  const std::string page = nine::tests::slurp(NINE_SOURCE_DIR "/apps/report/report.css"),
                    figure = nine::tests::slurp(NINE_SOURCE_DIR "/apps/inspect/figure.css");
  const auto first_six = [](const std::string& css, size_t from) {
    const size_t begin = css.find("--c0:", from), end = css.find(';', css.find("--c5:", begin));
    REQUIRE(end != std::string::npos);
    return css.substr(begin, end - begin);
  };
  CHECK(first_six(page, 0) == first_six(figure, 0));
  const char* const dark = "prefers-color-scheme: dark";
  CHECK(first_six(page, page.find(dark)) == first_six(figure, figure.find(dark)));
}

TEST_CASE("report: formatted numbers") {
  using namespace nine::app;
  CHECK(figure(61.2345) == "61.23");
  CHECK(figure(5123.4) == "5,123");
  CHECK(figure(0.001) == "0.001");
  CHECK(figure(-0.5) == "-0.5");
  CHECK(figure(1.2e-7) == "1.2e-7");
  CHECK(figure(kAbsent) == "–");
  CHECK(count(1234567) == "1,234,567");
  CHECK(count(999) == "999");
  CHECK(count(-1234) == "-1,234");
  CHECK(compact(12000) == "12k");
  CHECK(compact(1.5e6) == "1.5M");
  CHECK(compact(0.0002) == "0.0002");
  CHECK(compact(1e-5) == "1e-5");
  CHECK(duration(8.25) == "8.2 s");
  CHECK(duration(192) == "3 min 12 s");
  CHECK(duration(8040) == "2 h 14 min");
  CHECK(duration(200000) == "2 d 7 h");
}

TEST_CASE("report: axes have a few round ticks inside") {
  using nine::app::value_axis;
  for (const auto& range : std::vector<std::pair<double, double>>{{61, 9000},
                                                                  {0.2, 4.8},
                                                                  {3, 3},
                                                                  {0, 0},
                                                                  {-5, 12},
                                                                  {1e-300, 1e300},
                                                                  {99.9, 100},
                                                                  {1e-9, 3e-9}}) {
    const double low = range.first, high = range.second;
    for (const bool from_zero : {false, true}) {
      const auto axis = value_axis(low, high, from_zero);
      CAPTURE(low);
      CAPTURE(high);
      CHECK(axis.scale.low <= low);
      CHECK(axis.scale.high >= high);
      CHECK(axis.ticks.size() >= 2);
      CHECK(axis.ticks.size() <= 12);
      for (const double tick : axis.ticks)
        CHECK((axis.scale.at(tick) >= -0.01 && axis.scale.at(tick) <= 1.01));
    }
  }
}

}  // namespace nine::tests::test_report_charts
