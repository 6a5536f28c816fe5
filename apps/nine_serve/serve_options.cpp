#include "apps/nine_serve/serve_options.h"

#include "apps/cli/machine.h"
#include "apps/cli/unknown_words.h"
#include "apps/nine_serve/access.h"

namespace nine::app {

void ServeOptions::declare(Options& o) {
  o.add_positional("MODEL", models,
                   "models: DIR, a run or a checkpoint, whose last part is the model's name; "
                   "NAME=DIR; or NAME:de-en=DIR for a translation model, with its languages")
      .unit("DIR");
  o.add("host", host, "address to listen on; an address of other machines needs --token-file")
      .unit("ADDRESS")
      .check(require_address);
  o.add("port", port, "port to listen on; 0: a free port, which the first line of output names")
      .range(0, 65535);
  o.add("token-file", token_file,
        "file with one or more tokens, one a line; a request then needs Authorization: Bearer "
        "TOKEN")
      .unit("FILE");
  o.add("allow-host", allow_host,
        "further names that the header Host may have, such as the name of a proxy")
      .unit("TEXT...");
  o.add("allow-origin", allow_origin,
        "origins of other sites whose pages may ask, such as https://example.org")
      .unit("TEXT...");
  add_threads(o, threads);
  add_device(o, device);
  add_matmul_precision(o, precision);

  o.group("Limits of a request");
  o.add("max-body", limits.body, "most bytes of a body; more: 413").range(1, 1 << 30).unit("bytes");
  o.add("max-headers", limits.headers, "most bytes of the request line and the headers; more: 431")
      .range(256, 1 << 20)
      .unit("bytes");
  o.add("max-json-levels", limits.json_levels, "most nested levels of a body's JSON; more: 400")
      .range(2, kJsonLevels);
  o.add("max-prompt-tokens", limits.prompt_tokens,
        "most tokens of a prompt, of a text to score, or of a line to translate; more: 400")
      .range(1, 100'000'000)
      .unit("tokens");
  o.add("max-tokens", limits.max_tokens,
        "most tokens that a request may add to a prompt; more: 400")
      .range(1, 1'000'000)
      .unit("tokens");
  o.add("max-texts", limits.texts,
        "most texts of a request: prompts times continuations, or lines; more: 400")
      .range(1, 10'000)
      .unit("texts");
  o.add("max-log-probs", limits.log_probs,
        "most log-probabilities in one answer, of its tokens and of the likeliest tokens beside "
        "each; more: 400")
      .range(1, 1'000'000'000);
  o.add("max-logprobs", limits.logprobs,
        "most likeliest tokens that a request may see at each position; more: 400")
      .range(0, 1000)
      .unit("tokens");
  add_max_unknown(o, limits.max_unknown);
  o.add("timeout", limits.timeout, "longest time to compute an answer; longer: 503")
      .range(0.001, 1e6)
      .unit("seconds");

  o.group("Limits of all requests");
  o.add("queue", limits.queue, "most requests that wait or are computed; more: 429")
      .range(1, 100'000)
      .unit("requests");
  o.add("client-requests", limits.client_requests,
        "most of these requests from one address; more: 429; 0: no limit")
      .range(0, 100'000)
      .unit("requests");
  o.add("connections", limits.connections, "most open connections; more: 503")
      .range(1, 10'000)
      .unit("connections");
  o.add("read-timeout", limits.read_timeout,
        "longest time in which a request must arrive, from its first byte on; longer: 408")
      .range(0.001, 1e6)
      .unit("seconds");
  o.add("write-timeout", limits.write_timeout,
        "longest time in which a client must take a part of the answer; longer: the connection "
        "ends")
      .range(0.001, 1e6)
      .unit("seconds");
  o.add("keep-alive", limits.keep_alive, "time that a connection stays open without a request")
      .range(0.001, 1e6)
      .unit("seconds");

  o.group("Computing requests together; no answer depends on it");
  o.add("batch", limits.batch, "most texts in a group, which are computed together")
      .range(1, 1024)
      .called("batch size");
  o.add("groups", limits.groups, "most groups, which take turns").range(1, 64);
}

std::vector<ModelSource> ServeOptions::sources() const {
  if (models.empty()) fail_usage("no model: give the directory of a run or of a checkpoint");
  std::vector<ModelSource> all;
  for (const std::string& model : models) all.push_back(ModelSource::parse(model));
  return all;
}

}  // namespace nine::app
