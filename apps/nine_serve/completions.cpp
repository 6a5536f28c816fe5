#include "apps/nine_serve/completions.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "apps/nine_serve/api_error.h"
#include "data/tokenizers/model_tokenizer.h"

namespace nine::app {
namespace {

uint64_t fresh_number() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

std::string hexadecimal(uint64_t number) {
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[number >> shift & 15];
  return out;
}

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Returns the size of the longest beginning of `text` that ends with a whole character. A byte that
// begins no character counts as one.
size_t whole_characters(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && text.size() - begin < 3 && continues(text[begin - 1])) --begin;
  if (begin == 0) return text.size();
  const auto lead = static_cast<unsigned char>(text[begin - 1]);
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  return begin - 1 + length > text.size() ? begin - 1 : text.size();
}

int64_t characters_in(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); });
}

// Spells a token's bytes as OpenAI does: as a text, or as "bytes:\xe2\x96" if they are no text.
std::string spelling(const std::string& bytes) {
  if (visible_text(bytes) == bytes) return bytes;
  std::string out = "bytes:";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

// Returns the log-probability, or JSON's smallest number for an excluded token of -infinity.
Json finite(double log_p) { return std::isfinite(log_p) ? log_p : -1e30; }

}  // namespace

CompletionText::CompletionText(const Shared& shared, std::shared_ptr<const std::string> prompt,
                               bool with_start)
    : shared_(shared), prompt_(std::move(prompt)), with_start_(with_start) {}

void CompletionText::grow(ReadText& text) {
  seen_ = std::max(seen_, text.given);
  for (; seen_ < text.ids.size() && !found_stop_; ++seen_)
    for (const char byte : shared_.model.bytes(text.ids[seen_], seen_ == 0)) {
      added_ += byte;
      const size_t stop = shared_.stops.read(byte, matched_);
      if (stop == 0) continue;
      added_.resize(added_.size() - stop);
      found_stop_ = text.stopped = true;
      break;
    }
}

std::string CompletionText::text() const {
  return visible_text((shared_.request.echo ? *prompt_ : "") + added_);
}

std::string CompletionText::take(bool all) {
  const size_t before = shared_.request.echo ? prompt_->size() : 0;
  if (before + added_.size() <= sent_) return "";
  std::string part = sent_ < before ? prompt_->substr(sent_) : std::string();
  part += std::string_view(added_).substr(sent_ < before ? 0 : sent_ - before);
  if (!all && !found_stop_) {
    const size_t held = StopTexts::held_back(matched_);
    if (held >= part.size()) return "";
    part.resize(whole_characters(std::string_view(part).substr(0, part.size() - held)));
  }
  sent_ += part.size();
  return visible_text(part, sent_bad_);
}

const char* CompletionText::finish_reason(const ReadText& text) const {
  return text.ended || found_stop_ ? "stop" : "length";
}

// Counts the characters of the first bytes of unplaced_, and drops these bytes.
void CompletionText::count_places(size_t bytes) {
  place_ += characters_in(visible_text(std::string_view(unplaced_).substr(0, bytes), bad_place_));
  unplaced_.erase(0, bytes);
}

Json CompletionText::take_logprobs(const ReadText& text) {
  Json tokens = Json::array(), log_p = Json::array(), top = Json::array(), places = Json::array();
  const size_t skipped = text.score_given ? 0 : text.given;
  if (place_ < 0) {
    place_ = text.score_given ? 0 : characters_in(*prompt_);
    if (with_start_ && text.score_given) {  // the </s> that nothing predicts
      tokens.push_back("");
      log_p.push_back(nullptr);
      top.push_back(nullptr);
      places.push_back(0);
    }
  }
  const ServedModel& model = shared_.model;
  for (; logprobs_ < text.log_p.size(); ++logprobs_) {
    const size_t token = skipped + logprobs_;
    const TokenLogP& at = text.log_p[logprobs_];
    const std::string bytes = model.bytes(text.ids[token], token == 0);
    tokens.push_back(spelling(bytes));
    log_p.push_back(finite(at.log_p));
    // Bytes that a token leaves open are a character only if the next token goes on with it.
    if (!bytes.empty() && !continues(bytes[0])) count_places(unplaced_.size());
    places.push_back(place_);
    unplaced_ += bytes;
    count_places(whole_characters(unplaced_));
    if (text.top <= 0) continue;
    Json likeliest = Json::object();
    for (size_t k = 0; k < at.top.size(); ++k) {
      const int32_t id = at.top[k];
      std::string name =
          id == Specials::kLanguageModel.end ? "</s>" : spelling(model.bytes(id, token == 0));
      if (!likeliest.contains(name)) likeliest[std::move(name)] = finite(at.top_log_p[k]);
    }
    top.push_back(std::move(likeliest));
  }
  return {{"tokens", std::move(tokens)},
          {"token_logprobs", std::move(log_p)},
          {"top_logprobs", text.top > 0 ? std::move(top) : Json()},
          {"text_offset", std::move(places)}};
}

