// The scalar operations of TeML, in one table: each has the forms NAME, vNAME, entrywise_NAME and
// ventrywise_NAME.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "core/expression/combine_operator.h"
#include "core/scalar/scalar_function.h"

namespace mdh {

struct TemlOperation {
  absl::string_view name;  // "add"
  ScalarOp op;
  bool is_unary;
  absl::string_view symbol;  // in printed loops between operands; "": it is a call
  // What t = NAME(t, u, ...) combines with t: values of u with add, mul, min and max, their
  // negations with sub. None: it does not accumulate.
  std::optional<PointWiseKind> accumulates = std::nullopt;
};

// nullptr: there is none.
const TemlOperation* OperationNamed(absl::string_view name);

// "add, sub, ...".
std::string NamesOfOperations();

}  // namespace mdh
