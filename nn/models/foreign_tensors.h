// Tensors of models of other programs: they are taken by their names and brought to Nine's form.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace nine {

/// The tensors of a model by the names of its program. Each is taken out once. Errors begin with
/// `place`.
class ForeignTensors {
 public:
  /// Both arguments must outlive the object.
  ForeignTensors(const std::string& place, std::map<std::string, Tensor>& tensors)
      : place_(place), tensors_(tensors) {}

  /// Removes `part`, the beginning of the names of all tensors but the head's, from the names that
  /// have it.
  void leave_out(const std::string& part);
  bool has(const std::string& name) const { return tensors_.contains(name); }
  /// Takes a tensor. Error: it is missing.
  Tensor take(const std::string& name);
  /// Takes a matrix. Errors: the tensor is missing; it does not have two dimensions.
  Tensor matrix(const std::string& name);
  /// Takes a vector, which may be stored as a matrix of one row. Further error: another shape.
  Tensor vector(const std::string& name);
  void drop(const std::string& name) { tensors_.erase(name); }
  /// Error: a tensor is left.
  void require_empty() const;

 private:
  const std::string& place_;
  std::map<std::string, Tensor>& tensors_;
};

/// Returns the transposed matrix, of float32 or float64.
Tensor transposed_matrix(const Tensor& matrix);
/// Returns matrices below each other, or vectors behind each other. Errors, which call them `what`:
/// they differ in type or in columns.
Tensor stacked(const std::string& what, const std::vector<Tensor>& parts);
/// True if both have the same type, shape and numbers.
bool same_tensor(const Tensor& a, const Tensor& b);

}  // namespace nine
