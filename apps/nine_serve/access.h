// Who may ask: tokens, Host headers and origins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nine::app {

/// The rules of access.
class Access {
 public:
  /// Sets the rules. `host` is the address to listen on. `names` are further names that a Host
  /// header may have. `origins` are the other origins whose pages may ask. `token_file` is a file
  /// with a token a line; if it is empty, no token is needed. UsageErrors: `host` is neither an
  /// address nor "localhost"; an address other than loopback without a token file; an origin with a
  /// path, or without "://". Errors: the
  /// token file is missing; other users can read it; it has no token; a token has fewer than 16
  /// characters, or a '%', which the HTTP library decodes in headers.
  Access(std::string host, std::vector<std::string> names, std::vector<std::string> origins,
         const std::string& token_file);

  bool needs_token() const { return !tokens_.empty(); }
  /// True if the token is one of the file's. Compares all bytes of all tokens, so that the time
  /// does not tell how much of a token is right.
  bool knows(std::string_view token) const;
  /// True if a request may have this Host header.
  bool allows_host(std::string_view header) const;
  /// True if a page of this origin may ask. The server's own pages have the origin http://HOST.
  bool allows_origin(std::string_view origin, std::string_view host_header) const;
  /// True if this origin was named, so that the answer must allow it to the browser.
  bool is_other_origin(std::string_view origin) const;

 private:
  std::string host_;
  std::vector<std::string> names_, origins_, tokens_;
};

/// UsageError: `host` is neither an address nor "localhost".
void require_address(const std::string& host);

/// True for addresses of this machine alone: 127.0.0.0/8, ::1 and "localhost".
bool is_loopback(std::string_view host);

}  // namespace nine::app
