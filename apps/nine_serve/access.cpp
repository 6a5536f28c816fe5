#include "apps/nine_serve/access.h"

#include <arpa/inet.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/files.h"
#include "core/quote.h"
#include "data/text.h"

namespace nine::app {
namespace {

constexpr size_t kLeastToken = 16;  // characters

bool is_address(std::string_view host) {
  if (host.find('\0') != std::string_view::npos) return false;  // inet_pton would stop there
  in6_addr bytes{};
  const std::string text(host);
  return inet_pton(AF_INET, text.c_str(), &bytes) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &bytes) == 1;
}

// Returns the name of a Host header, without the port and the brackets of an IPv6 address.
std::string_view name_of(std::string_view header) {
  if (header.starts_with('[')) {
    const size_t end = header.find(']');
    const bool whole =
        end != std::string_view::npos && (end + 1 == header.size() || header[end + 1] == ':');
    return whole ? header.substr(1, end - 1) : header;
  }
  return header.substr(0, header.find(':'));
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

bool same_bytes(std::string_view a, std::string_view b) {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i]) ^
                 static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  return different == 0;
}

}  // namespace

bool is_loopback(std::string_view host) {
  if (host == "localhost") return true;
  if (host.find('\0') != std::string_view::npos) return false;
  const std::string text(host);
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, text.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

void require_address(const std::string& host) {
  if (!is_loopback(host) && !is_address(host))
    fail_usage(quote(host), " is not an address: give one such as 127.0.0.1 or ::1");
}

Access::Access(std::string host, std::vector<std::string> names, std::vector<std::string> origins,
               const std::string& token_file)
    : host_(std::move(host)), names_(std::move(names)), origins_(std::move(origins)) {
  require_address(host_);
  for (const std::string& origin : origins_) {
    const size_t scheme = origin.find("://");
    const bool bare = scheme != std::string::npos && scheme + 3 < origin.size() &&
                      origin.find_first_of("/?# ", scheme + 3) == std::string::npos;
    if (!bare)
      fail_usage("--allow-origin ", quote(origin),
                 " is not an origin: give the scheme, the name and the port, if there is one, "
                 "such as https://example.org, without a path or a slash at the end");
  }
  if (!is_loopback(host_) && token_file.empty())
    fail_usage("--host ", host_,
               " lets other machines ask: give --token-file FILE, a file with a token that they "
               "must send");
  if (token_file.empty()) return;
  struct stat status {};
  const bool there = stat(token_file.c_str(), &status) == 0;
  require(there, "--token-file ", token_file, ": ", std::strerror(errno));
  require((status.st_mode & (S_IRWXG | S_IRWXO)) == 0, token_file,
          " can be read by other users: chmod 600 ", token_file);
  const std::string text = read_text(token_file);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string token = text.substr(begin, end - begin);
    while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
    if (!token.empty()) tokens_.push_back(std::move(token));
    begin = end + 1;
  }
  require(!tokens_.empty(), token_file, " has no token: write a line of at least ", kLeastToken,
          " characters");
  for (const std::string& token : tokens_) {
    require(token.find('%') == std::string::npos, token_file,
            " has a token with %, which servers decode in headers: make one of other characters");
    require(token.size() >= kLeastToken, token_file, " has a token of ", token.size(),
            " characters, which can be guessed: a token has at least ", kLeastToken);
  }
}

bool Access::knows(std::string_view token) const {
  bool known = false;
  for (const std::string& own : tokens_)
    known = static_cast<bool>(static_cast<unsigned>(known) |
                              static_cast<unsigned>(same_bytes(token, own)));
  return known;
}

bool Access::allows_host(std::string_view header) const {
  const std::string_view name = name_of(header);
  if (std::ranges::any_of(names_, [&](const auto& own) { return same_name(own, name); }))
    return true;
  if (is_loopback(host_)) return is_loopback(name) || same_name("localhost", name);
  // A page of another site reaches this server under a name of its own, never under an address.
  return is_address(name) || same_name("localhost", name);
}

bool Access::is_other_origin(std::string_view origin) const {
  return std::ranges::any_of(origins_, [&](const auto& own) { return same_name(own, origin); });
}

bool Access::allows_origin(std::string_view origin, std::string_view host_header) const {
  return is_other_origin(origin) || same_name(origin, concat("http://", host_header)) ||
         same_name(origin, concat("https://", host_header));
}

}  // namespace nine::app
