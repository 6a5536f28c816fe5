#include "nn/feed_forward.h"

namespace nine {
namespace {

Linear linear_with(LinearInit init, ParameterSet& set, const std::string& name, int64_t in,
                   int64_t out) {
  return init == LinearInit::xavier
             ? Linear(set, name, in, out, Init::xavier_uniform(in, out), Init::zeros())
             : Linear(set, name, in, out);
}

}  // namespace

FeedForward::FeedForward(ParameterSet& set, const std::string& name, int64_t size, int64_t inner,
                         LinearInit init)
    : linear1_(linear_with(init, set, name + ".linear1", size, inner)),
      linear2_(linear_with(init, set, name + ".linear2", inner, size)),
      dropout_stream_("dropout." + name + ".linear2") {}

}  // namespace nine
