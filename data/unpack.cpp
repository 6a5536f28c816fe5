#include "data/unpack.h"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "core/error.h"

namespace nine {
namespace {

// Valid UTF-8 does not begin with these bytes, except with the last ones: a frame that zstd skips,
// as before each frame of pzstd, begins with a byte from 0x50 to 0x5F and these bytes.
constexpr std::string_view kGzip = "\x1f\x8b", kZstd = "\x28\xb5\x2f\xfd",
                           kSkipped = "\x2a\x4d\x18";

enum class Packing : uint8_t { none, gzip, zstd };

// Returns how a file that begins with these bytes is packed. If there are fewer bytes than kZstd
// has, returns how the file may be packed.
Packing packing_of(std::string_view start) {
  const auto agrees = [](std::string_view some, std::string_view magic) {
    const size_t size = std::min(some.size(), magic.size());
    return some.substr(0, size) == magic.substr(0, size);
  };
  if (agrees(start, kGzip)) return Packing::gzip;
  const bool skips = (static_cast<uint8_t>(start[0]) & 0xF0u) == 0x50;
  return agrees(start, kZstd) || (skips && agrees(start.substr(1), kSkipped)) ? Packing::zstd
                                                                              : Packing::none;
}

class Unpacker {
 public:
  virtual ~Unpacker() = default;
  /// Writes to `out` and removes the bytes that it used from `packed`. Returns the number of bytes
  /// written; if this is less than the room, `packed` is used up. Throws an Error whose message is
  /// a sentence with the file as its subject.
  virtual size_t unpack(std::string_view& packed, std::span<char> out) = 0;
  /// True if the data may end here: after a member, not inside it.
  virtual bool may_end() const = 0;
};

// Returns what is wrong with a file, as a sentence with the file as its subject.
std::string damaged(std::string_view what) {
  return concat("is damaged: its packed data cannot be unpacked to the end (", what,
                "); copy or create the file again");
}

class GzipUnpacker : public Unpacker {
 public:
  GzipUnpacker() {
    constexpr int kGzipHeader = 16;  // a flag of zlib, added to the size of the window
    if (::inflateInit2(&stream_, MAX_WBITS + kGzipHeader) != Z_OK) throw std::bad_alloc();
  }
  GzipUnpacker(const GzipUnpacker&) = delete;
  GzipUnpacker& operator=(const GzipUnpacker&) = delete;
  ~GzipUnpacker() override { ::inflateEnd(&stream_); }

  size_t unpack(std::string_view& packed, std::span<char> out) override {
    size_t written = 0;
    while (written < out.size() && (!packed.empty() || holds_more_)) {
      if (ended_ && !start_member(packed)) break;
      // zlib's type has no const, but zlib does not write there.
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      stream_.avail_in = static_cast<uInt>(packed.size());
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + written);
      stream_.avail_out = static_cast<uInt>(out.size() - written);
      const int result = ::inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_MEM_ERROR) throw std::bad_alloc();
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        fail(damaged(stream_.msg != nullptr ? stream_.msg : "wrong data"));
      packed.remove_prefix(packed.size() - stream_.avail_in);
      written = out.size() - stream_.avail_out;
      ended_ = result == Z_STREAM_END;
      holds_more_ = !ended_ && stream_.avail_out == 0;
    }
    return written;
  }
  bool may_end() const override { return ended_; }

 private:
  /// Continues after a member. Returns false if only zeros follow, which fill the last block of a
  /// tape.
  bool start_member(std::string_view& packed) {
    packed.remove_prefix(std::min(packed.find_first_not_of('\0'), packed.size()));
    if (packed.empty()) return false;
    if (packed[0] != kGzip[0]) fail(damaged("other bytes follow the packed data"));
    ended_ = false;
    return ::inflateReset(&stream_) == Z_OK;
  }

  z_stream stream_{};
  bool ended_ = false, holds_more_ = false;
};

