// The HTTP side of the server: connections, access, limits, and the forms of answers and errors.
// What a path answers is in apps/nine_serve/service.h.
#pragma once

#include <httplib.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "apps/nine_serve/access.h"
#include "apps/nine_serve/api_error.h"
#include "apps/nine_serve/limits.h"
#include "apps/nine_serve/metrics.h"

namespace nine::app {

/// A server with a thread for each connection, of which there are at most Limits::connections.
class HttpServer : private httplib::Server {
 public:
  using Request = httplib::Request;
  using Response = httplib::Response;
  /// Answers a request. An exception becomes an error in the path's form (api_error_of).
  using Answer = std::function<void(const Request&, Response&)>;
  /// The same with the request's body.
  using AnswerBody = std::function<void(const Request&, const std::string& body, Response&)>;

  HttpServer(const Limits& limits, const Access& access, Metrics& metrics);

  /// Adds a path. `open`: no token is needed.
  void get(const std::string& path, Answer answer, bool open = false);
  /// `own_token`: `answer` itself checks the token, which the body may have.
  void post(const std::string& path, AnswerBody answer, bool own_token = false);
  /// Errors of this path have LibreTranslate's form.
  void use_libretranslate_errors(const std::string& path) { libretranslate_.insert(path); }

  /// Returns the port that is listened on; 0 takes a free port. Error: the address is in use, or
  /// not of this machine.
  int bind(const std::string& host, int port);
  /// Answers until drain() has ended. Returns false if the system accepts no more connections.
  bool run() { return listen_after_bind(); }
  /// Waits until another thread's run() accepts connections.
  void wait_until_running() const;
  /// Refuses new requests (503), waits until the others are answered, and stops.
  void drain();

  /// Returns the token of the header Authorization; empty if the header has no bearer token.
  static std::string_view bearer_token(const Request& request);
  /// Throws the ApiError (401) unless the token is known.
  void require_token(std::string_view token) const;
  /// Counts a request of its address until the returned pointer is destroyed. Returns null if
  /// Limits::client_requests is 0. ApiError (429): the address has Limits::client_requests requests
  /// already.
  std::shared_ptr<void> client_place(const Request& request);

 private:
  bool process_and_close_socket(int socket) override;
  HandlerResponse before(const Request& request, Response& response);
  void check(const Request& request) const;
  void check_content(const Request& request) const;
  void set_error(const std::string& path, Response& response, const ApiError& error) const;
  std::string known_path(const std::string& path) const;
  void count_answer(const std::string& path, int status) const;

  const Limits& limits_;
  const Access& access_;
  Metrics& metrics_;
  std::set<std::string> paths_, open_, own_token_, libretranslate_;
  std::atomic<bool> draining_ = false;
  std::atomic<int64_t> active_ = 0;  // requests that are read or answered
  std::mutex mutex_;
  std::map<std::string, int64_t> of_address_;
};

}  // namespace nine::app
