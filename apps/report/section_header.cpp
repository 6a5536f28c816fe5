#include "apps/report/sections.h"

#include <cmath>
#include <string_view>

#include "apps/report/figures.h"
#include "apps/svg/text.h"
#include "core/error.h"

namespace nine::app {
namespace {

using Runs = std::vector<Run>;

constexpr std::string_view kDot = " <span class=\"sep\" aria-hidden=\"true\">·</span> ";

std::string progress_text(const Run& run) {
  std::string text = plural(std::isfinite(run.last_step) ? run.last_step : 0, "step");
  if (std::isfinite(run.last_epoch) && run.last_epoch > 0)
    text += concat(kDot, "epoch ", plain(run.last_epoch));
  if (std::isfinite(run.last_time)) text += concat(kDot, duration(run.last_time));
  if (!run.resumes.empty())
    text +=
        concat(kDot, "resumed ",
               run.resumes.size() == 1 ? "once"
                                       : count(static_cast<double>(run.resumes.size())) + " times");
  return text;
}

// "2", or "6 + 6" of an encoder and a decoder.
std::string layers_of(const Run& run) {
  const std::string layers = run.setting("layers");
  return layers.empty() && !run.setting("decoder_layers").empty()
             ? concat(run.setting("encoder_layers"), " + ", run.setting("decoder_layers"))
             : layers;
}

// The run in one line; the rest stands under "What was run".
std::string synopsis(const Run& run) {
  std::string text;
  for (const char* key : {"task", "head", "layers", "hidden", "optimizer", "lr", "seed", "device"})
    if (const std::string value =
            std::string_view(key) == "layers" ? layers_of(run) : run.setting(key);
        !value.empty())
      text +=
          concat(text.empty() ? std::string_view() : kDot, key, " <b>", isolated(value), "</b>");
  return text.empty() ? text
                      : concat("<p class=\"lead synopsis\">", text, kDot,
                               "<a href=\"#settings\">all settings</a></p>\n");
}

std::string badge(const Run& run) {
  return run.finished ? "<span class=\"badge finished\">finished</span>"
                      : "<span class=\"badge\">not finished</span>";
}

std::vector<std::string> notes_of(const Run& run) {
  std::vector<std::string> notes = run.notes;
  const Figures f = figures_of(run);
  if (f.not_finite > 0)
    notes.push_back(concat("The loss was not finite in ", count(f.not_finite),
                           f.not_finite == 1 ? " entry" : " entries", " of the log, first at step ",
                           count(f.first_not_finite),
                           ": the run diverged there and its curves have a gap."));
  return notes;
}

std::string notes_html(const Runs& runs) {
  std::string items;
  for (const std::string& note : comparison_notes(runs))
    items += "<li>" + escaped(note) + "</li>\n";
  for (const Run& run : runs)
    for (const std::string& note : notes_of(run))
      items +=
          concat("<li>", runs.size() > 1 ? "<b>" + isolated(run.name) + "</b>: " : std::string(),
                 escaped(note), "</li>\n");
  return items.empty() ? items : "<ul class=\"notes\">\n" + items + "</ul>\n";
}

}  // namespace

std::string header_html(const Runs& runs) {
  std::string out = "<header>\n<p class=\"kicker\">Nine run report</p>\n";
  if (runs.size() == 1) {
    out += concat("<h1>", isolated(runs[0].name), "</h1>\n<p class=\"lead\">", badge(runs[0]), " ",
                  progress_text(runs[0]), "</p>\n", synopsis(runs[0]));
  } else {
    out += concat("<h1>", count(static_cast<double>(runs.size())), " runs compared</h1>\n");
  }
  return out + notes_html(runs) + "</header>\n";
}

}  // namespace nine::app
