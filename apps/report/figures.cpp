#include "apps/report/figures.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/error.h"

namespace nine::app {
namespace {

double largest(const std::vector<Entry>& entries, Field field) {
  double best = kAbsent;
  for (const Entry& e : entries)
    if (std::isfinite(e[field])) best = std::isfinite(best) ? std::max(best, e[field]) : e[field];
  return best;
}

double median(const std::vector<Entry>& entries, Field field) {
  std::vector<double> values;
  for (const Entry& e : entries)
    if (std::isfinite(e[field])) values.push_back(e[field]);
  if (values.empty()) return kAbsent;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool diverged(const Entry& e) {
  // A perplexity beyond a double has a finite nll beside it.
  return std::isinf(e[Field::loss]) || std::isinf(e[Field::nll]) ||
         (std::isinf(e[Field::ppl]) && !std::isfinite(e[Field::nll]));
}

void count_divergence(const std::vector<Entry>& entries, Figures& f) {
  for (const Entry& e : entries) {
    if (!diverged(e)) continue;
    ++f.not_finite;
    f.first_not_finite =
        std::isfinite(f.first_not_finite) ? std::min(f.first_not_finite, e.step) : e.step;
  }
}

}  // namespace

const Entry* best_validation(const Run& run) {
  // A run may choose its best model by something else than the perplexity (mt_train --best-metric
  // bleu).
  const auto chosen = std::find_if(run.valid.rbegin(), run.valid.rend(), [&](const Entry& e) {
    return e.best && e.step >= run.best_from;
  });
  if (chosen != run.valid.rend()) return &*chosen;
  const Entry* best = nullptr;
  for (const Entry& e : run.valid)
    if (std::isfinite(e[Field::ppl]) && (run.best_from == 0 || e.step == run.best_from) &&
        (best == nullptr || e[Field::ppl] < (*best)[Field::ppl]))
      best = &e;
  return best;
}

bool has_own_objective(const Run& run) {
  const auto differs = [](const Entry& e) {
    const double loss = e[Field::loss], nll = e[Field::nll];
    return std::isfinite(loss) && std::isfinite(nll) &&
           std::fabs(loss - nll) > 1e-4 * std::max(1.0, std::fabs(nll));
  };
  return std::any_of(run.train.begin(), run.train.end(), differs) ||
         std::any_of(run.valid.begin(), run.valid.end(), differs);
}

Figures figures_of(const Run& run) {
  Figures f;
  if (const Entry* best = best_validation(run))
    f.best_valid_ppl = (*best)[Field::ppl], f.best_step = best->step,
    f.valid_bits = (*best)[Field::bits_per_byte];
  if (std::isfinite(run.best_valid_ppl))
    f.best_valid_ppl = run.best_valid_ppl, f.best_step = run.best_step;
  for (const Entry& e : run.test)
    if (std::isfinite(e[Field::ppl])) f.test_ppl = e[Field::ppl];
  if (std::isfinite(run.test_ppl)) f.test_ppl = run.test_ppl;
  if (!run.test.empty()) f.test_bits = run.test.back()[Field::bits_per_byte];
  f.best_bleu = largest(run.valid, Field::bleu);
  f.tokens_per_s = median(run.train, Field::tokens_per_s);
  f.peak_mib = largest(run.train, Field::peak_mib);
  count_divergence(run.train, f);
  count_divergence(run.valid, f);
  return f;
}

namespace {

// True if the runs' values differ; runs without a value do not count.
bool differ(const std::vector<Run>& runs, auto&& value_of) {
  std::set<std::string> values;
  for (const Run& run : runs)
    if (std::string value = value_of(run); !value.empty()) values.insert(std::move(value));
  return values.size() > 1;
}

bool settings_differ(const std::vector<Run>& runs, const std::vector<const char*>& keys) {
  return std::ranges::any_of(keys, [&](const char* key) {
    return differ(runs, [&](const Run& run) { return run.setting(key); });
  });
}

// The program whose settings a run has, as lm_train and mt_train name no task.
std::string trainer_of(const Run& run) {
  if (!run.setting("encoder_layers").empty()) return "mt_train";
  return run.setting("bptt").empty() ? "" : "lm_train";
}

// How a language model's validation reads its text; empty where the configuration does not say.
std::string reading_of(const Run& run) {
  if (run.setting("resolved.identity.valid").empty()) return "";
  return begins_afresh(run) ? "sentences" : "carried";
}

}  // namespace

bool begins_afresh(const Run& run) { return run.setting("resolved.evaluation") == "sentences"; }

std::string why_incomparable(const std::vector<Run>& runs) {
  struct Input {
    const char* what;
    std::vector<const char*> keys;
  };
  const Input inputs[] = {
      {"validation texts",
       {"resolved.identity.valid", "resolved.identity.valid_src", "resolved.identity.valid_tgt"}},
      {"vocabularies", {"resolved.identity.vocab", "resolved.identity.tgt_dict"}},
      // Of versions up to 0.2.0, over ids.
      {"validation texts or vocabularies", {"resolved.valid_crc32c"}}};
  std::string all = settings_differ(runs, {"task"}) || differ(runs, trainer_of) ? "tasks" : "";
  for (const Input& input : inputs)
    if (settings_differ(runs, input.keys)) all += concat(all.empty() ? "" : ", ", input.what);
  if (differ(runs, reading_of))
    all += concat(all.empty() ? "" : ", ", "validations, of which some carry the state from ",
                  "sentence to sentence and others (--sentences) do not");
  return all.empty() ? ""
                     : concat("The runs differ in their ", all,
                              ": their perplexities do not compare, and no run is marked as the "
                              "best.");
}

std::vector<std::string> comparison_notes(const std::vector<Run>& runs) {
  std::vector<std::string> notes;
  if (std::string why = why_incomparable(runs); !why.empty()) notes.push_back(std::move(why));
  if (settings_differ(runs, {"resolved.identity.test", "resolved.identity.test_src",
                             "resolved.identity.test_tgt"}))
    notes.emplace_back("The runs differ in their test texts: their test figures do not compare.");
  return notes;
}

}  // namespace nine::app
