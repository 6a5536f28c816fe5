#include "data/npz.h"

#include <zlib.h>

#include <array>
#include <charconv>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/half.h"
#include "core/quote.h"

namespace nine {
namespace {

// The whole file, with little-endian numbers.
class ZipBytes {
 public:
  ZipBytes(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  size_t size() const { return bytes_.size(); }
  // Returns `count` bytes. Error: the file ends before.
  std::string_view part(size_t at, size_t count) const {
    require(at <= bytes_.size() && count <= bytes_.size() - at, name_,
            " is a damaged zip archive: it ends too early; copy or create the file again");
    return bytes_.substr(at, count);
  }
  template <class T>
  T number(size_t at) const {
    T out{};
    std::memcpy(&out, part(at, sizeof out).data(), sizeof out);
    return out;
  }
  // Returns where the last `magic` begins that has `least` bytes from there to the end.
  size_t last(std::string_view magic, size_t least) const {
    const size_t at =
        bytes_.size() < least ? std::string_view::npos : bytes_.rfind(magic, bytes_.size() - least);
    require(at != std::string_view::npos, name_,
            " is not a zip archive, as an .npz file is, or it ends too early");
    return at;
  }

 private:
  std::string_view bytes_;
  const std::string& name_;
};

// A member of the archive.
struct ZipMember {
  std::string name;
  uint16_t flags = 0, method = 0;
  uint32_t checksum = 0, packed = 0, size = 0, header = 0;
};

constexpr uint16_t kStored = 0, kDeflated = 8;

std::string damaged_member(const std::string& file, const std::string& member) {
  return concat(file, ": the member ", quote(member),
                " of the zip archive is damaged: copy or create the file again");
}

// Reads the list of members at the end of the archive.
std::vector<ZipMember> zip_members(const ZipBytes& zip, const std::string& file) {
  constexpr size_t kEndSize = 22, kEntrySize = 46;
  constexpr uint32_t kZip64 = 0xFFFFFFFF, kEntryMagic = 0x02014b50;
  const size_t end = zip.last("PK\x05\x06", kEndSize);
  const auto count = zip.number<uint16_t>(end + 10);
  const auto first = zip.number<uint32_t>(end + 16);
  constexpr const char* kTooLarge =
      " is a zip archive of 4 GiB or of 65,535 members or more, which is not read";
  require(count != 0xFFFF && first != kZip64, file, kTooLarge);
  std::vector<ZipMember> members;
  size_t at = first, all_packed = 0;
  for (int i = 0; i < count; ++i) {
    require(zip.number<uint32_t>(at) == kEntryMagic, file,
            " is a damaged zip archive: its list of members is broken; copy or create the file "
            "again");
    const auto name_size = zip.number<uint16_t>(at + 28), more = zip.number<uint16_t>(at + 30),
               comment = zip.number<uint16_t>(at + 32);
    const ZipMember member{std::string(zip.part(at + kEntrySize, name_size)),
                           zip.number<uint16_t>(at + 8),
                           zip.number<uint16_t>(at + 10),
                           zip.number<uint32_t>(at + 16),
                           zip.number<uint32_t>(at + 20),
                           zip.number<uint32_t>(at + 24),
                           zip.number<uint32_t>(at + 42)};
    require(member.packed != kZip64 && member.size != kZip64 && member.header != kZip64, file,
            kTooLarge);
    // Members that share bytes could unpack to any size.
    all_packed += member.packed;
    require(all_packed <= zip.size(), file,
            " is a damaged zip archive: its members are larger than the file");
    members.push_back(member);
    at += kEntrySize + name_size + more + comment;
  }
  return members;
}

std::string inflated(const ZipMember& member, std::string_view packed, const std::string& file) {
  constexpr uint64_t kMostPacked = 1040;  // deflate makes at most 1,032 bytes of one
  require(member.size <= (uint64_t{packed.size()} + 1) * kMostPacked, file, ": the member ",
          quote(member.name), " claims ", member.size, " bytes, and ", packed.size(),
          " packed bytes cannot hold them: the file is damaged");
  std::string out(member.size, '\0');
  z_stream stream{};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  // zlib's type has no const, but zlib does not write there.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = ::inflate(&stream, Z_FINISH);
  const bool whole = result == Z_STREAM_END && stream.avail_out == 0;
  ::inflateEnd(&stream);
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  require(whole, damaged_member(file, member.name));
  return out;
}

// Returns the unpacked bytes of a member.
std::string bytes_of(const ZipBytes& zip, const ZipMember& member, const std::string& file) {
  constexpr uint32_t kHeaderMagic = 0x04034b50;
  constexpr size_t kHeaderSize = 30;
  require((member.flags & 1u) == 0, file, ": the member ", quote(member.name), " is encrypted");
  require(member.method == kStored || member.method == kDeflated, file, ": the member ",
          quote(member.name), " is packed by method ", member.method,
          " of zip, and Nine reads stored and deflated members");
  const size_t at = member.header;
  require(zip.number<uint32_t>(at) == kHeaderMagic, damaged_member(file, member.name));
  const size_t data =
      at + kHeaderSize + zip.number<uint16_t>(at + 26) + zip.number<uint16_t>(at + 28);
  const std::string_view packed = zip.part(data, member.packed);
  require(member.method == kDeflated || member.size == member.packed,
          damaged_member(file, member.name));
  std::string out = member.method == kStored ? std::string(packed) : inflated(member, packed, file);
  const auto checksum =
      ::crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), static_cast<z_size_t>(out.size()));
  require(checksum == member.checksum, damaged_member(file, member.name));
  return out;
}

// The header of a .npy, a Python dict:
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
struct NpyHeader {
  std::string type;
  bool fortran = false;
  std::vector<int64_t> shape;
};

// Reads a header from front to back. Every member returns false if the text is another one.
class NpyHeaderText {
 public:
  explicit NpyHeaderText(std::string_view text) : text_(text) {}

