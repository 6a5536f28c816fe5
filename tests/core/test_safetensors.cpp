// The safetensors reader and writer, and the checksum.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/crc32c.h"
#include "core/safetensors.h"
#include "tests/support/programs.h"
#include "tests/support/skip.h"
#include "tests/support/support.h"

namespace nine::tests::test_safetensors {

namespace fs = std::filesystem;

namespace {

std::string with_length(const std::string& header, const std::string& data = "") {
  const uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + header + data;
}

// What the reader says about a file of these bytes; "" when it reads it.
std::string complaint(const std::string& bytes) {
  const Scratch scratch;
  put(scratch / "x.safetensors", bytes);
  try {
    read_safetensors(scratch / "x.safetensors");
    return "";
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("x.safetensors") != std::string::npos);
    return e.what();
  }
}

std::string complaint_of_header(const std::string& header, size_t data_bytes = 0) {
  return complaint(with_length(header, std::string(data_bytes, '\0')));
}

// Substring, with both texts in the report.
void check_says(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CAPTURE(part);
  CHECK(text.find(part) != std::string::npos);
}

// safetensors 0.8.0 (Python): save({"a": float32 [[1, -2.5], [0, 3]], "b": int32 [7, -1]},
// metadata={"format": "pt"}).
const std::string kGolden = with_length(
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"b":{"dtype":"I32","shape":[2],"data_offsets":[16,24]}} )",
    std::string("\x00\x00\x80\x3f\x00\x00\x20\xc0\x00\x00\x00\x00\x00\x00\x40\x40\x07\x00\x00\x00"
                "\xff\xff\xff\xff",
                24));

}  // namespace

TEST_CASE("crc32c: known vectors") {
  CHECK(crc32c(0, "", 0) == 0);
  CHECK(crc32c(0, "123456789", 9) == 0xe3069283u);
  // RFC 3720, B.4
  std::vector<unsigned char> bytes(32, 0);
  CHECK(crc32c(0, bytes.data(), 32) == 0x8a9136aau);
  std::fill(bytes.begin(), bytes.end(), static_cast<unsigned char>(0xff));
  CHECK(crc32c(0, bytes.data(), 32) == 0x62a8ab43u);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
  CHECK(crc32c(0, bytes.data(), 32) == 0x46dd794eu);
}

TEST_CASE("crc32c: instruction and tables agree, at any start, length and cut") {
  std::vector<unsigned char> bytes(300);
  uint32_t x = 1;
  for (auto& b : bytes) b = static_cast<unsigned char>((x = x * 1664525u + 1013904223u) >> 24);
  for (size_t start = 0; start < 9; ++start)
    for (size_t size = 0; start + size <= bytes.size(); ++size) {
      const uint32_t whole = crc32c(0, bytes.data() + start, size);
      REQUIRE(whole == detail::crc32c_by_table(0, bytes.data() + start, size));
      const size_t cut = size / 3;
      REQUIRE(whole ==
              crc32c(crc32c(0, bytes.data() + start, cut), bytes.data() + start + cut, size - cut));
      REQUIRE(whole ==
              detail::crc32c_by_table(detail::crc32c_by_table(0, bytes.data() + start, cut),
                                      bytes.data() + start + cut, size - cut));
    }
}

TEST_CASE("safetensors: byte for byte what the reference writes") {
  const Scratch scratch;
  const Tensor a = Tensor::from<float>({1, -2.5, 0, 3}, {2, 2});
  const Tensor b = Tensor::from<int32_t>({7, -1}, {2});
  const auto digest = write_safetensors(scratch / "g", {{"a", a}, {"b", b}}, {{"format", "pt"}});
  CHECK(slurp(scratch / "g") == kGolden);
  CHECK(digest == FileDigest{kGolden.size(), crc32c(0, kGolden.data(), kGolden.size())});

  put(scratch / "g", kGolden);
  const Safetensors read = read_safetensors(scratch / "g");
  CHECK(read.metadata == std::map<std::string, std::string>{{"format", "pt"}});
  CHECK(read.tensors.size() == 2);
  CHECK(read.at("a").shape() == Shape{2, 2});
  CHECK(read.at("a").to_vector() == std::vector<double>{1, -2.5, 0, 3});
  CHECK(read.at("b").dtype() == DType::int32);
  CHECK(read.at("b").to_vector() == std::vector<double>{7, -1});
  check_says(error_of([&] { read.at("c"); }), "no tensor 'c'; there are: a, b");
}

