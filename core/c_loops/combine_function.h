// C functions as combine operators.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/c_loops/clang_unit.h"
#include "core/expression/combine_operator.h"

namespace mdh {

// The function called `name` as an operator on values of these types. For one result:
//   float f(float a, float b)
// For a struct, and for as many results as it has fields:
//   struct pair f(struct pair a, struct pair b)
// For several results, with a pointer for each:
//   void f(float a1, int a2, float b1, int b2, float *c1, int *c2)
// `offset`: where it is named. Errors: InvalidArgument with position.
Result<CombineOperator> CombineFunction(const std::string& name, size_t offset,
                                        const std::vector<ScalarType>& results, ClangUnit* unit);

// The named operation that is spelled like this, if there is one.
std::optional<PointWiseKind> NamedOperation(absl::string_view spelling);
absl::string_view Spelling(PointWiseKind kind);

// `name`, or `name` with a number behind it if *used has it; is added to *used.
std::string UniqueName(const std::string& name, std::set<std::string>* used);

}  // namespace mdh
