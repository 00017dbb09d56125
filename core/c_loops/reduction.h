// How a statement such as `s += x` or `if (x > s) s = x` combines values: the operator and what is
// combined, found in the instructions that the statement computes.
#pragma once

#include <optional>

#include "core/c_loops/scalar_builder.h"
#include "core/expression/combine_operator.h"

namespace mdh {

struct DerivedReduction {
  PointWiseKind kind;
  int operand;  // instruction, of the type of the former value
};

// Whether instruction n uses `of`.
bool DependsOn(const ScalarBuilder& builder, int n, int of);

// `former`: the instruction that stands for the former value of what is assigned; `value`: the new
// value, of the same type. nullopt if it is no combination of the former value with something else
// by a named operator.
std::optional<DerivedReduction> DeriveReduction(ScalarBuilder* builder, int value, int former);

}  // namespace mdh
