// What a request may ask for, and how long it may take.
#pragma once

#include <cstdint>

namespace nine::app {

/// The limits of the server; apps/nine_serve/serve_options.cpp has a flag for each.
struct Limits {
  int64_t body = 1 << 20;        ///< bytes of a request's body
  int64_t headers = 16 << 10;    ///< bytes of a request's line and headers
  int json_levels = 16;          ///< nested levels of a request's JSON
  int64_t prompt_tokens = 4096;  ///< tokens of a prompt or of a text to score
  int64_t max_tokens = 1024;     ///< tokens added to a prompt
  int64_t texts = 128;           ///< prompts times continuations, or lines, of a request
  int64_t logprobs = 20;         ///< likeliest tokens shown for each token
  int64_t queue = 256;           ///< requests that wait or are computed
  int64_t client_requests = 0;   ///< the same of one address; 0: no limit for an address
  int64_t log_probs =
      2'000'000;              ///< of one answer's tokens, and of the likeliest tokens beside each
  int64_t connections = 256;  ///< open connections
  double max_unknown = 0.5;   ///< largest share of unknown tokens in a request's texts
  double timeout = 120;       ///< seconds from a request's last byte to its answer
  double read_timeout = 10;   ///< seconds for a request to arrive, from its first byte
  double write_timeout = 10;  ///< seconds for a client to take a part of an answer
  double keep_alive = 5;      ///< seconds that an idle connection stays open
  int64_t batch = 64;         ///< texts computed together
  int64_t groups = 4;         ///< groups of texts that take turns
};

}  // namespace nine::app
