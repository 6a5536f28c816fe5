#include "core/file_kind.h"

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "core/safetensors.h"

namespace nine {
namespace {

using namespace std::string_view_literals;

// A kind of file and the bytes that it begins with.
struct Magic {
  std::string_view bytes;
  FileKind kind;
};

constexpr FileKind kUtf32{"UTF-32", "convert it with `iconv -f UTF-32 -t UTF-8`"},
    kUtf16{"UTF-16", "convert it with `iconv -f UTF-16 -t UTF-8`"}, kGif{"a picture (GIF)"},
    kGguf{"a GGUF file, of llama.cpp"},
    kWebPage{"a web page, as a failed download leaves it", {}, true};

// The reader of texts unpacks gzip and zstd, so a text that still begins with these bytes was
// packed twice.
constexpr std::string_view kPackedTwice =
    "the text was packed more than once; pack it once, or give it as it is";

constexpr Magic kMagics[] = {
    {"\x1F\x8B"sv, {"packed by gzip; unpack it with `gzip -d`", kPackedTwice}},
    {"\x28\xB5\x2F\xFD"sv, {"packed by zstd; unpack it with `zstd -d`", kPackedTwice}},
    {"\xFD"
     "7zXZ\0"sv,
     {"packed by xz; unpack it with `xz -d`", "unpack it with xzcat"}},
    {"\x04\x22\x4D\x18"sv, {"packed by lz4; unpack it with `lz4 -d`", "unpack it with lz4cat"}},
    {"7z\xBC\xAF\x27\x1C"sv, {"a 7z archive; unpack it with `7z x`", "unpack it with `7z x`"}},
    {"Rar!\x1A\x07"sv, {"a rar archive; unpack it with unrar", "unpack it with unrar"}},
    {"\xFF\xFE\0\0"sv, kUtf32},
    {"\0\0\xFE\xFF"sv, kUtf32},
    {"\xFF\xFE"sv, kUtf16},
    {"\xFE\xFF"sv, kUtf16},
    {"\x7F"
     "ELF"sv,
     {"a program or a library (ELF)"}},
    {"\x89PNG\r\n\x1A\n"sv, {"a picture (PNG)"}},
    {"\xFF\xD8\xFF"sv, {"a picture (JPEG)"}},
    {"GIF87a"sv, kGif},
    {"GIF89a"sv, kGif},
    {"%PDF-"sv, {"a PDF", "make a text of it with pdftotext"}},
    {"\xD0\xCF\x11\xE0"sv, {"a document of Microsoft Office", "save it as text in UTF-8"}},
    {"\x89HDF\r\n\x1A\n"sv, {"an HDF5 file, as Keras writes it"}},
    {"\x93NUMPY"sv, {"an array of NumPy's"}},
    {"SQLite format 3\0"sv, {"a database (SQLite)"}},
    {"OggS\0"sv, {"a recording (Ogg)", "name its transcript"}},
    {"fLaC\0"sv, {"a recording (FLAC)", "name its transcript"}},
    {"version https://git-lfs"sv,
     {"a pointer of Git LFS, without the file; fetch the file itself with `git lfs pull`",
      "fetch the file itself with `git lfs pull`"}},
    {"GGUF\1\0"sv, kGguf},
    {"GGUF\2\0"sv, kGguf},
    {"GGUF\3\0"sv, kGguf},
    {"<!"sv, kWebPage},
    {"<h"sv, kWebPage},
    {"<H"sv, kWebPage},
    {"<?xml"sv, {"an XML file, as a failed download leaves it", {}, true}},
    {"\\data\\\n"sv, {"an n-gram model (ARPA), which --interpolate takes", {}, true}},
};

uint8_t byte(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

// SentencePiece's model is a protocol buffer: pieces, of which the first has a text and a score.
bool is_sentencepiece(std::string_view start) {
  constexpr char kMessage = '\x0a', kScore = '\x15';
  if (start.size() < 4 || start[0] != kMessage || start[2] != kMessage) return false;
  const size_t score = 4 + static_cast<size_t>(byte(start, 3));
  return score < start.size() && start[score] == kScore;
}

// Returns the kind of a zip archive by its first file's name. PyTorch's models, NumPy's and
// Office's files are zip archives.
FileKind zip_kind(std::string_view start) {
  constexpr size_t kSizeAt = 26, kNameAt = 30;  // places of the name's size and of the name
  if (start.find("/data.pkl") != std::string_view::npos) return {kPickle};
  const std::string_view name =
      start.size() < kNameAt ? "" : start.substr(kNameAt, byte(start, kSizeAt));
  if (name.ends_with(".npy")) return {"an archive of NumPy's"};
  if (name == "[Content_Types].xml" || name == "mimetype")
    return {"a document of an office program", "save it as text in UTF-8"};
  return {"a zip archive; unpack it with `unzip`", "unpack it with unzip"};
}

// A pickle begins with the number of its protocol. No UTF-8 text begins with these bytes, but the
// size of a header may.
bool is_pickle(std::string_view start) {
  return start.size() >= 3 && byte(start, 0) == 0x80 && start[1] >= 2 && start[1] <= 5 &&
         start[2] != 0;
}

// A model.bin of CTranslate2 begins with the version of its format, 4 bytes, and the name of the
// network, whose size has 2 bytes: "TransformerSpec" and a NUL.
bool is_ctranslate2(std::string_view start) {
  constexpr size_t kNameAt = 6;
  if (start.size() <= kNameAt || start.substr(1, 3) != "\0\0\0"sv) return false;
  const size_t size = byte(start, 4) + size_t{256} * byte(start, 5);
  return start.substr(kNameAt).size() >= size && start.substr(kNameAt, size).ends_with("Spec\0"sv);
}

// True for each of bzip2's nine block sizes.
bool is_bzip2(std::string_view start) {
  return start.size() > 4 && start.starts_with("BZh") && start.substr(4).starts_with("1AY&SY");
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

// True if every second byte from `first` on is NUL, and no other byte is.
bool is_utf16(std::string_view start, size_t first) {
  constexpr size_t kFewest = 8, kMost = 64;
  if (start.size() < kFewest) return false;
  for (size_t at = 0; at < std::min(start.size(), kMost); ++at)
    if ((start[at] == '\0') != (at % 2 == first)) return false;
  return true;
}

}  // namespace

FileKind kind_of_bytes(std::string_view start) {
  if (is_safetensors(start)) return {};
  for (const auto& [bytes, kind] : kMagics)
    if (start.starts_with(bytes)) return kind;
  if (start.starts_with("PK\x03\x04")) return zip_kind(start);
  if (is_bzip2(start))
    return {"packed by bzip2; unpack it with `bzip2 -d`", "unpack it with bzcat"};
  if (is_pickle(start)) return {kPickle};
  if (is_ctranslate2(start))
    return {
        "a model of CTranslate2, which Nine writes and does not read: name the model that it "
        "was made of"};
  if (is_tar(start)) return {"a tar archive; unpack it with `tar -xf`", "unpack it with `tar -xf`"};
  if (is_wave(start)) return {"a recording (WAV)", "name its transcript"};
  if (is_sentencepiece(start))
    return {"a model of SentencePiece",
            "cut text with `spm_encode --model` and this file; its words are in the .vocab beside "
            "it"};
  if (is_utf16(start, 1)) return {"UTF-16", "convert it with `iconv -f UTF-16LE -t UTF-8`"};
  if (is_utf16(start, 0)) return {"UTF-16", "convert it with `iconv -f UTF-16BE -t UTF-8`"};
  return {};
}

std::string what_it_is(std::string_view start) {
  const FileKind kind =
      is_safetensors(start) ? FileKind{"a model (safetensors)"} : kind_of_bytes(start);
  if (kind.what.empty() || kind.may_be_text) return "";
  return concat("is ", kind.what.substr(0, kind.what.find(';')),
                kind.to_text.empty() ? ", not a text: name a text" : ": ", kind.to_text);
}

bool looks_binary(std::string_view bytes) {
  constexpr size_t kSome = 50;  // bytes per control character; random bytes have one in nine
  const auto controls = std::count_if(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<uint8_t>(c) < 0x20 &&
           std::string_view("\t\n\v\f\r\x1B").find(c) == std::string_view::npos;
  });
  return static_cast<size_t>(controls) * kSome > bytes.size();
}

}  // namespace nine
