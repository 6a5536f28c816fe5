#include "tests/support/checkpoints.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "core/crc32c.h"
#include "core/files.h"
#include "core/safetensors.h"
#include "tests/support/programs.h"

namespace nine::tests {

void seal(const std::filesystem::path& checkpoint, const std::function<void(Json&)>& edit) {
  Json state = Json::parse(slurp(checkpoint / "state.json"));
  state.erase("crc32c");
  if (edit) edit(state);
  for (const auto& [name, digest] : state["files"].items()) {
    const FileDigest now = digest_of_file(checkpoint / name);
    digest = {{"bytes", now.bytes}, {"crc32c", now.crc32c}};
  }
  const std::string text = json_text(state);
  state["crc32c"] = crc32c(0, text.data(), text.size());
  put(checkpoint / "state.json", json_text(state, 2) + "\n");
}

void change_tensor(const std::filesystem::path& checkpoint, const std::string& file,
                   const std::string& tensor, int64_t element, double value) {
  const Safetensors all = read_safetensors(checkpoint / file);
  std::vector<NamedView> views;
  for (const auto& [name, numbers] : all.tensors) views.push_back({name, numbers});
  const Tensor& changed = all.at(tensor);
  if (changed.dtype() == DType::float64) {
    changed.data<double>()[element] = value;
  } else {
    changed.data<float>()[element] = static_cast<float>(value);
  }
  std::filesystem::remove(checkpoint / file);
  write_safetensors(checkpoint / file, views, all.metadata);
  seal(checkpoint);
}

}  // namespace nine::tests
