#include "data/file_kind.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/error.h"

namespace nine {
namespace {

using namespace std::string_view_literals;

// What begins with some bytes, and how a text is made of it; nothing: it holds none.
struct Kind {
  std::string_view magic, what, way = {};
};

constexpr std::array<Kind, 21> kKinds{{
    {"\xFD"
     "7zXZ\0"sv,
     "is packed by xz", "unpack it with xzcat"},
    {"BZh91AY&SY"sv, "is packed by bzip2", "unpack it with bzcat"},
    {"\x04\x22\x4D\x18"sv, "is packed by lz4", "unpack it with lz4cat"},
    {"7z\xBC\xAF\x27\x1C"sv, "is a 7z archive", "unpack it with `7z x`"},
    {"Rar!\x1A\x07"sv, "is a rar archive", "unpack it with unrar"},
    {"\xFF\xFE\0\0"sv, "is UTF-32", "convert it with `iconv -f UTF-32 -t UTF-8`"},
    {"\0\0\xFE\xFF"sv, "is UTF-32", "convert it with `iconv -f UTF-32 -t UTF-8`"},
    {"\xFF\xFE"sv, "is UTF-16", "convert it with `iconv -f UTF-16 -t UTF-8`"},
    {"\xFE\xFF"sv, "is UTF-16", "convert it with `iconv -f UTF-16 -t UTF-8`"},
    {"\x7F"
     "ELF"sv,
     "is a program or a library (ELF)"},
    {"\x89PNG\r\n\x1A\n"sv, "is a picture (PNG)"},
    {"\xFF\xD8\xFF"sv, "is a picture (JPEG)"},
    {"GIF87a"sv, "is a picture (GIF)"},
    {"GIF89a"sv, "is a picture (GIF)"},
    {"%PDF-"sv, "is a PDF", "make a text of it with pdftotext"},
    {"\xD0\xCF\x11\xE0"sv, "is a document of Microsoft Office", "save it as text in UTF-8"},
    {"\x89HDF\r\n\x1A\n"sv, "is a file of HDF5"},
    {"\x93NUMPY"sv, "is an array of NumPy's"},
    {"SQLite format 3\0"sv, "is a database (SQLite)"},
    {"OggS\0"sv, "is a recording (Ogg)", "name its transcript"},
    {"fLaC\0"sv, "is a recording (FLAC)", "name its transcript"},
}};

uint8_t byte(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

// SentencePiece's model is a protocol buffer: pieces, of which the first has a text and a score.
bool is_sentencepiece(std::string_view start) {
  constexpr char kMessage = '\x0a', kScore = '\x15';
  if (start.size() < 4 || start[0] != kMessage || start[2] != kMessage) return false;
  const size_t score = 4 + static_cast<size_t>(byte(start, 3));
  return score < start.size() && start[score] == kScore;
}

// What a zip archive is, by its first file's name. PyTorch's models, NumPy's and Office's files are
// such archives.
Kind zip_kind(std::string_view start) {
  constexpr size_t kSizeAt = 26, kNameAt = 30;  // of that name
  const std::string_view name =
      start.size() < kNameAt ? "" : start.substr(kNameAt, byte(start, kSizeAt));
  if (name.ends_with("data.pkl")) return {{}, "is a model of PyTorch's"};
  if (name.ends_with(".npy")) return {{}, "is an archive of NumPy's"};
  if (name == "[Content_Types].xml" || name == "mimetype")
    return {{}, "is a document of an office program", "save it as text in UTF-8"};
  return {{}, "is a zip archive", "unpack it with unzip"};
}

// A pickle begins with the number of its protocol; no UTF-8 begins so.
bool is_pickle(std::string_view start) {
  return start.size() >= 2 && byte(start, 0) == 0x80 && start[1] >= 2 && start[1] <= 5;
}

bool is_tar(std::string_view start) {
  constexpr size_t kMagicAt = 257;
  return start.size() > kMagicAt && start.substr(kMagicAt).starts_with("ustar") &&
         start.substr(0, kMagicAt).find('\0') != std::string_view::npos;
}

// Safetensors begin with the size of their JSON, 8 bytes.
bool is_safetensors(std::string_view start) {
  return start.size() > 8 && start.substr(4, 5) == "\0\0\0\0{"sv;
}

bool is_wave(std::string_view start) {
  return start.starts_with("RIFF") && start.size() > 11 && start.substr(8).starts_with("WAVE");
}

// Whether each second byte is NUL and no other, from `first` on.
bool is_utf16(std::string_view start, size_t first) {
  constexpr size_t kFewest = 8, kMost = 64;
  if (start.size() < kFewest) return false;
  for (size_t at = 0; at < std::min(start.size(), kMost); ++at)
    if ((start[at] == '\0') != (at % 2 == first)) return false;
  return true;
}

Kind kind_of(std::string_view start) {
  for (const Kind& kind : kKinds)
    if (start.starts_with(kind.magic)) return kind;
  if (start.starts_with("PK\x03\x04")) return zip_kind(start);
  if (is_pickle(start)) return {{}, "is a pickle of Python's, as older models of PyTorch are"};
  if (is_tar(start)) return {{}, "is a tar archive", "unpack it with `tar -xf`"};
  if (is_safetensors(start)) return {{}, "is a model (safetensors)"};
  if (is_wave(start)) return {{}, "is a recording (WAV)", "name its transcript"};
  if (is_sentencepiece(start))
    return {{},
            "is a model of SentencePiece",
            "cut text with `spm_encode --model` and this file; its words are in the .vocab beside "
            "it"};
  if (is_utf16(start, 1)) return {{}, "is UTF-16", "convert it with `iconv -f UTF-16LE -t UTF-8`"};
  if (is_utf16(start, 0)) return {{}, "is UTF-16", "convert it with `iconv -f UTF-16BE -t UTF-8`"};
  return {};
}

}  // namespace

std::string what_it_is(std::string_view start) {
  const Kind kind = kind_of(start);
  if (kind.what.empty()) return "";
  return concat(kind.what, kind.way.empty() ? ", not a text: name a text" : ": ", kind.way);
}

bool looks_binary(std::string_view bytes) {
  constexpr size_t kSome = 50;  // one in so many; of random bytes one in nine
  const auto controls = std::count_if(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<uint8_t>(c) < 0x20 &&
           std::string_view("\t\n\v\f\r\x1B").find(c) == std::string_view::npos;
  });
  return static_cast<size_t>(controls) * kSome > bytes.size();
}

}  // namespace nine
