#include "apps/nine_serve/http_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <thread>

#include "apps/nine_serve/api_error.h"
#include "apps/nine_serve/connection.h"
#include "core/quote.h"

namespace nine::app {
namespace {

using Clock = std::chrono::steady_clock;
thread_local Clock::time_point request_began;
thread_local bool refuse_connection = false;
constexpr size_t kRequestsOfConnection = 1'000'000;  // said to clients, and not counted
constexpr int kBacklog = 1024;                       // connections that wait to be accepted
constexpr size_t kMostPath = 1024;                   // bytes

// Runs each connection in a thread. Threads stay for later connections.
class ConnectionThreads : public httplib::TaskQueue {
 public:
  explicit ConnectionThreads(int64_t most) : most_(most) {}

  void enqueue(std::function<void()> serve) override {
    {
      const std::lock_guard lock(mutex_);
      if (busy_ < most_) {
        ++busy_;
        work_.push_back(std::move(serve));
        try {
          if (busy_ > std::ssize(threads_)) threads_.emplace_back([this] { run(); });
          changed_.notify_one();
          return;
        } catch (const std::exception&) {  // no further thread: refused as one too many
          serve = std::move(work_.back());
          work_.pop_back();
          --busy_;
        }
      }
    }
    refuse_connection = true;  // in the thread that accepts connections
    serve();
    refuse_connection = false;
  }

  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void run() {
    for (;;) {
      std::function<void()> serve;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !work_.empty() || ending_; });
        if (work_.empty()) return;
        serve = std::move(work_.front());
        work_.pop_front();
      }
      serve();
      const std::lock_guard lock(mutex_);
      --busy_;
    }
  }

  const int64_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::vector<std::thread> threads_;
  int64_t busy_ = 0;
  bool ending_ = false;
};

// Returns the headers that a page of another origin may send. The clients of some libraries
// describe themselves in headers of their own, so all names are allowed.
std::string allowed_headers(const std::string& asked) {
  const bool names = std::ranges::all_of(asked, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == ',' || c == ' ';
  });
  return asked.empty() || !names ? "Authorization, Content-Type" : asked;
}

}  // namespace

std::string_view HttpServer::bearer_token(const Request& request) {
  constexpr std::string_view kBearer = "Bearer ";
  const auto header = request.headers.find("Authorization");
  if (header == request.headers.end() || !header->second.starts_with(kBearer)) return {};
  return std::string_view(header->second).substr(kBearer.size());
}