TEST_CASE("safetensors: every dtype and rank comes back with the same bits") {
  const Scratch scratch;
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  const Tensor f32 = Tensor::from<float>({nan, inf, -inf, -0.f, 1e-45f, 3.4e38f}, {1, 2, 3, 1});
  const Tensor f64 = Tensor::from<double>({1.0 / 3, -5e-324, 1e308}, {3});
  const Tensor bf16 = Tensor::from<bfloat16>({bfloat16(1.5f), bfloat16(-3.f), bfloat16(inf)},
                                             {3, 1});  // 6 bytes: what follows lies unaligned
  const Tensor i32 = Tensor::from<int32_t>({INT32_MIN, INT32_MAX}, {2});
  const Tensor scalar = Tensor::from<double>({2.5}, {});
  const Tensor empty(Shape{0, 5}, DType::float32);
  write_safetensors(scratch / "x", {{"bf16", bf16},
                                    {"none", empty},
                                    {"f32", f32},
                                    {"f64", f64},
                                    {"i32", i32},
                                    {"scalar", scalar},
                                    {"Zoë \"\n", i32}});
  const Safetensors read = read_safetensors(scratch / "x");
  const auto same = [&](const std::string& name, const Tensor& t) {
    CAPTURE(name);
    const Tensor& r = read.at(name);
    CHECK(r.dtype() == t.dtype());
    CHECK(r.shape() == t.shape());
    CHECK(std::memcmp(r.view().data, t.view().data, static_cast<size_t>(t.view().bytes())) == 0);
  };
  CHECK(read.tensors.size() == 7);
  CHECK(read.metadata.empty());
  same("bf16", bf16);
  same("none", empty);
  same("f32", f32);
  same("f64", f64);
  same("i32", i32);
  same("scalar", scalar);
  same("Zoë \"\n", i32);
}

TEST_CASE("safetensors: no tensors, and header length a multiple of eight") {
  const Scratch scratch;
  CHECK(write_safetensors(scratch / "x", {}).bytes == 16);
  CHECK(slurp(scratch / "x") == with_length("{}      "));
  CHECK(read_safetensors(scratch / "x").tensors.empty());
  const Tensor t = Tensor::from<float>({1}, {1});
  for (std::string name = "a"; name.size() < 12; name += 'a')
    CHECK(write_safetensors(scratch / "x", {{name, t}}).bytes % 8 == 4);
}

