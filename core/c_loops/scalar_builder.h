// Instructions of a scalar function while it is being built: constants are converted at once, equal
// instructions are shared, and C's promotions are left out where they change nothing.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/scalar/scalar_function.h"

namespace mdh {

// Numbers of instructions are indices into instructions(); operands have smaller numbers.
class ScalarBuilder {
 public:
  int Parameter(ScalarType type, int parameter);
  int Constant(const ScalarValue& value);
  // A parameter of type int64 whose values fit in `type`, converted to it.
  int Index(int parameter, ScalarType type);
  int Table(std::vector<ScalarValue> values, int index);

  // `n` converted. Without effect: conversions to the same type, there and back through a type that
  // holds all values. Sums, differences, products and bit operations that are computed in a wider
  // integer type only to be cut off again are computed in the narrow type.
  int Cast(ScalarType type, int n);
  int Select(int condition, int then, int otherwise);
  // Operands of the right types, which the caller ensures.
  int Unary(ScalarOp op, int n);
  int Binary(ScalarOp op, int a, int b);

  // Numbers of the parameters that the results depend on.
  std::set<int> UsedParameters(const std::vector<int>& results) const;
  // The function of the instructions that the results depend on. `positions`: of each of their
  // parameters in `parameters`. Errors: as ScalarFunction::Create.
  Result<ScalarFunction> Finish(std::string name, std::vector<TypedName> parameters,
                                std::vector<TypedName> results, const std::vector<int>& values,
                                const std::map<int, int>& positions) const;

  ScalarType type(int n) const { return instructions_[n].type; }
  const ScalarInstruction& at(int n) const { return instructions_[n]; }
  const std::vector<ScalarInstruction>& instructions() const { return instructions_; }

 private:
  using Key = std::tuple<ScalarOp, ScalarType, int, std::string, std::vector<int>>;

  std::vector<bool> Live(const std::vector<int>& results) const;
  int Add(ScalarInstruction instruction);
  // The value before a conversion to `from` that loses nothing, or a constant: the same value in
  // type `to`. -1 if there is none.
  int Unwidened(int n, ScalarType to);
  int Narrowed(ScalarType type, int n);

  std::vector<ScalarInstruction> instructions_;
  std::map<Key, int> numbers_;
  std::set<int> index_casts_;  // lose nothing, since the index is small
};

}  // namespace mdh
