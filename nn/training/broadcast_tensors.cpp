#include "nn/training/broadcast_tensors.h"

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace nine {

void broadcast_tensors(Communicator& communicator, Safetensors& file) {
  if (communicator.size() == 1) return;
  Json all{{"tensors", Json::array()}};
  for (const auto& [name, tensor] : file.tensors) {
    Json shape = Json::array();
    for (int i = 0; i < tensor.shape().rank(); ++i) shape.push_back(tensor.shape()[i]);
    all["tensors"].push_back(
        {{"name", name}, {"dtype", to_text(tensor.dtype())}, {"shape", shape}});
  }
  all = parse_json_object(communicator.broadcast(json_text(all)));
  for (const Json& t : all.at("tensors")) {
    const auto sizes = t.at("shape").get<std::vector<int64_t>>();
    Tensor& tensor = file.tensors[t.at("name").get<std::string>()];
    if (!communicator.first())
      tensor = Tensor(Shape(sizes.data(), static_cast<int>(sizes.size())),
                      dtype_from_text(t.at("dtype").get<std::string>()));
    communicator.broadcast(tensor.view().data, tensor.view().bytes());
  }
}

void broadcast_views(Communicator& communicator, const std::vector<NamedView>& views) {
  for (const NamedView& v : views) communicator.broadcast(v.view.data, v.view.bytes());
}

}  // namespace nine