TEST_CASE("safetensors: views with a leading dimension are written without gaps") {
  const Scratch scratch;
  std::vector<double> values(12);
  std::iota(values.begin(), values.end(), 0.0);
  const Tensor t = Tensor::from(values, {3, 4});
  const auto digest =
      write_safetensors(scratch / "x", {{"columns", t.col_range(1, 2)},
                                        {"rows", t.row_range(1, 2)},
                                        {"row", t.row_range(2, 1).col_range(3, 1)}});
  const std::string bytes = slurp(scratch / "x");
  CHECK(digest == FileDigest{bytes.size(), crc32c(0, bytes.data(), bytes.size())});
  const Safetensors read = read_safetensors(scratch / "x");
  CHECK(read.at("columns").to_vector() == std::vector<double>{1, 2, 5, 6, 9, 10});
  CHECK(read.at("rows").to_vector() == std::vector<double>{4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(read.at("row").to_vector() == std::vector<double>{11});
}

TEST_CASE("safetensors: tensors larger than the write buffer") {
  const Scratch scratch;
  std::vector<int32_t> values(700'001);
  std::iota(values.begin(), values.end(), 0);
  const Tensor big = Tensor::from(values, {700'001});
  const Tensor small = Tensor::from<int32_t>({42}, {1});
  const auto digest =
      write_safetensors(scratch / "x", {{"s", small}, {"big", big}, {"t", small}, {"again", big}});
  const std::string bytes = slurp(scratch / "x");
  CHECK(digest == FileDigest{bytes.size(), crc32c(0, bytes.data(), bytes.size())});
  const Safetensors read = read_safetensors(scratch / "x");
  CHECK(std::equal(values.begin(), values.end(), read.at("again").data<int32_t>()));
  CHECK(std::equal(values.begin(), values.end(), read.at("big").data<int32_t>()));
  CHECK(read.at("t").to_vector() == std::vector<double>{42});
}

TEST_CASE("safetensors: half floats and 64-bit integers are converted") {
  // numpy float16: 1, -2, 65504, the smallest subnormal, the largest subnormal, -0, inf, nan
  const std::string halves("\x00\x3c\x00\xc0\xff\x7b\x01\x00\xff\x03\x00\x80\x00\x7c\x00\x7e", 16);
  const Scratch scratch;
  put(scratch / "h",
      with_length(R"({"h":{"dtype":"F16","shape":[8],"data_offsets":[0,16]}})", halves));
  const Safetensors half = read_safetensors(scratch / "h");
  CHECK(half.at("h").dtype() == DType::float32);
  const auto h = half.at("h").to_vector();
  CHECK(std::vector<double>(h.begin(), h.begin() + 6) ==
        std::vector<double>{1, -2, 65504, std::ldexp(1, -24), std::ldexp(1023, -24), 0});
  CHECK(std::signbit(h[5]));
  CHECK(h[6] == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(h[7]));

  const auto longs = [](int64_t a, int64_t b) {
    std::string data(16, '\0');
    std::memcpy(data.data(), &a, 8);
    std::memcpy(data.data() + 8, &b, 8);
    return with_length(R"({"n":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}})", data);
  };
  put(scratch / "n", longs(INT32_MIN, INT32_MAX));
  CHECK(read_safetensors(scratch / "n").at("n").to_vector() ==
        std::vector<double>{INT32_MIN, INT32_MAX});
  check_says(complaint(longs(0, int64_t{INT32_MAX} + 1)),
             "tensor 'n' holds 2147483648, which does not fit into int32");
  check_says(complaint(longs(int64_t{INT32_MIN} - 1, 0)), "does not fit into int32");
}

TEST_CASE("safetensors: what the writer refuses") {
  const Scratch scratch;
  const Tensor t = Tensor::from<float>({1}, {1});
  const auto refusal = [&](const std::vector<NamedView>& tensors,
                           const std::map<std::string, std::string>& metadata = {}) {
    return error_of([&] { write_safetensors(scratch / "x", tensors, metadata); });
  };
  check_says(refusal({{"a", t}, {"a", t}}), "tensor 'a' occurs twice");
  check_says(refusal({{"__metadata__", t}}), "rename the tensor");
  check_says(refusal({{"\xff", t}}), "UTF-8");
  check_says(refusal({}, {{"k", "\xff"}}), "UTF-8");
  View view = t.view();
  view.data = nullptr;
  check_says(refusal({{"a", view}}), "has no memory");
  for (const DType type : {DType::int64, DType::boolean})
    check_says(refusal({{"a", Tensor({2}, type)}}), "which is not written; convert it to int32");
  CHECK_FALSE(fs::exists(scratch / "x"));
  check_says(error_of([&] {
               write_safetensors(scratch / "no/such/dir", {{"a", t}});
             }),
             "no/such/dir: No such file or directory");
}

TEST_CASE("safetensors: a full disk is an error that says so" *
          doctest::test_suite("needs a full device")) {
  if (!fs::exists("/dev/full")) return skip("there is no /dev/full");
  const Tensor small = Tensor::from<float>({1}, {1});
  const Tensor big(Shape{1 << 20}, DType::float32);
  for (const Tensor& t : {small, big})
    check_says(error_of([&] {
                 write_safetensors("/dev/full", {{"a", t}});
               }),
               "no space left on device while writing /dev/full");
}

TEST_CASE("safetensors: files that are none") {
  const Scratch scratch;
  check_says(error_of([&] { read_safetensors(scratch / "none"); }), "none: there is no such file");
  check_says(error_of([&] { read_safetensors(scratch.path()); }), "Is a directory");
  check_says(complaint(""), "it has 0 bytes");
  check_says(complaint("1234567"), "it has 7 bytes");
  check_says(complaint(with_length("{}").substr(0, 9)),
             "header would have 2 bytes, the file ends after 1");
  check_says(complaint(std::string(16, '\xff')), "the format allows 100000000");
  check_says(complaint(with_length("")), "does not start with '{'");
  check_says(complaint_of_header(" {}"), "does not start with '{'");
  check_says(complaint_of_header("[]"), "does not start with '{'");
  check_says(complaint_of_header("{"), "not JSON");
  check_says(complaint_of_header("{} x"), "not JSON");
  check_says(complaint_of_header("{\"\xff\":1}"), "not JSON");
  check_says(complaint_of_header(R"({"a":1e999})"), "the number 1e999, which");
  CHECK(complaint_of_header("{}").empty());
  CHECK(complaint_of_header("{}   ").empty());
}

TEST_CASE("safetensors: rules of the header") {
  const auto entry = [](const std::string& dtype, const std::string& shape,
                        const std::string& offsets) {
    return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets +
           "}}";
  };
  CHECK(complaint_of_header(entry("\"F32\"", "[2]", "[0,8]"), 8).empty());
  CHECK(complaint_of_header(entry("\"F32\"", "[0,3]", "[0,0]")).empty());

  // types of the parts
  check_says(complaint_of_header(R"({"a":1})"), "tensor 'a' is not described by an object");
  check_says(complaint_of_header(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4),
             "'a' has no dtype");
  check_says(complaint_of_header(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4),
             "'a' has no shape");
  check_says(complaint_of_header(R"({"a":{"dtype":"F32","shape":[1]}})", 4),
             "'a' has no data_offsets");
  check_says(
      complaint_of_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":0}})", 4),
      "more than dtype, shape and data_offsets");
  check_says(complaint_of_header(entry("7", "[1]", "[0,4]"), 4), "dtype that is not text");
  check_says(complaint_of_header(entry("\"F8_E4M3\"", "[4]", "[0,4]"), 4),
             "tensor 'a' has dtype 'F8_E4M3'; F32, F64, BF16, I32, F16 and I64 can be read");
  check_says(complaint_of_header(entry("\"F32\"", "1", "[0,4]"), 4), "shape that is not a list");
  for (const char* shape : {"[-1]", "[1.0]", "[\"1\"]", "[null]", "[99999999999999999999999]"})
    check_says(complaint_of_header(entry("\"F32\"", shape, "[0,4]"), 4), "not a whole number");
  for (const char* offsets : {"4", "[0]", "[0,4,4]", "[-1,4]", "[0,4.0]", "[0,\"4\"]", "{}"})
    check_says(complaint_of_header(entry("\"F32\"", "[1]", offsets), 4), "not two whole numbers");

  // sizes
  check_says(complaint_of_header(entry("\"F32\"", "[1,1,1,1,1,1,1]", "[0,4]"), 4),
             "tensor 'a' has 7 dimensions, at most 6 can be read");
  for (const char* shape :
       {"[4294967296,4294967296]", "[18446744073709551615]", "[9223372036854775807]",
        "[4611686018427387904,4,0]", "[0,9223372036854775807,2]", "[2305843009213693952]"})
    check_says(complaint_of_header(entry("\"F32\"", shape, "[0,4]"), 4),
               "a shape too large to count");
  check_says(complaint_of_header(entry("\"F32\"", "[1152921504606846975]", "[0,4]"), 4),
             "takes 4611686018427387900 bytes, its offsets span 4");
  check_says(complaint_of_header(entry("\"F32\"", "[2]", "[0,4]"), 4),
             "of shape (2) and dtype F32 takes 8 bytes, its offsets span 4");
  check_says(complaint_of_header(entry("\"BF16\"", "[1]", "[0,4]"), 4), "takes 2 bytes");

  // bounds
  check_says(complaint_of_header(entry("\"F32\"", "[1]", "[4,0]"), 4), "lies at bytes [4, 0) of 4");
  check_says(complaint_of_header(entry("\"F32\"", "[1]", "[4,8]"), 4), "lies at bytes [4, 8) of 4");
  check_says(complaint_of_header(
                 entry("\"F32\"", "[1]", "[18446744073709551612,18446744073709551615]"), 4),
             "lies at bytes");
  check_says(complaint_of_header(entry("\"F32\"", "[1]", "[0,4]"), 5),
             "its tensors take 4 bytes, the file holds 5");
  check_says(complaint_of_header("{}", 1), "its tensors take 0 bytes, the file holds 1");
}

TEST_CASE("safetensors: rules between the tensors") {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"F32","shape":[2],"data_offsets":)" + first +
           R"(},"b":{"dtype":"F32","shape":[2],"data_offsets":)" + second + "}}";
  };
  CHECK(complaint_of_header(two("[0,8]", "[8,16]"), 16).empty());
  CHECK(complaint_of_header(two("[8,16]", "[0,8]"), 16).empty());
  check_says(complaint_of_header(two("[0,8]", "[4,12]"), 12),
             "tensor 'b' starts at byte 4 of the data, inside the one before, which ends at 8");
  check_says(complaint_of_header(two("[0,8]", "[0,8]"), 8), "inside the one before");
  check_says(complaint_of_header(two("[0,8]", "[12,20]"), 20),
             "tensor 'b' starts at byte 12 of the data and leaves a hole after 8");
  check_says(complaint_of_header(two("[4,12]", "[12,20]"), 20),
             "tensor 'a' starts at byte 4 of the data and leaves a hole after 0");
}

TEST_CASE("safetensors: duplicate names, metadata and nests") {
  const std::string a = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  check_says(complaint_of_header("{" + a + "," + a + "}", 4), "\"a\" is given twice");
  check_says(complaint_of_header(
                 R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
             "\"dtype\" is given twice");
  check_says(complaint_of_header("{" + a + R"(,"\u0061":1})", 4), "\"a\" is given twice");
  check_says(complaint_of_header(R"({"__metadata__":{},"__metadata__":{}})"),
             "\"__metadata__\" is given twice");
  check_says(complaint_of_header(R"({"__metadata__":{"k":"1","k":"2"}})"), "\"k\" is given twice");
  check_says(complaint_of_header(R"({"__metadata__":[]})"), "__metadata__ is not an object");
  check_says(complaint_of_header(R"({"__metadata__":{"k":1}})"),
             "something other than text under 'k'");
  CHECK(complaint_of_header(R"({"__metadata__":{"a":"1","b":"1"}})").empty());
  check_says(complaint_of_header(R"({"a":{"shape":[[1]]}})"), "nested more deeply");
  check_says(complaint_of_header(R"({"a":)" + std::string(1'000'000, '[')), "nested more deeply");
}

TEST_CASE("safetensors: cut at any byte, it is refused") {
  for (size_t size = 0; size < kGolden.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(complaint(kGolden.substr(0, size)).empty());
  }
  CHECK_FALSE(complaint(kGolden + '\0').empty());
  CHECK(complaint(kGolden).empty());
}

TEST_CASE(
    "safetensors: any flipped bit of the header is an error or another valid file, never a crash") {
  const size_t header_end = kGolden.size() - 24;
  size_t refused = 0;
  for (size_t bit = 0; bit < 8 * header_end; ++bit) {
    std::string bytes = kGolden;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    if (!complaint(bytes).empty()) ++refused;
  }
  CHECK(refused > 7 * header_end);  // what remains changes a name or a metadata text
}

TEST_CASE("safetensors: tensors of truth values that are left out are checked, and not read") {
  const Scratch scratch;
  const fs::path file = scratch / "x.safetensors";
  const auto named = [](std::string_view name) { return name == "mask" || name == "numbers"; };
  for (const char* type : {"BOOL", "U8"}) {
    const auto with = [&](const std::string& name, const std::string& end) {
      return with_length(
          concat(R"({"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},")", name,
                 R"(":{"dtype":")", type, R"(","shape":[2,3],"data_offsets":[4,)", end,
                 R"(]},"numbers":{"dtype":"I32","shape":[1],"data_offsets":[)", end, ",14]}}"),
          std::string("\x05\0\0\0abcdef\x07\0\0\0", 14));
    };
    put(file, with("mask", "10"));
    const Safetensors read = read_safetensors(file, named);
    CHECK(read.tensors.size() == 2);
    CHECK(read.at("a").to_vector() == std::vector<double>{5});
    CHECK(read.at("numbers").to_vector() == std::vector<double>{7});
    const std::string unread = concat("has dtype '", type, "'; F32");
    check_says(error_of([&] { read_safetensors(file); }), unread);
    put(file, with("weight", "10"));
    check_says(error_of([&] { read_safetensors(file, named); }), unread);
    put(file, with("mask", "11"));
    check_says(error_of([&] { read_safetensors(file, named); }),
               "takes 6 bytes, its offsets span 7");
  }
}

}  // namespace nine::tests::test_safetensors
