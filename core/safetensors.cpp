#include "core/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/file_kind.h"
#include "core/files.h"
#include "core/half.h"
#include "core/json.h"
#include "core/ops.h"
#include "core/output_file.h"
#include "core/quote.h"

namespace nine {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian and is read and written as it lies in memory");

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation
constexpr int kHeaderLevels = 3;  // the object, its entries, their shapes and offsets
constexpr const char* kMetadata = "__metadata__";

// The types that a file may have, and their types in memory.
struct FileType {
  std::string_view name;
  int64_t bytes;
  DType dtype;
  bool as_is;  // the same bits in memory; files are written with these types only
};
constexpr std::array kFileTypes = {
    FileType{"F32", 4, DType::float32, true},   FileType{"F64", 8, DType::float64, true},
    FileType{"BF16", 2, DType::bfloat16, true}, FileType{"I32", 4, DType::int32, true},
    FileType{"F16", 2, DType::float32, false},  FileType{"I64", 8, DType::int32, false},
};
// The types of tensors that may be left out.
constexpr std::array kUnreadTypes = {FileType{"BOOL", 1, DType::boolean, false},
                                     FileType{"U8", 1, DType::boolean, false}};
using LeftOut = std::function<bool(std::string_view name)>;

// ---- writing

// How a file has the float32 numbers.
enum class Floats : uint8_t { as_they_are, as_half };

bool is_halved(const View& view, Floats floats) {
  return floats == Floats::as_half && view.dtype == DType::float32;
}

std::string_view file_type_of(DType t) {
  return std::find_if(kFileTypes.begin(), kFileTypes.end(),
                      [t](const FileType& f) { return f.as_is && f.dtype == t; })
      ->name;
}

void check_writable(const fs::path& file, const std::vector<NamedView>& tensors) {
  std::set<std::string_view> names;
  for (const NamedView& tensor : tensors) {
    const auto what = [&] {
      return concat("cannot write ", file.string(), ": tensor '", tensor.name, "' ");
    };
    if (tensor.name == kMetadata)
      fail(what(), "has a name that the format reserves; rename the tensor");
    if (!names.insert(tensor.name).second) fail(what(), "occurs twice; write a tied tensor once");
    if (tensor.view.data == nullptr && tensor.view.elements() > 0) fail(what(), "has no memory");
    if (tensor.view.dtype == DType::int64 || tensor.view.dtype == DType::boolean)
      fail(what(), "has the type ", tensor.view.dtype,
           ", which is not written; convert it to int32");
  }
}

std::string header_text(const fs::path& file, const std::vector<NamedView>& tensors,
                        const std::map<std::string, std::string>& metadata, Floats floats) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  int64_t offset = 0;
  for (const auto& [name, view] : tensors) {
    Json shape = Json::array();
    for (int i = 0; i < view.shape.rank(); ++i) shape.push_back(view.shape[i]);
    const bool halved = is_halved(view, floats);
    const int64_t bytes = halved ? view.bytes() / 2 : view.bytes();
    header[name] = {{"dtype", halved ? std::string_view("F16") : file_type_of(view.dtype)},
                    {"shape", shape},
                    {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  try {
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    require(text.size() <= kMaxHeaderBytes, "cannot write ", file.string(),
            ": its header would have ", text.size(), " bytes, the format allows ", kMaxHeaderBytes);
    return text;
  } catch (const Json::exception& e) {
    fail("cannot write ", file.string(), ": names and metadata must be UTF-8 (",
         json_error_text(e.what()), ")");
  }
}

void write_elements(OutputFile& out, const View& view) {
  if (view.elements() == 0) return;
  if (view.device != kCpu) {
    const Tensor host(view.shape, view.dtype);
    ops::copy(view, host);
    return write_elements(out, host);
  }
  if (view.contiguous()) return out.write(view.data, static_cast<size_t>(view.bytes()));
  const size_t element = size_of(view.dtype);
  const auto* row = static_cast<const std::byte*>(view.data);
  for (int64_t r = 0; r < view.rows(); ++r, row += static_cast<size_t>(view.ld) * element)
    out.write(row, static_cast<size_t>(view.cols()) * element);
}

// Writes float32 numbers as float16. Error: a finite number is too large.
void write_halves(OutputFile& out, const fs::path& file, const NamedView& tensor) {
  const View& view = tensor.view;
  if (view.device != kCpu) {
    const Tensor host(view.shape, view.dtype);
    ops::copy(view, host);
    return write_halves(out, file, {tensor.name, host});
  }
  std::vector<uint16_t> row(static_cast<size_t>(view.cols()));
  for (int64_t r = 0; r < view.rows(); ++r) {
    const float* const from = view.as<float>() + r * view.ld;
    for (size_t c = 0; c < row.size(); ++c) {
      row[c] = half_of_float(from[c]);
      if (std::isfinite(from[c]) && !std::isfinite(float_of_half(row[c])))
        fail("cannot write ", file.string(), ": tensor '", tensor.name, "' has ", from[c],
             ", and float16 ends at 65504: choose another type");
    }
    out.write(row.data(), row.size() * sizeof(uint16_t));
  }
}

FileDigest write_file(const fs::path& file, const std::vector<NamedView>& tensors,
                      const std::map<std::string, std::string>& metadata, Floats floats) {
  check_writable(file, tensors);
  const std::string header = header_text(file, tensors, metadata, floats);
  const uint64_t header_bytes = header.size();
  OutputFile out(file);
  out.write(&header_bytes, sizeof header_bytes);
  out.write(header.data(), header.size());
  for (const NamedView& tensor : tensors) {
    if (is_halved(tensor.view, floats))
      write_halves(out, file, tensor);
    else
      write_elements(out, tensor.view);
  }
  return out.finish();
}

// ---- reading

struct Entry {
  std::string name;
  FileType type;
  Shape shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// A file being read: its path for the messages, and its two sections.
struct Source {
  std::string file;
  std::ifstream stream;
  uint64_t header_bytes = 0;
  uint64_t data_bytes = 0;

  template <class... Parts>
  [[noreturn]] void reject(const Parts&... parts) const {
    if (const std::string_view kind = kind_of_file(file); !kind.empty())
      fail(file, " is not a safetensors file, but ", kind);
    fail(file, " is not a valid safetensors file: ", parts...);
  }
  template <class... Parts>
  [[noreturn]] void reject_tensor(const std::string& name, const Parts&... parts) const {
    fail(file, " is not a valid safetensors file: tensor ", quote(name), " ", parts...);
  }
  void read(void* data, uint64_t size) {
    stream.read(static_cast<char*>(data), static_cast<std::streamsize>(size));
    require(stream.gcount() == static_cast<std::streamsize>(size), "cannot read ", file, ": ", size,
            " bytes were expected, but ", stream.gcount(), " came");
  }
  void skip(uint64_t size) { stream.seekg(static_cast<std::streamoff>(size), std::ios::cur); }
};

Source open_source(const fs::path& file) {
  Source source;
  source.file = file.string();
  std::error_code error;
  const auto status = fs::status(file, error);
  require_regular_file(file);
  require(fs::exists(status), "cannot read ", source.file, ": there is no such file");
  const uint64_t size = fs::file_size(file, error);
  source.stream.open(file, std::ios::binary);
  require(!error && source.stream.is_open(), "cannot read ", source.file, ": ",
          std::strerror(errno));

  if (size < 8) source.reject("it has ", size, " bytes, a header length alone takes 8");
  source.read(&source.header_bytes, 8);
  if (source.header_bytes > kMaxHeaderBytes)
    source.reject("its header would have ", source.header_bytes, " bytes, the format allows ",
                  kMaxHeaderBytes);
  if (source.header_bytes > size - 8)
    source.reject("its header would have ", source.header_bytes, " bytes, the file ends after ",
                  size - 8);
  source.data_bytes = size - 8 - source.header_bytes;
  return source;
}

Json parse_header(Source& source) {
  std::string text(source.header_bytes, '\0');
  source.read(text.data(), text.size());
  if (!text.starts_with('{')) source.reject("its header does not start with '{'");
  try {
    return parse_json(text, kHeaderLevels);
  } catch (const UsageError& e) {
    source.reject("its header: ", e.what());
  }
}

std::map<std::string, std::string> metadata_of(const Source& source, const Json& value) {
  if (!value.is_object()) source.reject("__metadata__ is not an object");
  std::map<std::string, std::string> out;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string())
      source.reject("__metadata__ holds something other than text under ", quote(key));
    out[key] = text.get<std::string>();
  }
  return out;
}

FileType type_of(const Source& source, const std::string& name, const Json& value,
                 const LeftOut& left_out) {
  if (!value.is_string()) source.reject_tensor(name, "has a dtype that is not text");
  const auto& text = value.get_ref<const std::string&>();
  for (const FileType& type : kFileTypes)
    if (type.name == text) return type;
  for (const FileType& type : kUnreadTypes)
    if (type.name == text && left_out && left_out(name)) return type;
  fail(source.file, ": tensor ", quote(name), " has dtype ", quote(text),
       "; F32, F64, BF16, I32, F16 and I64 can be read");
}

Shape shape_of(const Source& source, const std::string& name, const Json& value) {
  if (!value.is_array()) source.reject_tensor(name, "has a shape that is not a list");
  if (value.size() > Shape::kMaxRank)
    fail(source.file, ": tensor ", quote(name), " has ", value.size(), " dimensions, at most ",
         Shape::kMaxRank, " can be read");
  std::array<int64_t, Shape::kMaxRank> sizes{};
  int rank = 0;
  int64_t bytes = 8;  // of the widest type, since elements may be converted
  for (const Json& size : value) {
    if (!size.is_number_unsigned())
      source.reject_tensor(name, "has a dimension that is not a whole number from 0 on");
    const auto n = size.get<uint64_t>();
    // A dimension of 0 counts as 1 here, so that the product of no part of the shape can overflow.
    if (n > 0 && n > static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / bytes))
      source.reject_tensor(name, "has a shape too large to count");
    bytes *= std::max<int64_t>(static_cast<int64_t>(n), 1);
    sizes[static_cast<size_t>(rank++)] = static_cast<int64_t>(n);
  }
  return {sizes.data(), rank};
}

std::pair<uint64_t, uint64_t> offsets_of(const Source& source, const std::string& name,
                                         const Json& value) {
  if (!value.is_array() || value.size() != 2 || !value[0].is_number_unsigned() ||
      !value[1].is_number_unsigned())
    source.reject_tensor(name, "has data_offsets that are not two whole numbers from 0 on");
  const std::pair offsets(value[0].get<uint64_t>(), value[1].get<uint64_t>());
  if (offsets.first > offsets.second || offsets.second > source.data_bytes)
    source.reject_tensor(name, "lies at bytes [", offsets.first, ", ", offsets.second, ") of ",
                         source.data_bytes, " bytes of data");
  return offsets;
}

Entry entry_of(const Source& source, const std::string& name, const Json& value,
               const LeftOut& left_out) {
  if (!value.is_object()) source.reject_tensor(name, "is not described by an object");
  for (const char* key : {"dtype", "shape", "data_offsets"})
    if (!value.contains(key)) source.reject_tensor(name, "has no ", key);
  if (value.size() != 3)
    source.reject_tensor(name, "is described by more than dtype, shape and data_offsets");

  const FileType type = type_of(source, name, value["dtype"], left_out);
  const Shape shape = shape_of(source, name, value["shape"]);
  const auto [begin, end] = offsets_of(source, name, value["data_offsets"]);
  const auto bytes = static_cast<uint64_t>(shape.elements() * type.bytes);
  if (end - begin != bytes)
    source.reject_tensor(name, "of shape ", shape, " and dtype ", type.name, " takes ", bytes,
                         " bytes, its offsets span ", end - begin);
  return {name, type, shape, begin, end};
}

// Sorts the entries by their place in the file and checks that they cover its data without gaps.
void check_coverage(const Source& source, std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t covered = 0;
  for (const Entry& e : entries) {
    if (e.begin < covered)
      source.reject_tensor(e.name, "starts at byte ", e.begin,
                           " of the data, inside the one before, which ends at ", covered);
    if (e.begin > covered)
      source.reject_tensor(e.name, "starts at byte ", e.begin,
                           " of the data and leaves a hole after ", covered);
    covered = e.end;
  }
  if (covered != source.data_bytes)
    source.reject("its tensors take ", covered, " bytes, the file holds ", source.data_bytes,
                  " bytes of data");
}

template <class Stored, class Kept, class Convert>
void read_converted(Source& source, const Tensor& t, Convert&& convert) {
  std::vector<Stored> stored(static_cast<size_t>(t.elements()));
  source.read(stored.data(), stored.size() * sizeof(Stored));
  std::transform(stored.begin(), stored.end(), t.data<Kept>(), convert);
}

// Reads an entry; the stream must be at its first byte.
Tensor read_tensor(Source& source, const Entry& entry) {
  Tensor t(entry.shape, entry.type.dtype);
  if (entry.type.as_is) {
    source.read(t.view().data, entry.end - entry.begin);
  } else if (entry.type.dtype == DType::float32) {
    read_converted<uint16_t, float>(source, t, float_of_half);
  } else {
    read_converted<int64_t, int32_t>(source, t, [&](int64_t value) {
      require(std::in_range<int32_t>(value), source.file, ": tensor ", quote(entry.name), " holds ",
              value, ", which does not fit into int32");
      return static_cast<int32_t>(value);
    });
  }
  return t;
}

}  // namespace

