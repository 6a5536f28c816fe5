// What each path of the server answers.
#pragma once

#include "apps/nine_serve/http_server.h"
#include "apps/nine_serve/served_model.h"
#include "apps/nine_serve/worker.h"

namespace nine::app {

/// The paths of the server. All references must outlive it.
class Service {
 public:
  Service(const Limits& limits, const ServedModels& models, Worker& worker, Metrics& metrics,
          HttpServer& server);

 private:
  using Request = HttpServer::Request;
  using Response = HttpServer::Response;

  void list_models(Response& response) const;
  void complete(const Request& request, const std::string& body, Response& response);
  void list_languages(Response& response) const;
  void translate(const Request& request, const std::string& body, Response& response);
  void score(const Request& request, const std::string& body, Response& response);
  void restrict(const Request& request, const std::string& body, Response& response);
  void explain(const Request& request, const std::string& body, Response& response);

  /// Computes a call and waits for it. Throws the call's error. ApiErrors: those of
  /// Worker::submit(); 503 if Limits::timeout is over; the client went away.
  void compute(const Request& request, const std::shared_ptr<Call>& call);
  void await(Call& call) const;

  const Limits& limits_;
  const ServedModels& models_;
  Worker& worker_;
  Metrics& metrics_;
  HttpServer& server_;
};

}  // namespace nine::app
