#include "apps/nine_serve/service.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "apps/nine_serve/api_error.h"
#include "apps/nine_serve/completions.h"
#include "apps/nine_serve/connection.h"
#include "apps/nine_serve/explain_words.h"
#include "apps/nine_serve/page.h"
#include "apps/nine_serve/request_fields.h"
#include "apps/nine_serve/score_calls.h"
#include "apps/nine_serve/translate_call.h"
#include "core/quote.h"

namespace nine::app {
namespace {

constexpr double kLook = 0.05;  // seconds between two looks whether the client is still there
constexpr const char* kJson = "application/json";

std::chrono::steady_clock::time_point deadline_of(const Limits& limits) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(limits.timeout));
}

ApiError timed_out(const Limits& limits) {
  return {503,
          concat("the answer took longer than ", limits.timeout,
                 " seconds: ask for fewer texts or tokens, or ask later"),
          {},
          "timeout",
          5};
}

Json json_of(const ServedModel& model) {
  Json out{{"id", model.name()},
           {"object", "model"},
           {"created", model.loaded()},
           {"owned_by", "nine"},
           {"kind", model.translates() ? "translation" : "language"}};
  if (model.translates()) {
    out["languages"] = {model.source().from, model.source().to};
    return out;
  }
  out["head"] = model.language().network().head_config().spec.to_text();
  out["reads"] = model.reads_raw_text() ? "raw text" : "words";
  out["tokens"] = model.language().network().vocab();
  out["end_token"] = model.token(Specials::kLanguageModel.end);
  return out;
}

}  // namespace

Service::Service(const Limits& limits, const ServedModels& models, Worker& worker, Metrics& metrics,
                 HttpServer& server)
    : limits_(limits), models_(models), worker_(worker), metrics_(metrics), server_(server) {
  const auto body = [this](void (Service::*answer)(const Request&, const std::string&, Response&)) {
    return [this, answer](const Request& request, const std::string& text, Response& response) {
      (this->*answer)(request, text, response);
    };
  };
  server.get(
      "/",
      [](const Request&, Response& response) {
        response.set_header("Content-Security-Policy",
                            "default-src 'none'; style-src 'unsafe-inline'; script-src "
                            "'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action "
                            "'none'; frame-ancestors 'none'");
        response.set_content(std::string(kServePage), "text/html; charset=utf-8");
      },
      true);
  server.get(
      "/health",
      [](const Request&, Response& response) { response.set_content(R"({"status":"ok"})", kJson); },
      true);
  server.get("/metrics", [this](const Request&, Response& response) {
    response.set_content(metrics_.text(), "text/plain; version=0.0.4; charset=utf-8");
  });
  server.get("/v1/models", [this](const Request&, Response& response) { list_models(response); });
  server.get("/v1/models/(.+)", [this](const Request& request, Response& response) {
    const std::string name = request.matches[1];
    for (const ModelPointer& model : models_.all())
      if (model->name() == name) return response.set_content(json_text(json_of(*model)), kJson);
    throw ApiError(404, concat("there is no model ", to_text(quote(name))), "model",
                   "model_not_found");
  });
  server.post("/v1/completions", body(&Service::complete));
  server.get("/languages",
             [this](const Request&, Response& response) { list_languages(response); });
  server.use_libretranslate_errors("/languages");
  server.post("/translate", body(&Service::translate), true);
  server.use_libretranslate_errors("/translate");
  server.post("/score", body(&Service::score));
  server.post("/restrict", body(&Service::restrict));
  server.post("/explain", body(&Service::explain));
}

void Service::await(Call& call) const {
  const auto until = deadline_of(limits_);
  while (!call.wait(kLook)) {
    if (Connection::current()->client_gone()) {
      ++metrics_.gone;
      call.cancel();
      throw ApiError(499, "the client went away");
    }
    if (std::chrono::steady_clock::now() > until) {
      call.cancel();
      throw timed_out(limits_);
    }
  }
  call.rethrow();
}

void Service::compute(const Request& request, const std::shared_ptr<Call>& call) {
  const std::shared_ptr<void> place = server_.client_place(request);
  worker_.submit(call);
  await(*call);
}

void Service::list_models(Response& response) const {
  Json all = Json::array();
  for (const ModelPointer& model : models_.all()) all.push_back(json_of(*model));
  response.set_content(json_text({{"object", "list"}, {"data", std::move(all)}}), kJson);
}

void Service::complete(const Request& request, const std::string& body, Response& response) {
  CompletionRequest asked = parse_completion(body, limits_);
  const ModelPointer model = models_.find(asked.model, false);
  const bool streams = asked.stream;
  const auto call = std::make_shared<CompletionCall>(model, std::move(asked), limits_);
  if (!streams) {
    compute(request, call);
    return response.set_content(call->answer(), kJson);
  }
  const std::shared_ptr<void> place = server_.client_place(request);
  worker_.submit(call);
  const auto until = deadline_of(limits_);
  response.set_chunked_content_provider(
      "text/event-stream",
      [this, call, until](size_t, httplib::DataSink& sink) {
        const bool done = call->wait(kLook, [&] { return call->has_events(); });
        std::string events;
        {
          const std::lock_guard lock(call->mutex());
          events = call->take_events();
        }
        if (done) {
          try {
            call->rethrow();
            events += call->last_events();
          } catch (...) {
            events += CompletionCall::error_event(std::current_exception());
          }
        } else if (std::chrono::steady_clock::now() > until) {
          call->cancel();
          events += CompletionCall::error_event(std::make_exception_ptr(timed_out(limits_)));
        }
        const bool over = done || call->cancelled();
        if ((!events.empty() && !sink.write(events.data(), events.size())) ||
            (!over && Connection::current()->client_gone()))
          return false;  // the releaser cancels the call
        if (over) sink.done();
        return true;
      },
      [this, call, place](bool) {
        if (call->done() || call->cancelled()) return;
        ++metrics_.gone;
        call->cancel();
      });
}

void Service::list_languages(Response& response) const {
  response.set_content(languages_json(models_.all()), kJson);
}

void Service::translate(const Request& request, const std::string& body, Response& response) {
  const std::string_view bearer = HttpServer::bearer_token(request);
  if (!bearer.empty()) server_.require_token(bearer);  // before the work of reading the body
  const TranslateRequest asked =
      parse_translate(body, request.get_header_value("Content-Type"), limits_);
  if (bearer.empty()) server_.require_token(asked.api_key);
  const auto call = std::make_shared<TranslateCall>(models_, asked, limits_);
  if (!call->sources.empty()) compute(request, call);
  response.set_content(call->answer(), kJson);
}

void Service::score(const Request& request, const std::string& body, Response& response) {
  const ScoreRequest asked = parse_score(body, limits_);
  const auto call = std::make_shared<ScoreCall>(models_.find(asked.model, false), asked, limits_);
  compute(request, call);
  response.set_content(call->answer(), kJson);
}

void Service::restrict(const Request& request, const std::string& body, Response& response) {
  const RestrictRequest asked = parse_restrict(body, limits_);
  const auto call =
      std::make_shared<RestrictCall>(models_.find(asked.model, false), asked, limits_);
  compute(request, call);
  response.set_content(call->answer(), kJson);
}

void Service::explain(const Request& request, const std::string& body, Response& response) {
  const ExplainRequest asked = parse_explain(body, limits_);
  const auto call = std::make_shared<ExplainCall>(models_.find(asked.model, false), asked, limits_);
  compute(request, call);
  response.set_content(call->answer(), kJson);
}

}  // namespace nine::app
