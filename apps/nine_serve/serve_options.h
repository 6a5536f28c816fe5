// The flags of nine_serve.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "apps/nine_serve/limits.h"
#include "apps/nine_serve/served_model.h"
#include "core/matmul_precision.h"

namespace nine::app {

/// The values of the flags.
struct ServeOptions {
  std::vector<std::string> models;
  std::string host = "127.0.0.1";
  int port = 8080;
  std::string token_file;
  std::vector<std::string> allow_host, allow_origin;
  int threads = 0;
  std::string device = "cpu";
  MatmulPrecision precision = MatmulPrecision::highest;
  Limits limits;

  void declare(Options& options);
  /// UsageErrors: no model; a model that is not NAME=DIR or DIR.
  std::vector<ModelSource> sources() const;
};

}  // namespace nine::app