CompletionCall::CompletionCall(ModelPointer served, CompletionRequest request, const Limits& limits)
    : Call(std::move(served)),
      request_(std::move(request)),
      id_("cmpl-" + hexadecimal(fresh_number())),
      created_(std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count()) {
  if (!request_.seed) request_.seed = fresh_number() >> 11;  // a number that JSON readers hold
  request_.sampling.unknown = model->language().unknown();
  shared_.emplace(CompletionText::Shared{*model, request_, StopTexts(request_.stop)});
  int64_t number = 0, shown = 0;
  TokenCounts counts;
  for (const Prompt& prompt : request_.prompts) {
    const std::string* const given = std::get_if<std::string>(&prompt);
    std::vector<int32_t> ids = given != nullptr
                                   ? model->ids(*given, "prompt")
                                   : model->ids(std::get<std::vector<int32_t>>(prompt), "prompt");
    if (given != nullptr) model->count(ids, counts);
    // Each text begins after </s>, so that a </s> at the beginning is this beginning itself.
    const bool with_start =
        given == nullptr && !ids.empty() && ids.front() == Specials::kLanguageModel.end;
    if (with_start) ids.erase(ids.begin());
    starts_ += with_start ? 1 : 0;
    require_field(std::ssize(ids) <= limits.prompt_tokens, "prompt", "prompt ", number + 1, " has ",
                  ids.size(), " tokens, and at most ", limits.prompt_tokens, " are allowed");
    shown += request_.n * ((request_.echo ? std::ssize(ids) : 0) + request_.max_tokens) *
             (1 + request_.logprobs);
    require_field(shown <= limits.log_probs, "max_tokens", "the answer could have more than ",
                  limits.log_probs, " log-probabilities: ask for less at once");
    std::string bytes = given != nullptr ? *given : "";
    if (given == nullptr)
      for (size_t i = 0; i < ids.size(); ++i) bytes += model->bytes(ids[i], i == 0);
    const auto typed = std::make_shared<const std::string>(std::move(bytes));
    for (int64_t sample = 0; sample < request_.n; ++sample) {
      texts.push_back({.ids = ids,
                       .most = request_.max_tokens,
                       .sampling = request_.sampling,
                       .seed = *request_.seed,
                       .number = number,
                       .sample = sample,
                       .top = request_.logprobs,
                       .score_given = request_.echo});
      grown_.emplace_back(*shared_, typed, with_start);
    }
    ++number;
  }
  model->require_known(counts, limits.max_unknown, "prompt");
}

bool CompletionCall::grew(size_t text) {
  grown_[text].grow(texts[text]);
  if (request_.stream) events_ += event(text, false);
  return !events_.empty();
}

Json CompletionCall::head(const char* object) const {
  return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model->name()}};
}

Json CompletionCall::usage() const {
  int64_t prompt = starts_, added = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i % static_cast<size_t>(request_.n) == 0) prompt += static_cast<int64_t>(texts[i].given);
    added += texts[i].added();
  }
  return {
      {"prompt_tokens", prompt}, {"completion_tokens", added}, {"total_tokens", prompt + added}};
}

std::string CompletionCall::answer() {
  Json answer = head("text_completion");
  Json choices = Json::array();
  for (size_t i = 0; i < texts.size(); ++i)
    choices.push_back(
        {{"text", grown_[i].text()},
         {"index", i},
         {"logprobs", request_.logprobs >= 0 ? grown_[i].take_logprobs(texts[i]) : Json()},
         {"finish_reason", grown_[i].finish_reason(texts[i])}});
  answer["choices"] = std::move(choices);
  answer["usage"] = usage();
  answer["seed"] = *request_.seed;
  return json_text(answer);
}

std::string CompletionCall::event(size_t text, bool last) {
  std::string part = grown_[text].take(last);
  const ReadText& read = texts[text];
  if (part.empty() && !last) return "";
  Json logprobs;
  if (request_.logprobs >= 0) logprobs = grown_[text].take_logprobs(read);
  Json event = head("text_completion");
  event["choices"] =
      Json::array({{{"text", std::move(part)},
                    {"index", text},
                    {"logprobs", std::move(logprobs)},
                    {"finish_reason", last ? Json(grown_[text].finish_reason(read)) : Json()}}});
  if (request_.include_usage) event["usage"] = nullptr;
  return concat("data: ", json_text(event), "\n\n");
}

bool CompletionCall::has_events() const { return !events_.empty(); }
std::string CompletionCall::take_events() { return std::exchange(events_, {}); }

std::string CompletionCall::last_events() {
  std::string events;
  for (size_t i = 0; i < texts.size(); ++i) events += event(i, true);
  if (request_.include_usage) {
    Json last = head("text_completion");
    last["choices"] = Json::array();
    last["usage"] = usage();
    events += concat("data: ", json_text(last), "\n\n");
  }
  return events + "data: [DONE]\n\n";
}

std::string CompletionCall::error_event(const std::exception_ptr& error) {
  return concat("data: ", openai_error(api_error_of(error)), "\n\n");
}

}  // namespace nine::app