  bool read(NpyHeader& out) {
    constexpr int kKeys = 3;
    if (!take('{')) return false;
    for (int i = 0; i < kKeys; ++i) {
      std::string key;
      if (!quoted(key) || !take(':')) return false;
      const bool known = key == "descr"           ? quoted(out.type)
                         : key == "fortran_order" ? truth(out.fortran)
                         : key == "shape"         ? shape(out.shape)
                                                  : false;
      if (!known) return false;
      if (!take(',') && i + 1 < kKeys) return false;
    }
    return take('}') && (skip(), text_.empty());
  }

 private:
  void skip() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size())); }
  bool take(char c) {
    skip();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool quoted(std::string& out) {
    if (!take('\'')) return false;
    const size_t end = text_.find('\'');
    if (end == std::string_view::npos) return false;
    out = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return true;
  }
  bool truth(bool& out) {
    skip();
    out = text_.starts_with("True");
    if (!out && !text_.starts_with("False")) return false;
    text_.remove_prefix(out ? 4 : 5);
    return true;
  }
  bool shape(std::vector<int64_t>& out) {
    constexpr size_t kMostSizes = 32;  // of NumPy
    out.clear();
    if (!take('(')) return false;
    while (!take(')')) {
      skip();
      int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc{} || size < 0 || out.size() == kMostSizes) return false;
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      out.push_back(size);
      if (!take(',')) return take(')');
    }
    return true;
  }

  std::string_view text_;
};

// An array: its header and its data.
struct Npy {
  NpyHeader header;
  std::string_view data;
};

Npy parse_npy(std::string_view bytes, const std::string& place) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  const auto need = [&](bool good) {
    require(good, place, " has a damaged header of .npy: copy or create the file again");
  };
  need(bytes.starts_with(kMagic) && bytes.size() >= 12);
  const bool first_version = bytes[6] == 1;
  need(first_version || bytes[6] == 2 || bytes[6] == 3);
  const size_t begin = first_version ? 10 : 12;
  uint32_t size = 0;  // little-endian; of version 1 it has two bytes
  std::memcpy(&size, bytes.data() + 8, first_version ? 2 : 4);
  need(size <= bytes.size() - begin);
  Npy out{.data = bytes.substr(begin + size)};
  need(NpyHeaderText(bytes.substr(begin, size)).read(out.header));
  return out;
}