HttpServer::HttpServer(const Limits& limits, const Access& access, Metrics& metrics)
    : limits_(limits), access_(access), metrics_(metrics) {
  new_task_queue = [&] { return new ConnectionThreads(limits_.connections); };
  set_keep_alive_max_count(kRequestsOfConnection);
  set_keep_alive_timeout(static_cast<time_t>(limits.keep_alive));
  // Not SO_REUSEPORT, httplib's own choice, by which a second server would share the port.
  set_socket_options([](int socket) {
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  set_payload_max_length(static_cast<size_t>(limits.body));
  set_pre_routing_handler(
      [&](const Request& request, Response& response) { return before(request, response); });
  set_error_handler([&](const Request& request, Response& response) {
    if (!response.body.empty()) return;
    const std::string path = known_path(request.path);
    if (response.status == 404 && path != "other")
      set_error(request.path, response, {405, concat(request.method, " is not for this path")});
    else if (response.status == 404)
      set_error(request.path, response,
                {404, concat("there is no path ", shortened(request.path))});
    else {
      // An error of httplib before before() was called. Where the next request begins is not known.
      Connection::current()->close_after();
      response.set_header("Connection", "close");
      set_error(request.path, response, {response.status, "the request is not HTTP as expected"});
    }
  });
  set_logger([&](const Request& request, const Response& response) {
    if (Connection::current()->refused() == 0)  // otherwise the client has had another answer
      count_answer(known_path(request.path), response.status);
  });
  set_default_headers({{"X-Content-Type-Options", "nosniff"}, {"Cache-Control", "no-store"}});
}

std::string HttpServer::known_path(const std::string& path) const {
  if (path.starts_with("/v1/models/")) return "/v1/models/";
  return paths_.contains(path) ? path : "other";
}

void HttpServer::count_answer(const std::string& path, int status) const {
  metrics_.answered(path, status,
                    std::chrono::duration<double>(Clock::now() - request_began).count());
}

void HttpServer::set_error(const std::string& path, Response& response,
                           const ApiError& error) const {
  response.status = error.status;
  if (error.retry_after > 0) response.set_header("Retry-After", std::to_string(error.retry_after));
  if (error.status == 401) response.set_header("WWW-Authenticate", "Bearer");
  response.set_content(
      libretranslate_.contains(path) ? libretranslate_error(error) : openai_error(error),
      "application/json");
}

void HttpServer::get(const std::string& path, Answer answer, bool open) {
  paths_.insert(path);
  if (open) open_.insert(path);
  Get(path, [this, answer = std::move(answer)](const Request& request, Response& response) {
    try {
      answer(request, response);
    } catch (...) {
      set_error(request.path, response, api_error_of(std::current_exception()));
    }
  });
}

void HttpServer::post(const std::string& path, AnswerBody answer, bool own_token) {
  paths_.insert(path);
  if (own_token) own_token_.insert(path);
  Post(path, [this, answer = std::move(answer)](const Request& request, Response& response,
                                                const httplib::ContentReader& content) {
    std::string body;
    const bool whole = content([&](const char* bytes, size_t size) {
      body.append(bytes, size);
      return std::ssize(body) <= limits_.body;
    });
    try {
      if (!whole) throw ApiError(400, "the request's body did not arrive");
      answer(request, body, response);
    } catch (...) {
      set_error(request.path, response, api_error_of(std::current_exception()));
    }
  });
}

void HttpServer::require_token(std::string_view token) const {
  if (access_.needs_token() && !access_.knows(token))
    throw ApiError(401,
                   token.empty() ? "this server needs a token: send Authorization: Bearer TOKEN"
                                 : "the token is wrong",
                   {}, "invalid_api_key");
}

void HttpServer::check_content(const Request& request) const {
  const size_t lengths = request.get_header_value_count("Content-Length");
  const std::string length = request.get_header_value("Content-Length");
  if (request.has_header("Transfer-Encoding"))
    throw ApiError(411, "a body in chunks is not read: send its Content-Length");
  const bool is_number = length.size() <= 18 &&
                         std::ranges::all_of(length, [](char c) { return c >= '0' && c <= '9'; });
  if (lengths > 1 || (lengths == 1 && (length.empty() || !is_number)))
    throw ApiError(400, concat("the Content-Length ", to_text(quote(length)), " is not a number"));
  if (request.method != "POST") {
    if (lengths == 1 && length != "0") throw ApiError(400, "a body belongs to POST only");
    // httplib reads the body of any other method to the connection's end, whatever its size.
    if (request.method != "GET" && request.method != "HEAD" && request.method != "OPTIONS") {
      const bool known = known_path(request.path) != "other";
      throw ApiError(known ? 405 : 404, concat(request.method, " is not for this path"));
    }
    return;
  }
  if (lengths == 0) throw ApiError(411, "the header Content-Length is missing");
  if (std::stoll(length) > limits_.body)
    throw ApiError(
        413, concat("the body has ", length, " bytes, and at most ", limits_.body, " are allowed"));
  if (request.has_header("Content-Encoding") &&
      request.get_header_value("Content-Encoding") != "identity")
    throw ApiError(415, "a packed body is not read: send it without Content-Encoding");
  if (request.is_multipart_form_data())
    throw ApiError(415, "multipart/form-data is not read: send JSON");
}

void HttpServer::check(const Request& request) const {
  if (draining_) throw ApiError(503, "the server is stopping", {}, "server_stopping", 5);
  // The HTTP library matches paths by a recursion for each character.
  if (request.path.size() > kMostPath)
    throw ApiError(414, concat("the path has more than ", kMostPath, " bytes"));
  if (request.get_header_value_count("Host") != 1)
    throw ApiError(400, "a request has one Host header");
  const std::string& host = request.headers.find("Host")->second;  // whole, also behind a NUL
  if (!access_.allows_host(host))
    throw ApiError(403, concat("the host ", to_text(quote(host)),
                               " is not this server: ask for its address, or start it with "
                               "--allow-host NAME"));
  if (const std::string origin = request.get_header_value("Origin");
      !origin.empty() && !access_.allows_origin(origin, host))
    throw ApiError(403, concat("pages of ", shortened(origin),
                               " may not ask: start the server with --allow-origin ORIGIN"));
  check_content(request);
  if (request.method != "OPTIONS" && !open_.contains(request.path) &&
      !own_token_.contains(request.path))
    require_token(bearer_token(request));
}

// Answers what needs no path: errors of access, and browsers that ask for other origins.
httplib::Server::HandlerResponse HttpServer::before(const Request& request, Response& response) {
  request_began = Clock::now();
  if (const std::string origin = request.get_header_value("Origin");
      access_.is_other_origin(origin)) {
    response.set_header("Access-Control-Allow-Origin", origin);
    response.set_header("Vary", "Origin");
  }
  try {
    check(request);
  } catch (const ApiError& e) {
    Connection::current()->close_after();  // the body stays unread
    response.set_header("Connection", "close");
    set_error(request.path, response, e);
    return HandlerResponse::Handled;
  }
  if (request.method != "OPTIONS") return HandlerResponse::Unhandled;
  if (access_.is_other_origin(request.get_header_value("Origin"))) {
    response.set_header("Access-Control-Allow-Methods", "GET, POST");
    response.set_header(
        "Access-Control-Allow-Headers",
        allowed_headers(request.get_header_value("Access-Control-Request-Headers")));
  }
  response.status = 204;
  return HandlerResponse::Handled;
}

std::shared_ptr<void> HttpServer::client_place(const Request& request) {
  if (limits_.client_requests == 0) return {};
  const std::string address = request.remote_addr;
  const std::lock_guard lock(mutex_);
  int64_t& count = of_address_[address];
  if (count >= limits_.client_requests)
    throw ApiError(
        429, concat("your address has ", limits_.client_requests, " requests in work already"), {},
        "rate_limit_exceeded", 1);
  ++count;
  return {&count, [this, address](void*) {
            const std::lock_guard own(mutex_);
            const auto at = of_address_.find(address);
            if (--at->second == 0) of_address_.erase(at);
          }};
}

bool HttpServer::process_and_close_socket(int socket) {
  Connection connection(socket, limits_);
  if (refuse_connection) {
    connection.close_at_once();
    connection.refuse("503 Service Unavailable",
                      concat("all ", limits_.connections, " connections are in use"), 1);
    request_began = Clock::now();
    count_answer("other", connection.refused());
    return false;
  }
  ++metrics_.connections;
  bool served = false;
  for (;;) {
    if (!connection.next_request([&] { return draining_.load(); })) break;
    ++active_;
    request_began = Clock::now();
    bool closed = false;
    served = process_request(connection, false, closed, [](Request& request) {
      request.headers.erase("Accept-Encoding");  // packing costs more than it saves here
      request.ranges.clear();
    });
    if (connection.refused() != 0) count_answer("other", connection.refused());
    --active_;
    if (!served || closed || connection.closing()) break;
  }
  --metrics_.connections;
  return served;
}

int HttpServer::bind(const std::string& host, int port) {
  const int bound = port == 0 ? bind_to_any_port(host) : bind_to_port(host, port) ? port : -1;
  require(bound > 0, "cannot listen on ", host, " port ", port,
          ": the port is in use, or the address is not of this machine; choose another --port");
  ::listen(svr_sock_, kBacklog);
  return bound;
}

void HttpServer::wait_until_running() const {
  while (!is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void HttpServer::drain() {
  draining_ = true;
  while (active_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  stop();
}

}  // namespace nine::app
