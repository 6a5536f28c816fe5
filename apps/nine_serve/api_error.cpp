#include "apps/nine_serve/api_error.h"

#include <new>
#include <nlohmann/json.hpp>

namespace nine::app {
namespace {

const char* type_of(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    case 500:
      return "server_error";
    case 503:
      return "service_unavailable_error";
    default:
      return "invalid_request_error";
  }
}

ApiError out_of_memory(const char* what) { return {503, what, {}, "out_of_memory", 10}; }

}  // namespace

std::string openai_error(const ApiError& error) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json() : Json(text);
  };
  return json_text({{"error",
                     {{"message", error.message},
                      {"type", type_of(error.status)},
                      {"param", text_or_null(error.param)},
                      {"code", text_or_null(error.code)}}}});
}

std::string libretranslate_error(const ApiError& error) {
  return json_text({{"error", error.message}});
}

ApiError api_error_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const ApiError& e) {
    return e;
  } catch (const OutOfMemory& e) {
    return out_of_memory(e.what());
  } catch (const std::bad_alloc&) {
    return out_of_memory("out of memory: ask later, or for less at once");
  } catch (const Error& e) {
    return {400, e.what()};
  } catch (const std::exception& e) {
    return {500, e.what()};
  }
}

ApiError work_error_of(const std::exception_ptr& exception) {
  ApiError error = api_error_of(exception);
  try {
    std::rethrow_exception(exception);
  } catch (const ApiError&) {
  } catch (const std::exception&) {
    if (error.status == 400) error.status = 500;
  }
  return error;
}

}  // namespace nine::app
