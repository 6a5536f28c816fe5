#include "kernels/decoding/decoder_norms.h"

#include "kernels/ops.h"

namespace nine {

DecoderNorms::DecoderNorms(const HeadNorms& norms, const HeadSpec& head)
    : first_word_(norms.first_word) {
  if (!norms) return;
  for (const Score& s : head.components)
    require(s.is_lin(), "[HeadDecoder] norms are for inner products, not for ", to_text(s));
  if (norms.word) ratios_ = norms.ratios.to(kCpu);
  if (norms.context.kind == ContextNorm::Kind::constant)
    context_norms_.assign(head.components.size(), norms.context.value);
  if (!norms.context.of_batch()) return;
  context_norms_ = norms.running.to_vector();
  require(std::ssize(context_norms_) == head.size(), "[HeadDecoder] ", context_norms_.size(),
          " context norms for ", head.size(), " components");
  for (double& size : context_norms_) size = size > 0 ? size : 1;  // 0: training has seen no row
}

Tensor DecoderNorms::word_scales(const View& w) const {
  require(ratios_.elements() == w.rows(), "[HeadDecoder] ", ratios_.elements(), " word norms for ",
          w.rows(), " words");
  Tensor norms({w.rows()}, DType::float64), scales({w.rows(), 2}, DType::float64);
  ops::row_norms(w, norms);
  ops::word_scales(norms, ratios_, first_word_, scales);
  return scales;
}

}  // namespace nine
