// Scaled rotary angles: the numbers, the text, and the angles of a model.
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "nn/rotary_angles.h"
#include "nn/rotary_scaling.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_rotary_scaling {

TEST_CASE("rotary scaling: a text is read and written back, and other texts are refused") {
  for (const char* text :
       {"none", "linear:8", "linear:2.5", "llama3:factor=8,low=1,high=4,length=8192",
        "llama3:factor=32,low=0.5,high=3,length=16"})
    CHECK(to_text(RotaryScaling::from_text(text)) == text);
  CHECK(to_text(RotaryScaling::from_text("llama3:factor=8")) ==
        "llama3:factor=8,low=1,high=4,length=8192");
  const auto error = [](const char* text) {
    return error_of([&] { static_cast<void>(RotaryScaling::from_text(text)); });
  };
  CHECK(has(error("yarn:2"), "'yarn:2' is no rotary scaling: none, linear:8 or llama3:factor=8"));
  CHECK(has(error("linear"), "is no rotary scaling"));
  CHECK(has(error("linear:x"), "has 'x' for a number"));
  CHECK(has(error("linear:0.5"), "has the factor 0.5, and a number from 1 to 1"));
  CHECK(has(error("linear:1e308"), "has the factor 1e+308, and a number from 1 to 1"));
  CHECK(has(error("llama3:factor=8,factor=2"), "has 'factor' twice"));
  CHECK(has(error("llama3:factor=8,"), "has ''"));
  CHECK(has(error("llama3:"), "has ''"));
  CHECK(has(error("linear:inf"), "has 'inf' for a number"));
  CHECK(has(error("llama3:low=1"), "has no factor"));
  CHECK(has(error("llama3:factor=8,low=4,high=4"), "0 < low < high"));
  CHECK(has(error("llama3:factor=8,length=2.5"), "has the length 2.5"));
  CHECK(has(error("llama3:factor=8,width=2"), "has 'width=2'"));
}

TEST_CASE("rotary scaling: wavelengths decide in llama3, and linear divides all angles") {
  const RotaryScaling linear = RotaryScaling::from_text("linear:4"),
                      llama3 = RotaryScaling::from_text("llama3:factor=8,low=1,high=4,length=64");
  const auto of_wavelength = [](double positions) { return 2 * std::numbers::pi / positions; };
  CHECK(linear.divisor(1e-3) == 4);
  CHECK(linear.divisor(1) == 4);
  CHECK(RotaryScaling().divisor(1) == 1);
  CHECK(llama3.divisor(of_wavelength(15.9)) == 1);  // less than 64 / 4
  CHECK(llama3.divisor(of_wavelength(64.1)) == 8);  // more than 64 / 1
  // Half of the way: 64 / 25.6 = 2.5 = (1 + 4) / 2 wavelengths.
  CHECK(1 / llama3.divisor(of_wavelength(25.6)) == doctest::Approx(0.5 / 8 + 0.5));
  // The angles of a table.
  const RotaryAngles plain(6, 4, 100), scaled(6, 4, 100, linear);
  const std::vector<double> whole = plain.table(DType::float64, kCpu).to_vector(),
                            quarter = scaled.table(DType::float64, kCpu).to_vector();
  for (size_t i = 0; i < 4; ++i)  // position 1 of the plain table is position 4 of the other
    CHECK(quarter[4 * 4 + i] == doctest::Approx(whole[1 * 4 + i]).epsilon(1e-12));
  CHECK(quarter[4 + 2] == doctest::Approx(std::sin(0.25)));
}

}  // namespace nine::tests::test_rotary_scaling
