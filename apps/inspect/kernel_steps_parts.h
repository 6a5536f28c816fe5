// Lines that kernels share, and the derivations that are too long for kernel_steps.cpp. In symbols
// and formulas @ is the word's subscript and {k} the number of parameter k.
#pragma once

#include <string>
#include <vector>

#include "apps/inspect/kernel_steps.h"

namespace nine::app {

using Steps = std::vector<Step>;

inline constexpr const char* kSquares =
    "|w - h|^2 is a sum of squares: the chain rule, 2 (w - h) by w";
inline const Step kDistance = {"q@", "|w@ - h|^2", "the squared distance"};
inline const Step kByWord = {"dS@/dw@", "dS@/dq*2*(w@ - h)", kSquares};
inline const Step kByContext = {"dS@/dh", "-dS@/dw@",
                                "w - h changes sign when w and h change places"};
inline const Step kProduct = {"z@", "w@.h", "the inner product"};
inline const Step kProductByWord = {"dS@/dw@", "dS@/dz*h",
                                    "chain rule: z = w.h has the slope h by w"};
inline const Step kProductByContext = {"dS@/dh", "dS@/dz*w@", "chain rule: and the slope w by h"};

/// ssg for vectors of `size` numbers.
KernelSteps ssg_steps(const Score& score, size_t size);
KernelSteps mog_steps(const Score& score, size_t size);
/// hpb, all of its balls.
KernelSteps hyperbolic_steps(const Score& score, const std::vector<double>& w,
                             const std::vector<double>& h);

}  // namespace nine::app
