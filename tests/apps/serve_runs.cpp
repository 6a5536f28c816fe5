#include "tests/apps/serve_runs.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace nine::tests {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

Json HttpAnswer::json() const {
  Json value;
  CAPTURE(body);
  REQUIRE_NOTHROW(value = parse_json(body));
  return value;
}

HttpClient::HttpClient(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
}

HttpClient::~HttpClient() { close(); }

void HttpClient::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

bool HttpClient::send(const std::string& bytes) const {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::send(socket_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (count <= 0) return false;
    at += static_cast<size_t>(count);
  }
  return true;
}

bool HttpClient::receive() {
  pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
  if (poll(&ready, 1, 60'000) <= 0) return false;
  char bytes[65536];
  const ssize_t count = recv(socket_, bytes, sizeof bytes, 0);
  if (count <= 0) return false;
  received_.append(bytes, static_cast<size_t>(count));
  return true;
}

bool HttpClient::read_until(const std::string& text) {
  while (received_.find(text) == std::string::npos)
    if (!receive()) return false;
  return true;
}

HttpAnswer HttpClient::read() {
  HttpAnswer answer;
  if (!read_until("\r\n\r\n")) return answer;
  const size_t end = received_.find("\r\n\r\n");
  std::string head = received_.substr(0, end + 2);
  received_.erase(0, end + 4);
  answer.status = std::stoi(head.substr(head.find(' ')));
  for (size_t line = head.find("\r\n") + 2; line < head.size();) {
    const size_t next = head.find("\r\n", line), colon = head.find(':', line);
    const size_t value = head.find_first_not_of(' ', colon + 1);
    answer.headers[lower(head.substr(line, colon - line))] = head.substr(value, next - value);
    line = next + 2;
  }
  const auto take = [&](size_t size) {
    while (received_.size() < size)
      if (!receive()) break;
    std::string part = received_.substr(0, size);
    received_.erase(0, size);
    return part;
  };
  if (answer.headers.contains("content-length")) {
    answer.body = take(std::stoul(answer.headers["content-length"]));
  } else if (answer.headers.contains("transfer-encoding")) {
    for (;;) {
      if (!read_until("\r\n")) break;
      const size_t size = std::stoul(received_, nullptr, 16);
      received_.erase(0, received_.find("\r\n") + 2);
      answer.body += take(size);
      take(2);
      if (size == 0) break;
    }
  }
  return answer;
}

std::string http_request(const std::string& method, const std::string& path,
                         const std::string& body, const Strings& headers) {
  std::string out = concat(method, " ", path, " HTTP/1.1\r\n");
  const auto has = [&](const std::string& name) {
    return std::ranges::any_of(headers, [&](const auto& h) { return h.starts_with(name); });
  };
  if (!has("Host:")) out += "Host: 127.0.0.1\r\n";
  for (const std::string& header : headers) out += header + "\r\n";
  if (method == "POST") {
    if (!has("Content-Type:")) out += "Content-Type: application/json\r\n";
    if (!has("Content-Length:")) out += concat("Content-Length: ", body.size(), "\r\n");
  }
  return out + "\r\n" + body;
}

ServeRun::ServeRun(const Strings& arguments)
    : run_("nine_serve", joined({"--port", "0", "--threads", "2"}, arguments)) {
  const std::string line = run_.hear();
  const size_t colon = line.rfind(':');
  REQUIRE(line.starts_with("nine_serve: listening on http://127.0.0.1:"));
  port_ = std::stoi(line.substr(colon + 1));
}

HttpAnswer ServeRun::ask(const std::string& method, const std::string& path,
                         const std::string& body, const Strings& headers) const {
  HttpClient client(port_);
  client.send(http_request(method, path, body, headers));
  return client.read();
}

HttpAnswer ServeRun::post(const std::string& path, const Json& body, const Strings& headers) const {
  return ask("POST", path, json_text(body), headers);
}

double ServeRun::metric(const std::string& name) const {
  const HttpAnswer answer = get("/metrics");
  if (answer.status != 200) return NAN;
  const std::string text = "\n" + answer.body;
  const size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size() + 2));
}

const std::string& raw_model() {
  static const TemporaryDirectory dir;
  static const std::string run = [] {
    std::string text;
    for (int i = 0; i < 300; ++i)
      text += concat(i % 2 == 0 ? "The cat" : "A dog", " saw ",
                     i % 3 == 0 ? "him" : "the caf\xC3\xA9", i % 5 == 0 ? "!" : ".", "\n");
    const Outcome r = run_program("lm_train", {"--text",       dir.write("text", text),
                                               "--run",        dir / "raw",
                                               "--layers",     "1",
                                               "--hidden",     "16",
                                               "--embed",      "16",
                                               "--batch",      "4",
                                               "--bptt",       "16",
                                               "--lr",         "0.01",
                                               "--after",      "60u",
                                               "--vocab-size", "270"});
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return dir / "raw";
  }();
  return run;
}

TranslationModel::TranslationModel() {
  const Outcome r = train(tiny(run, data.files({"--after", "40u"})));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  for (const auto& entry : std::filesystem::directory_iterator(data.dir.path()))
    if (entry.is_regular_file() && sentence.empty()) {
      const std::string text = slurp(entry.path());
      sentence = text.substr(0, text.find('\n'));
    }
}

const TranslationModel& translation_model() {
  static const TranslationModel model;
  return model;
}

const std::string& endless() {
  static const std::string text = [] {
    std::string all;
    for (int i = 0; i < 3'000'000; ++i) all += "the ";
    return all;
  }();
  return text;
}

Json endless_completion(bool stream) {
  return {{"prompt", endless().substr(0, 400'000)}, {"n", 64}, {"stream", stream}};
}

std::string message_of(const HttpAnswer& answer) {
  return answer.json()["error"]["message"].get<std::string>();
}

std::string text_of(const HttpAnswer& answer) {
  CAPTURE(answer.body);
  REQUIRE(answer.status == 200);
  return answer.json()["choices"][0]["text"].get<std::string>();
}

}  // namespace nine::tests
