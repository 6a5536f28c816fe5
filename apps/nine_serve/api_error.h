// The error of a request, as OpenAI's clients expect it.
#pragma once

#include <exception>
#include <string>

#include "core/error.h"
#include "core/json.h"

namespace nine::app {

/// The error that answers a request. `status` is the HTTP status.
struct ApiError : std::exception {
  int status = 400;
  std::string message;
  std::string param = {};  ///< the field of the request that is wrong; empty: none
  std::string code = {};   ///< such as "model_not_found"; empty: none
  int retry_after = 0;     ///< seconds, for the header Retry-After; 0: no header

  ApiError(int status_, std::string message_, std::string param_ = {}, std::string code_ = {},
           int retry_after_ = 0)
      : status(status_),
        message(std::move(message_)),
        param(std::move(param_)),
        code(std::move(code_)),
        retry_after(retry_after_) {}
  const char* what() const noexcept override { return message.c_str(); }
};

/// Returns OpenAI's form: {"error": {"message", "type", "param", "code"}}.
std::string openai_error(const ApiError& error);
/// Returns LibreTranslate's form: {"error": message}.
std::string libretranslate_error(const ApiError& error);

/// Returns the ApiError that describes an exception of reading a request. An ApiError stays as it
/// is. Exhausted memory is 503 with Retry-After. Any other Error of the engine becomes a wrong
/// request (400), any other exception a failure of the server (500).
ApiError api_error_of(const std::exception_ptr& exception);
/// Does the same for an exception of computing an answer, whose request was found to be right: any
/// other Error is a failure of the server (500), too.
ApiError work_error_of(const std::exception_ptr& exception);

/// Throws an ApiError of status 400 about the field `param` unless `ok`.
template <class... Parts>
void require_field(bool ok, const std::string& param, const Parts&... parts) {
  if (!ok) throw ApiError(400, concat(parts...), param);
}

}  // namespace nine::app