// Returns how many bytes a number of a type has; 0 for a type that is not read.
size_t bytes_of_type(std::string_view type) {
  if (type == "<f4") return 4;
  if (type == "<f8") return 8;
  return type == "<f2" ? 2 : 0;
}

bool is_byte_type(std::string_view type) {
  return type == "|i1" || type == "<i1" || type == "|u1" || type == "<u1";
}

// Returns the product of sizes, or nullopt if it is above `most`.
std::optional<size_t> elements_of(const std::vector<int64_t>& shape, size_t most) {
  size_t product = 1;
  for (const int64_t size : shape) {
    const auto n = static_cast<size_t>(size);
    if (n != 0 && product > most / n) return std::nullopt;
    product *= n;
  }
  return product;
}

template <class T>
void copy_transposed(const T* from, T* to, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) to[r * cols + c] = from[c * rows + r];
}

Tensor tensor_of(const Npy& array, const std::string& place) {
  constexpr size_t kMostDimensions = 4;
  const std::vector<int64_t>& sizes = array.header.shape;
  const size_t bytes = bytes_of_type(array.header.type);
  require(bytes > 0, place, " has the type ", quote(array.header.type),
          ", and Nine reads <f2, <f4, <f8 and bytes: store it as float32");
  require(sizes.size() <= kMostDimensions, place, " has ", sizes.size(),
          " dimensions, and Nine reads at most ", kMostDimensions);
  for (const int64_t size : sizes) require(size > 0, place, " has a dimension of 0");
  const std::optional<size_t> count = elements_of(sizes, array.data.size() / bytes);
  require(count && *count * bytes == array.data.size(), place, " has ", array.data.size(),
          " bytes of numbers, which are not those of its shape: the file is damaged");
  const Shape shape(sizes.data(), static_cast<int>(sizes.size()));
  const bool turned = array.header.fortran && sizes.size() > 1;
  require(!turned || sizes.size() == 2, place,
          " is in Fortran's order, which Nine reads of matrices alone: store numpy's "
          "ascontiguousarray of it");
  Tensor out(shape, bytes == 8 ? DType::float64 : DType::float32);
  std::string halves;
  const char* data = array.data.data();
  if (bytes == 2) {
    halves.resize(*count * sizeof(float));
    for (size_t i = 0; i < *count; ++i) {
      uint16_t half = 0;
      std::memcpy(&half, data + 2 * i, sizeof half);
      const float wide = float_of_half(half);
      std::memcpy(halves.data() + sizeof wide * i, &wide, sizeof wide);
    }
    data = halves.data();
  }
  std::memcpy(out.view().data, data, *count * (bytes == 8 ? 8 : 4));
  if (!turned) return out;
  Tensor turned_out(shape, out.dtype());
  if (bytes == 8)
    copy_transposed(out.data<double>(), turned_out.data<double>(), sizes[0], sizes[1]);
  else
    copy_transposed(out.data<float>(), turned_out.data<float>(), sizes[0], sizes[1]);
  return turned_out;
}

}  // namespace

Npz read_npz(const std::filesystem::path& path) {
  constexpr std::string_view kSuffix = ".npy";
  const std::string file = path.string(), all = read_text(path);
  const ZipBytes zip(all, file);
  Npz out;
  for (const ZipMember& member : zip_members(zip, file)) {
    std::string name = member.name;
    if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
    const std::string place = concat(file, ": the array ", quote(name)),
                      bytes = bytes_of(zip, member, file);
    const Npy array = parse_npy(bytes, place);
    const bool is_new =
        is_byte_type(array.header.type)
            ? out.texts.emplace(name, array.data).second && !out.tensors.contains(name)
            : out.tensors.emplace(name, tensor_of(array, place)).second &&
                  !out.texts.contains(name);
    require(is_new, place, " is there twice");
  }
  return out;
}

}  // namespace nine
