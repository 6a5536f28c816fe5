#include "apps/training/run_callbacks.h"

#include <nlohmann/json.hpp>

#include "apps/cli/signals.h"
#include "apps/cli/text_io.h"
#include "apps/report/page.h"
#include "apps/report/report.h"
#include "core/json.h"
#include "core/number_format.h"

namespace nine::app {

void RunCallbacks::mirror_to_tensorboard(const std::string& directory, const Json& config) {
  tensorboard_ = std::make_unique<TensorBoard>(directory, config);
}

void RunCallbacks::copy_log_to_tensorboard() {
  to_tensorboard([&](TensorBoard& board) {
    const int64_t missing = board.catch_up(run_.log_file());
    if (missing > 0 && board.had_events())
      message(concat("--tensorboard: ", missing,
                     missing == 1 ? " line of the log was" : " lines of the log were",
                     " missing there; the whole log was written again"));
  });
}

void RunCallbacks::event(const Json& line) {
  run_.log(line);
  // A model that waits at its start is a few per cent better than frequencies, by where in a
  // sentence a word stands, or worse (docs/results/R3.md).
  if (unigram_ && line["event"] == "valid") {
    validated_step_ = line["step"];
    at_unigram_ = line["epoch"] >= 1 && line["ppl"] >= 0.95 * unigram_->ppl;
  }
  to_tensorboard([&](TensorBoard& board) { board.event(line); });
}

// A run needs its log, so an error there ends it; an error in TensorBoard's copy does not.
void RunCallbacks::to_tensorboard(const std::function<void(TensorBoard&)>& write) {
  if (!tensorboard_) return;
  try {
    write(*tensorboard_);
  } catch (const Error& error) {
    message(concat(error.what(), "; the run goes on without TensorBoard"));
    tensorboard_.reset();
  }
}

void RunCallbacks::progress(double, int64_t step, int64_t last_step, const std::string& text) {
  progress_.update(step, last_step, text);
}

bool RunCallbacks::interrupted() { return app::interrupted() != 0; }

void RunCallbacks::add_files(CheckpointFiles& files) {
  for (const auto& [name, content] : files_) files.text(name, content);
}

void RunCallbacks::validated() {
  if (at_unigram_ && !warned_)
    message(concat("word frequencies alone give ", fixed(unigram_->ppl, 1),
                   ": the model has learnt nothing from contexts yet; ",
                   validated_step_ < unigram_->warmup
                       ? concat("the learning rate rises until update ", unigram_->warmup,
                                " (--warmup), so train longer, or lower --warmup")
                       : concat("if this does not change, try ", unigram_->help)));
  warned_ = at_unigram_;
  has_report_ = false;
  try {
    require_own_page(run_.report_file());
    write_whole(run_.report_file(), report_page({run_.path()}).page);
    has_report_ = true;
  } catch (const Error& error) {
    message(concat("the report was not written: ", error.what()));
  }
}

}  // namespace nine::app
