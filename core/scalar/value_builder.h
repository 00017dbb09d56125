// Building a scalar function out of others.
#pragma once

#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/scalar/scalar_function.h"

namespace mdh {

// Instructions that compute scalar functions inside of another one. Values are numbers of
// instructions.
class ValueBuilder {
 public:
  int Append(ScalarInstruction instruction) {
    instructions_.push_back(std::move(instruction));
    return static_cast<int>(instructions_.size()) - 1;
  }
  int Constant(const ScalarValue& value);
  // `value` itself if it has the type.
  int Converted(int value, ScalarType type);
  // The results of f, with these values for its parameters.
  std::vector<int> Apply(const ScalarFunction& f, absl::Span<const int> arguments);
  ScalarType type(int value) const { return instructions_[value].type; }
  const std::vector<ScalarInstruction>& instructions() const { return instructions_; }

 private:
  std::vector<ScalarInstruction> instructions_;
};

}  // namespace mdh
