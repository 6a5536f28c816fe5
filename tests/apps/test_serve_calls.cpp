// The parts of nine_serve below HTTP: calls that fail together, memory, and work that must stay
// proportional to a text.
#include <doctest/doctest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/nine_serve/api_error.h"
#include "apps/nine_serve/completions.h"
#include "apps/nine_serve/stop_texts.h"
#include "apps/nine_serve/worker.h"
#include "core/random.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/apps/serve_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_serve_calls {
namespace {

using app::Call;
using app::ReadText;
using Calls = std::vector<std::shared_ptr<Call>>;

app::ModelPointer served(const std::string& run) {
  return std::make_shared<app::ServedModel>(app::ModelSource::parse("m=" + run), kCpu);
}

// Computes calls that all wait before the first is computed. Returns the counters.
struct Computed {
  app::Metrics metrics;
  explicit Computed(const Calls& calls, size_t pool_bytes = 0) {
    const app::Limits limits;
    app::Worker worker(limits, metrics, pool_bytes);
    for (const auto& call : calls) worker.submit(call);
    std::thread thread([&] { worker.run(); });
    for (const auto& call : calls) CHECK(call->wait(60));
    worker.stop();
    thread.join();
  }
};

// The status with which a call ended; 200: without an error.
struct Status {
  int status = 200, retry_after = 0;
  explicit Status(const Call& call) {
    try {
      call.rethrow();
    } catch (const app::ApiError& e) {
      status = e.status;
      retry_after = e.retry_after;
    }
  }
};

std::shared_ptr<Call> text_call(const app::ModelPointer& model, std::vector<int32_t> ids, int most,
                                int seed) {
  auto call = std::make_shared<Call>(model);
  call->texts.push_back({.ids = std::move(ids),
                         .most = most,
                         .sampling = {.allow_unknown = true},
                         .seed = static_cast<uint64_t>(seed),
                         .top = 2,
                         .score_given = seed % 2 == 0});
  return call;
}

// The tokens and log-probabilities of a call's texts.
std::vector<double> numbers_of(const Call& call) {
  std::vector<double> all;
  for (const ReadText& text : call.texts) {
    all.insert(all.end(), text.ids.begin(), text.ids.end());
    for (const auto& at : text.log_p) {
      all.push_back(at.log_p);
      all.insert(all.end(), at.top_log_p.begin(), at.top_log_p.end());
    }
  }
  return all;
}

// Texts of different lengths, of at most 50 given tokens and 10 more.
Calls text_calls(const app::ModelPointer& model, int count) {
  Calls calls;
  for (int i = 0; i < count; ++i) {
    std::vector<int32_t> ids;
    for (int n = 0; n < 7 * i * i % 51; ++n) ids.push_back(3 + (n * n + i) % 7);
    calls.push_back(text_call(model, std::move(ids), 4 + i % 7, i));
  }
  return calls;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

}  // namespace

TEST_CASE("serve calls: a text that fails ends alone, and the others get what they get alone") {
  for (const std::string& run : {model_a(), transformer_model()}) {
    const app::ModelPointer model = served(run);
    const int words = static_cast<int>(model->language().network().vocab());
    const Calls together = text_calls(model, 9), alone = text_calls(model, 9);
    for (const auto& call : alone) const Computed one({call});
    Calls all = together;
    // Their third and their first word are in no dictionary.
    all.insert(all.begin() + 4, text_call(model, {3, 4, words, 5}, 2, 1));
    all.push_back(text_call(model, {words + 7}, 2, 1));
    const Computed computed(all);
    CHECK(Status(*all[4]).status == 500);
    CHECK(Status(*all.back()).status == 500);
    for (size_t i = 0; i < together.size(); ++i) {
      CHECK(Status(*together[i]).status == 200);
      CHECK(numbers_of(*together[i]) == numbers_of(*alone[i]));
      CHECK(together[i]->texts[0].added() > 0);
    }
  }
}

TEST_CASE("serve calls: a text that comes later joins a group, and gets what it gets alone") {
  for (const std::string& run : {model_a(), transformer_model()}) {
    const app::ModelPointer model = served(run);
    const Calls later = text_calls(model, 12), alone = text_calls(model, 12);
    for (const auto& call : alone) const Computed one({call});
    const auto reads_long = std::make_shared<Call>(model);
    reads_long->texts.push_back(
        {.ids = std::vector<int32_t>(60'000, 3), .top = 0, .score_given = true});
    const app::Limits limits{.groups = 2};
    app::Metrics metrics;
    app::Worker worker(limits, metrics);
    std::thread thread([&] { worker.run(); });
    worker.submit(reads_long);
    CHECK(soon([&] { return metrics.steps > 0; }));
    for (const auto& call : later) {
      worker.submit(call);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (const auto& call : later) CHECK(call->wait(60));
    const int64_t steps = metrics.steps, texts = metrics.step_texts;
    CHECK_FALSE(reads_long->done());
    reads_long->cancel();
    worker.stop();
    thread.join();
    CHECK(texts > steps);
    for (size_t i = 0; i < later.size(); ++i) {
      CHECK(Status(*later[i]).status == 200);
      CHECK(numbers_of(*later[i]) == numbers_of(*alone[i]));
    }
  }
}

TEST_CASE("serve calls: a long prompt that must wait is not overtaken by later short ones") {
  // A text of a recurrent model with a long prompt joins no group. Its turn must come although
  // short texts, which may join, come all the time.
  const app::ModelPointer model = served(model_a());
  const app::Limits limits{.batch = 8, .groups = 1};
  app::Metrics metrics;
  app::Worker worker(limits, metrics);
  Calls shorts;
  size_t ended = 0;
  const auto submit = [&](size_t most) {
    while (shorts.size() < most) {
      shorts.push_back(text_call(model, {5}, 30, static_cast<int>(shorts.size())));
      worker.submit(shorts.back());
    }
  };
  submit(8);  // the first group
  const auto waits = text_call(model, std::vector<int32_t>(50, 3), 2, 1);
  worker.submit(waits);
  submit(240);
  std::thread thread([&] { worker.run(); });
  for (; !waits->done() && ended < 2000; std::this_thread::yield()) {
    while (ended < shorts.size() && shorts[ended]->done()) ++ended;
    submit(ended + 240);
  }
  CHECK(waits->done());
  worker.stop();
  thread.join();
  CHECK(Status(*waits).status == 200);
}

TEST_CASE("serve calls: a prompt of several texts is read once, and each gets what it gets alone") {
  for (const std::string& run : {model_a(), transformer_model()})
    for (const bool score_given : {false, true})
      for (const int64_t top : {-1, 2}) {
        const app::ModelPointer model = served(run);
        constexpr int64_t kGiven = 40, kAdded = 9, kTexts = 6;
        std::vector<int32_t> ids;
        for (int n = 0; n < kGiven; ++n) ids.push_back(3 + n * n % 7);
        const auto text = [&](int64_t sample) {
          return ReadText{.ids = ids,
                          .most = 1 + kAdded * sample % 10,  // they end at different times
                          .sampling = {.allow_unknown = true},
                          .sample = sample,
                          .top = top,
                          .score_given = score_given};
        };
        const auto together = std::make_shared<Call>(model);
        Calls alone;
        int64_t added = 0;
        for (int64_t sample = 0; sample < kTexts; ++sample) {
          together->texts.push_back(text(sample));
          alone.push_back(std::make_shared<Call>(model));
          alone.back()->texts.push_back(text(sample));
          const Computed one({alone.back()});
        }
        const auto other = text_call(model, {3, 5, 4}, 5, 2);  // of another prompt
        const Computed computed({together, other});
        std::vector<double> of_alone;
        for (const auto& call : alone) {
          const std::vector<double> numbers = numbers_of(*call);
          of_alone.insert(of_alone.end(), numbers.begin(), numbers.end());
          added += call->texts[0].added();
        }
        CHECK(Status(*together).status == 200);
        CHECK(numbers_of(*together) == of_alone);
        // What was read: </s> and the prompt once, and of each text what it added but the last.
        const int64_t of_other = 3 + other->texts[0].added();
        CHECK(computed.metrics.read_tokens == 1 + kGiven + added - kTexts + of_other);
      }
}

TEST_CASE("serve calls: of texts with one prompt any may leave while it is read") {
  for (const std::string& run : {model_a(), transformer_model()})
    for (const size_t leaves : {size_t{0}, size_t{1}, size_t{2}}) {
      CAPTURE(leaves);
      const app::ModelPointer model = served(run);
      const std::vector<int32_t> prompt(20'000, 4);
      const auto alone = text_call(model, prompt, 6, 1);
      const Computed one({alone});
      Calls calls{text_call(model, prompt, 6, 1), text_call(model, prompt, 6, 1),
                  text_call(model, prompt, 6, 1)};
      app::Metrics metrics;
      const app::Limits limits;
      app::Worker worker(limits, metrics);
      for (const auto& call : calls) worker.submit(call);
      std::thread thread([&] { worker.run(); });
      CHECK(soon([&] { return metrics.steps > 2; }));
      CHECK_FALSE(calls[leaves]->done());
      calls[leaves]->cancel();
      // Takes the place of the text that left.
      const auto other = text_call(model, {3, 5, 4}, 5, 1),
                 other_alone = text_call(model, {3, 5, 4}, 5, 1);
      worker.submit(other);
      for (const auto& call : calls) CHECK(call->wait(60));
      CHECK(other->wait(60));
      worker.stop();
      thread.join();
      for (size_t i = 0; i < calls.size(); ++i)
        if (i != leaves) CHECK(numbers_of(*calls[i]) == numbers_of(*alone));
      const Computed last({other_alone});
      CHECK(numbers_of(*other) == numbers_of(*other_alone));
    }
}

TEST_CASE("serve calls: too little memory for all texts at once is enough for fewer at once") {
  // Each time a model anew, because a model keeps its pools.
  size_t pool = 1 << 10;  // of one text, the longest of those below
  for (; pool < size_t{1} << 30; pool *= 2) {
    const Calls one{text_call(served(transformer_model()), std::vector<int32_t>(50, 3), 10, 2)};
    const Computed computed(one, pool);
    const Status status(*one[0]);
    if (status.status == 200) break;
    CHECK(status.status == 503);
    CHECK(status.retry_after == 10);
  }
  REQUIRE(pool < size_t{1} << 30);
  REQUIRE(pool > 1 << 10);
  const Calls calls = text_calls(served(transformer_model()), 24),
              alone = text_calls(served(transformer_model()), 24);
  const Computed computed(calls, pool);
  CHECK(computed.metrics.step_texts < 12 * computed.metrics.steps);  // not all at once
  for (const auto& call : alone) const Computed one({call});
  for (size_t i = 0; i < calls.size(); ++i) {
    CHECK(Status(*calls[i]).status == 200);
    CHECK(numbers_of(*calls[i]) == numbers_of(*alone[i]));
  }
}

TEST_CASE("serve calls: a translation that fails ends alone") {
  const app::ModelPointer model = served(translation_model().run);
  const Translator& translator = model->translator();
  const std::vector<BeamSearch::Ids> sources =
      translator.source_ids(std::vector<std::string>(1, translation_model().sentence), "q");
  const auto call = [&](int32_t more) {
    auto made = std::make_shared<Call>(model);
    made->sources = sources;
    if (more >= 0) made->sources.front().push_back(more);
    made->search = {.beam = 2, .max_length = 20};
    return made;
  };
  const Calls calls{call(-1), call(4), call(1'000'000), call(5), call(-1)};
  const Computed computed(calls);
  for (size_t i = 0; i < calls.size(); ++i) {
    CHECK(Status(*calls[i]).status == (i == 2 ? 500 : 200));
    if (i == 2) continue;
    REQUIRE(calls[i]->translations.size() == 1);
    const auto wanted = translator.search().translate(calls[i]->sources, calls[i]->search);
    CHECK(calls[i]->translations[0][0].words == wanted[0][0].words);
    CHECK(calls[i]->translations[0][0].log_prob == wanted[0][0].log_prob);
  }
  CHECK(computed.metrics.sentences == 4);
}

TEST_CASE("serve calls: the status of what ended a call's work") {
  const app::ModelPointer model = served(model_a());
  const auto status = [&](const std::function<void()>& work) {
    const auto call = std::make_shared<Call>(model);
    call->work = work;
    const Computed computed({call});
    return Status(*call).status;
  };
  CHECK(status([] {}) == 200);
  CHECK(status([] { throw OutOfMemory("no memory"); }) == 503);
  CHECK(status([] { throw std::bad_alloc(); }) == 503);
  CHECK(status([] { throw Error("a device failed"); }) == 500);
  CHECK(status([] { throw app::ApiError(400, "wrong"); }) == 400);
}

TEST_CASE("serve calls: stop texts are found as a search of the whole text finds them") {
  RandomStream random({.seed = 3, .op = stream_id("stop texts")});
  const auto some = [&](size_t most) {
    std::string text;
    const auto size = 1 + static_cast<size_t>(random.uniform() * static_cast<double>(most));
    while (text.size() < size) text += random.uniform() < 0.6 ? 'a' : 'b';
    return text;
  };
  int found = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> stops;
    for (int i = 0; i < 1 + round % 4; ++i) stops.push_back(some(7));
    const app::StopTexts reader(stops);
    const std::string text = some(40);
    app::StopTexts::Matched matched;
    for (size_t end = 1; end <= text.size(); ++end) {
      size_t wanted = 0, held = 0;
      for (const std::string& stop : stops)
        for (size_t size = 1; size <= std::min(end, stop.size()); ++size) {
          if (text.compare(end - size, size, stop, 0, size) != 0) continue;
          held = std::max(held, size);
          if (size == stop.size()) wanted = std::max(wanted, size);
        }
      const size_t size = reader.read(text[end - 1], matched);
      REQUIRE(size == wanted);
      if (size > 0) {
        ++found;
        break;
      }
      REQUIRE(app::StopTexts::held_back(matched) == held);
    }
  }
  CHECK(found > 500);
}

TEST_CASE("serve calls: the continuations of a prompt share its text") {
  const app::ModelPointer model = served(model_a());
  app::CompletionRequest request;
  request.n = 128;
  request.prompts.emplace_back(std::string(1 << 20, 'x'));  // a word that the model does not know
  const auto used = [] {
    const struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd;
  };
  const size_t before = used();
  const app::CompletionCall call(model, request, {});
  CHECK(call.texts.size() == 128);
  CHECK(used() - before < size_t{8} << 20);
}

TEST_CASE("serve calls: a stream's work is proportional to its text") {
  const app::ModelPointer model = served(model_a());
  // Lets a text grow without a network. Returns the seconds of work.
  const auto seconds = [&](int tokens) {
    app::CompletionRequest request;
    request.stream = request.echo = true;
    request.logprobs = 1;
    request.max_tokens = tokens;
    std::string prompt = "cat";
    for (int i = 1; i < tokens; ++i) prompt += " cat";
    request.prompts.emplace_back(prompt);
    request.stop = {std::string(static_cast<size_t>(tokens), 'y')};
    app::CompletionCall call(model, request,
                             {.prompt_tokens = tokens, .max_tokens = tokens, .log_probs = 1 << 30});
    ReadText& text = call.texts[0];
    text.given = text.ids.size();
    text.log_p.resize(text.given, {-1, {4}, {-1}});
    const double before = cpu_seconds();
    size_t bytes = 0;
    for (int i = 0; i < tokens; ++i) {
      text.ids.push_back(4);
      text.log_p.push_back({-1, {4}, {-1}});
      call.grew(0);
      bytes += call.take_events().size();
    }
    CHECK(bytes > prompt.size());
    return cpu_seconds() - before;
  };
  seconds(100);
  const double brief = seconds(1000), longer = seconds(16'000);
  CHECK(longer < 64 * brief + 0.1);  // not 256 times
}

TEST_CASE("serve calls: pools of all groups and models fit into half of the memory") {
  for (const int64_t models : {0, 1, 3})
    for (const int64_t groups : {1, 4, 64}) {
      const size_t pool = app::text_pool_bytes(size_t{80} << 30, models, groups);
      CHECK(pool > size_t{80} << 20);
      CHECK(pool * static_cast<size_t>(models * groups) <= size_t{40} << 30);
    }
}

}  // namespace nine::tests::test_serve_calls
