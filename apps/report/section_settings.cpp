#include "apps/report/sections.h"

#include <algorithm>
#include <array>
#include <map>

#include "apps/report/run_label.h"
#include "apps/report/table.h"
#include "apps/svg/text.h"
#include "core/error.h"

namespace nine::app {
namespace {

using Runs = std::vector<Run>;

struct MainSetting {
  const char* key;
  const char* label;
};

// The most important first.
constexpr std::array<MainSetting, 39> kMainSettings{{
    {"task", "task"},
    {"arch", "network"},
    {"head", "head"},
    {"layers", "layers"},
    {"encoder_layers", "encoder layers"},
    {"decoder_layers", "decoder layers"},
    {"hidden", "hidden"},
    {"embed", "embedding"},
    {"ffn", "feed-forward"},
    {"heads", "attention heads"},
    {"activation", "activation"},
    {"positions", "positions"},
    {"norm", "norm"},
    {"untied", "untied"},
    {"tie_embeddings", "tied embeddings"},
    {"dropout", "dropout"},
    {"attention_dropout", "attention dropout"},
    {"label_smoothing", "label smoothing"},
    {"optimizer", "optimizer"},
    {"lr", "learning rate"},
    {"schedule", "schedule"},
    {"warmup", "warm-up"},
    {"clip", "clip"},
    {"batch", "batch"},
    {"batch_tokens", "batch tokens"},
    {"bptt", "bptt"},
    {"accumulate", "accumulate"},
    {"after", "stop after"},
    {"seed", "seed"},
    {"sample", "sample"},
    {"train", "training text"},
    {"src", "source text"},
    {"tgt", "target text"},
    {"dtype", "type"},
    {"matmul_precision", "matmul precision"},
    {"precision", "precision"},  // of runs before --matmul-precision
    {"device", "device"},
    {"instruction_set", "instruction set"},
    {"gemm_backend", "GEMM"},
}};

bool says_something(const std::string& value) {
  return !value.empty() && value != "false" && value != "null" && value != "none" && value != "0" &&
         value != "0.0" && value != "[]" && value != "{}";
}

// Whether a language model's network has such an option: a configuration holds those of both.
bool is_of_network(const std::string& key, const std::string& arch) {
  const auto is_one_of = [&](std::initializer_list<const char*> keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  if (arch == "lstm") return !is_one_of({"ffn", "heads", "activation", "positions"});
  return arch != "transformer" || key != "embed";
}

std::string main_settings_html(const Run& run) {
  std::string items;
  const std::string arch = run.setting("arch");
  for (const auto& [key, label] : kMainSettings)
    if (const std::string value = run.setting(key);
        says_something(value) && is_of_network(key, arch))
      items += concat("<div><dt>", label, "</dt><dd>", value == "true" ? "yes" : escaped(value),
                      "</dd></div>\n");
  return items.empty() ? items : "<dl class=\"settings\">\n" + items + "</dl>\n";
}

std::string full_settings_html(const Run& run, const std::string& summary) {
  return run.config_text.empty()
             ? std::string()
             : folded(summary, "<pre tabindex=\"0\">" + escaped(run.config_text) + "</pre>\n");
}

// A row a setting, a column a run, only where they differ.
std::string differences_html(const Runs& runs) {
  Table table{"Settings that differ", {"Setting"}, {}, false, -1};
  std::vector<std::map<std::string, std::string>> values(runs.size());
  std::vector<std::string> keys;
  for (size_t i = 0; i < runs.size(); ++i) {
    table.columns.push_back(run_label(runs, i));
    for (const auto& [key, value] : runs[i].settings) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      values[i][key] = value;
    }
  }
  for (const std::string& key : keys) {
    if (key == "run" || key == "tensorboard") continue;  // where it was written, not how it was run
    const auto text = [&](size_t i) {
      return values[i].contains(key) ? escaped(values[i][key]) : std::string("–");
    };
    std::vector<std::string> row{escaped(key)};
    bool differ = false;
    for (size_t i = 0; i < runs.size(); ++i) {
      row.push_back(text(i));
      differ = differ || row.back() != row[1];
    }
    if (differ) table.rows.push_back(std::move(row));
  }
  return table.rows.empty() ? "<p class=\"quiet\">All runs have the same settings.</p>\n"
                            : table_html(table);
}

}  // namespace

std::string settings_html(const Runs& runs) {
  std::string body = runs.size() == 1 ? main_settings_html(runs[0]) : differences_html(runs);
  for (const Run& run : runs)
    body += full_settings_html(
        run, runs.size() == 1 ? "Full configuration" : "Full configuration: " + isolated(run.name));
  return body.empty()
             ? body
             : "<section id=\"settings\">\n<h2>What was run</h2>\n" + body + "</section>\n";
}

}  // namespace nine::app
