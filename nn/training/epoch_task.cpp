#include "nn/training/epoch_task.h"

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace nine {

Json EpochTask::position() const {
  const BatchPosition at = stream_.position();
  return {{"epoch", at.epoch}, {"step", at.step}};
}

void EpochTask::seek(const Json& position) {
  stream_.seek({position.at("epoch").get<int64_t>(), position.at("step").get<int64_t>()});
}

}  // namespace nine