class ZstdUnpacker : public Unpacker {
 public:
  ZstdUnpacker() : stream_(::ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  ZstdUnpacker(const ZstdUnpacker&) = delete;
  ZstdUnpacker& operator=(const ZstdUnpacker&) = delete;
  ~ZstdUnpacker() override { ::ZSTD_freeDStream(stream_); }

  size_t unpack(std::string_view& packed, std::span<char> out) override {
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    while (to.pos < to.size && (!packed.empty() || holds_more_)) {
      ZSTD_inBuffer from{packed.data(), packed.size(), 0};
      const size_t left = ::ZSTD_decompressStream(stream_, &to, &from);
      if (::ZSTD_isError(left) != 0) refuse(::ZSTD_getErrorCode(left));
      packed.remove_prefix(from.pos);
      ended_ = left == 0;
      holds_more_ = !ended_ && to.pos == to.size;
    }
    return to.pos;
  }
  bool may_end() const override { return ended_; }

 private:
  [[noreturn]] static void refuse(ZSTD_ErrorCode code) {
    if (code == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (code == ZSTD_error_frameParameter_windowTooLarge)
      fail("is packed by `zstd --long`: unpack it with `zstd --decompress --long=31`");
    fail(damaged(::ZSTD_getErrorString(code)));
  }

  ZSTD_DStream* stream_;
  bool ended_ = false, holds_more_ = false;
};

// Unpacks the characters of `source`.
class Unpacked : public std::streambuf {
 public:
  Unpacked(std::istream& source, std::string name) : source_(source), name_(std::move(name)) {}

 protected:
  int_type underflow() override {
    const size_t size = started_ ? next() : start();
    setg(text_.data(), text_.data(), text_.data() + size);
    return size == 0 ? traits_type::eof() : traits_type::to_int_type(text_[0]);
  }

 private:
  /// Reads the bytes that the source has, at least one; none at its end. Waits if there are no
  /// bytes.
  size_t read(char* to, size_t most) {
    if (source_.peek() == traits_type::eof()) {
      // std::cin, which reads through stdin, takes an error there for the end.
      require(!source_.bad() && (&source_ != &std::cin || std::ferror(stdin) == 0), name_,
              " cannot be read: the system reported a read error");
      return 0;
    }
    const std::streamsize there = source_.rdbuf()->in_avail();
    source_.read(to, std::clamp<std::streamsize>(there, 1, static_cast<std::streamsize>(most)));
    return static_cast<size_t>(source_.gcount());
  }

  size_t start() {
    started_ = true;
    size_t size = 0;
    Packing packing = Packing::zstd;
    for (size_t got = 1; size < kZstd.size() && packing != Packing::none && got > 0; size += got) {
      got = read(raw_.data() + size, raw_.size() - size);
      packing = size + got > 0 ? packing_of({raw_.data(), size + got}) : Packing::none;
    }
    packed_ = {raw_.data(), size};
    if (packing == Packing::gzip && size >= kGzip.size())
      unpacker_ = std::make_unique<GzipUnpacker>();
    if (packing == Packing::zstd && size >= kZstd.size())
      unpacker_ = std::make_unique<ZstdUnpacker>();
    if (unpacker_) return next();
    std::copy(packed_.begin(), packed_.end(), text_.begin());
    return size;
  }

  size_t next() {
    if (!unpacker_) return read(text_.data(), text_.size());
    for (;;) {
      if (const size_t size = unpack()) return size;
      packed_ = {raw_.data(), read(raw_.data(), raw_.size())};
      if (packed_.empty()) break;
    }
    require(unpacker_->may_end(), name_, " ", damaged("the packed data end too early"));
    return 0;
  }

  size_t unpack() {
    try {
      return unpacker_->unpack(packed_, text_);
    } catch (const Error& e) {
      fail(name_, " ", e.what());
    }
  }

  static constexpr size_t kBytes = size_t{64} << 10;

  std::istream& source_;
  std::string name_;
  bool started_ = false;
  std::vector<char> raw_ = std::vector<char>(kBytes), text_ = std::vector<char>(kBytes);
  std::string_view packed_;  // the part of raw_ that is not unpacked yet
  std::unique_ptr<Unpacker> unpacker_;
};

}  // namespace

std::string_view unpacked_name(std::string_view name) {
  for (const std::string_view packed : {".gz", ".zst"})
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  return name;
}

UnpackedStream::UnpackedStream(std::istream& source, std::string name)
    : std::istream(nullptr), buffer_(std::make_unique<Unpacked>(source, std::move(name))) {
  rdbuf(buffer_.get());
  exceptions(std::ios::badbit);  // passes on the exceptions of the buffer
}

bool may_be_packed(int first) {
  const char start = static_cast<char>(first);
  return first != std::char_traits<char>::eof() && packing_of({&start, 1}) != Packing::none;
}

}  // namespace nine
