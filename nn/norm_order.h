// Where a Transformer has its norms, and the residual branch for each choice.
#pragma once

#include <cstdint>

#include "core/enum_names.h"
#include "nn/norm.h"

namespace nine {

/// post: after each residual sum (Vaswani et al., 2017). pre: before each branch, with one more
/// norm at the end of encoder and decoder (Xiong et al., 2020).
enum class NormOrder : uint8_t { post, pre };
template <>
inline constexpr EnumNames<NormOrder, 2> kEnumNames<NormOrder>{
    "norm order", {{{NormOrder::post, "post"}, {NormOrder::pre, "pre"}}}};

/// Computes one residual branch with its norm. `branch` maps (input, residual) to residual +
/// f(input). post: norm(x + f(x)); pre: x + f(norm(x)).
template <class Branch>
Var residual_branch(NormOrder order, const Var& x, const Norm& norm, Branch&& branch) {
  return order == NormOrder::post ? norm(branch(x, x)) : branch(norm(x), x);
}

}  // namespace nine
