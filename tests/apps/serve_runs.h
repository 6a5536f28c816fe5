// Running nine_serve and asking it, byte by byte, as the tests of the server need it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "tests/apps/mt_runs.h"
#include "tests/support/conversation.h"

namespace nine::tests {

/// An answer of the server.
struct HttpAnswer {
  int status = 0;                              ///< 0: the connection ended without an answer
  std::map<std::string, std::string> headers;  ///< names in small letters
  std::string body;                            ///< without the sizes of its chunks
  /// The body as JSON. Fails the test case where it is not JSON.
  Json json() const;
};

/// A connection to a port of this machine; closed at the latest with this object.
class HttpClient {
 public:
  explicit HttpClient(int port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Sends bytes as they are; false where the server has closed the connection.
  bool send(const std::string& bytes) const;
  /// Reads one answer, for at most a minute.
  HttpAnswer read();
  /// Reads until `text` has come; false where the connection ends before.
  bool read_until(const std::string& text);
  void close();

 private:
  bool receive();

  int socket_ = -1;
  std::string received_;
};

/// A request as its bytes. With a body it is JSON, unless `headers` say another type.
std::string http_request(const std::string& method, const std::string& path,
                         const std::string& body = {}, const Strings& headers = {});

/// A server that listens on a free port of 127.0.0.1, with two threads; killed at the latest with
/// this object.
class ServeRun {
 public:
  explicit ServeRun(const Strings& arguments);

  int port() const { return port_; }
  /// Asks on a connection of its own.
  HttpAnswer ask(const std::string& method, const std::string& path, const std::string& body = {},
                 const Strings& headers = {}) const;
  HttpAnswer get(const std::string& path, const Strings& headers = {}) const {
    return ask("GET", path, {}, headers);
  }
  HttpAnswer post(const std::string& path, const Json& body, const Strings& headers = {}) const;
  /// A counter of /metrics; 0 where it is not there, NaN if the server refuses to answer.
  double metric(const std::string& name) const;

  void signal(int number) { run_.program().signal(number); }
  /// Waits until the server has ended.
  Outcome end() { return run_.end(); }
  Program& program() { return run_.program(); }

 private:
  Conversation run_;
  int port_ = 0;
};

/// A model of raw text, trained when it is first asked for.
const std::string& raw_model();

/// A translation model, trained when it is first asked for, and a sentence of its language.
struct TranslationModel {
  TranslationModel();
  Reversed data;
  std::string run = data.dir / "run";
  std::string sentence;
};
const TranslationModel& translation_model();

/// A text whose tokens take longer than a test waits.
const std::string& endless();
/// A request of /v1/completions that takes longer than a test waits, and is quickly sent. It takes
/// half of the groups.
Json endless_completion(bool stream = false);

/// The message of an error in OpenAI's form.
std::string message_of(const HttpAnswer& answer);
/// The text of the first choice.
std::string text_of(const HttpAnswer& answer);

}  // namespace nine::tests
