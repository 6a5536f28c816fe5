#include "data/pack.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace nine {

std::string gzip(std::string_view text) {
  constexpr int kGzip = 16 + MAX_WBITS;  // zlib's way to say that the header is gzip's
  constexpr int kMemory = 8;             // zlib's default
  z_stream stream{};
  require(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemory,
                       Z_DEFAULT_STRATEGY) == Z_OK,
          "zlib cannot begin to pack");
  std::string packed;
  std::string buffer(size_t{1} << 16, '\0');
  for (int state = Z_OK; state != Z_STREAM_END;) {
    if (stream.avail_in == 0 && !text.empty()) {
      const size_t part = std::min<size_t>(text.size(), std::numeric_limits<uInt>::max());
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
      stream.avail_in = static_cast<uInt>(part);
      text.remove_prefix(part);
    }
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    state = deflate(&stream, text.empty() ? Z_FINISH : Z_NO_FLUSH);
    packed.append(buffer.data(), buffer.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return packed;
}

}  // namespace nine