std::string_view kind_of_file(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return {};  // a pipe would be waited for
  std::array<char, 1024> first{};
  std::ifstream in(file, std::ios::binary);
  in.read(first.data(), first.size());
  const std::string_view start(first.data(), static_cast<size_t>(in.gcount()));
  // Recognising a file takes the length of a header and its first character.
  return start.size() < 9 ? std::string_view() : kind_of_bytes(start).what;
}

bool begins_as_safetensors(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return false;
  uint64_t header = 0;
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  return in.good() && in.get() == '{' && header <= kMaxHeaderBytes;
}

const Tensor& Safetensors::at(const std::string& name) const {
  const auto found = tensors.find(name);
  if (found != tensors.end()) return found->second;
  constexpr size_t kListed = 12;  // a model of another program may have thousands
  std::string names;
  size_t listed = 0;
  for (const auto& [other, tensor] : tensors)
    if (listed++ < kListed) names += (names.empty() ? "" : ", ") + other;
  if (listed > kListed) names += concat(" and ", listed - kListed, " more");
  fail("there is no tensor '", name, "'; there are: ", names.empty() ? "none" : names);
}

FileDigest write_safetensors(const fs::path& file, const std::vector<NamedView>& tensors,
                             const std::map<std::string, std::string>& metadata) {
  return write_file(file, tensors, metadata, Floats::as_they_are);
}

FileDigest write_half_safetensors(const fs::path& file, const std::vector<NamedView>& tensors,
                                  const std::map<std::string, std::string>& metadata) {
  return write_file(file, tensors, metadata, Floats::as_half);
}

Safetensors read_safetensors(const fs::path& file, const LeftOut& left_out) {
  Source source = open_source(file);
  Safetensors out;
  std::vector<Entry> entries;
  const Json header = parse_header(source);
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadata) {
      out.metadata = metadata_of(source, value);
    } else {
      entries.push_back(entry_of(source, name, value, left_out));
    }
  }
  check_coverage(source, entries);
  for (const Entry& entry : entries) {
    if (entry.type.dtype == DType::boolean) {
      source.skip(entry.end - entry.begin);
    } else {
      out.tensors.emplace(entry.name, read_tensor(source, entry));
    }
  }
  return out;
}

std::string dtype_in_file(const fs::path& file, const std::string& tensor) {
  Source source = open_source(file);
  return parse_header(source).at(tensor).at("dtype").get<std::string>();
}

}  // namespace nine
