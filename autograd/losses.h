// Losses besides those of autograd/functions.h: binary cross-entropy, Kullback-Leibler divergence,
// cross-entropy with weights of classes.
#pragma once

#include "autograd/functions.h"

namespace nine {

/// Computes the loss of each element of x as the logit of a probability: -t log s(x) - (1 - t)
/// log(1 - s(x)), where s is the logistic function and t, the target, is in [0, 1]. Exact for large
/// |x|, where s(x) rounds to 0 or 1. x and target have one shape. dx = dy (s(x) - t), dt = -dy x.
Var logistic_loss(const Var& x, const Var& target);
/// Computes the mean of logistic_loss() over all elements: PyTorch's
/// binary_cross_entropy_with_logits. A scalar of x's type.
Var binary_cross_entropy(const Var& logits, const Var& target);

/// Computes the Kullback-Leibler divergence KL(p || q) = sum of p log(p / q), as the mean over the
/// rows: log_q (n, V) are log-probabilities, and p (n, V) probabilities of log_q's type, on any
/// device. p has no gradient. Where p is 0, the term is 0, or NaN if log_q is -infinity there.
/// PyTorch's kl_div with reduction 'batchmean'. A scalar of log_q's type.
Var kl_divergence(const Var& log_q, const Tensor& p);
/// Computes the Kullback-Leibler divergence KL(N(mean, e^log_variance) || N(0, 1)), the sum over
/// all elements of (mean^2 + e^log_variance - 1 - log_variance) / 2, divided by the number of rows:
/// the regulariser of a variational autoencoder (Kingma & Welling, 2014). Both have one shape (n,
/// d). A scalar of their type.
Var normal_kl(const Var& mean, const Var& log_variance);

/// Computes cross_entropy() with a weight for each class: sum of w[t] (-log p[t]) over the rows,
/// divided by the sum of w[t], where t is a row's target; rows with target -1 do not count.
/// PyTorch's cross_entropy with `weight`. logits (n, V), whose softmax is p; targets (n), int32 or
/// int64; w is class_weights (V), of the logits' type and at least 0. targets and class_weights may
/// be on any device. A float64 scalar. Errors: those of cross_entropy(); the targets' weights sum
/// to 0.
Var cross_entropy(const Var& logits, const Tensor& targets, const Tensor& class_weights);

}  // namespace nine
