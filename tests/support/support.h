// What several suites need: messages of errors, settings that are put back.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "core/gemm.h"
#include "core/threads.h"

namespace nine::tests {

/// The message of the Error that `run` throws; empty when it throws none.
template <class Run>
std::string error_of(Run&& run) {
  try {
    run();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The GEMM backends of this build. Cases that are about libxsmm are in the suite "needs libxsmm".
inline std::vector<GemmBackend> built_backends() {
  std::vector<GemmBackend> all{GemmBackend::eigen};
  if (gemm_backend_built(GemmBackend::libxsmm)) all.push_back(GemmBackend::libxsmm);
  return all;
}

/// Puts threads and GEMM backend back as they were.
struct Restore {
  int count = threads();
  GemmBackend backend = gemm_backend();
  ~Restore() {
    set_threads(count);
    set_gemm_backend(backend);
  }
};

}  // namespace nine::tests
