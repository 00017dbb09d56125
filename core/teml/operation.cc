#include "core/teml/operation.h"

#include "absl/strings/str_join.h"

namespace mdh {
namespace {

constexpr TemlOperation kOperations[] = {
    // Those of the paper.
    {"add", ScalarOp::kAdd, false, "+", PointWiseKind::kAdd},
    {"sub", ScalarOp::kSub, false, "-", PointWiseKind::kAdd},
    {"mul", ScalarOp::kMul, false, "*", PointWiseKind::kMul},
    {"div", ScalarOp::kDiv, false, "/"},
    // Ours.
    {"min", ScalarOp::kMin, false, "", PointWiseKind::kMin},
    {"max", ScalarOp::kMax, false, "", PointWiseKind::kMax},
    {"neg", ScalarOp::kNeg, true, "-"},
    {"abs", ScalarOp::kAbs, true, ""},
    {"sqrt", ScalarOp::kSqrt, true, ""},
    {"rsqrt", ScalarOp::kRsqrt, true, ""},
    {"exp", ScalarOp::kExp, true, ""},
    {"log", ScalarOp::kLog, true, ""},
    {"tanh", ScalarOp::kTanh, true, ""},
    {"erf", ScalarOp::kErf, true, ""},
    {"sin", ScalarOp::kSin, true, ""},
    {"cos", ScalarOp::kCos, true, ""},
    {"floor", ScalarOp::kFloor, true, ""},
    {"ceil", ScalarOp::kCeil, true, ""},
};

}  // namespace

const TemlOperation* OperationNamed(absl::string_view name) {
  for (const TemlOperation& operation : kOperations) {
    if (operation.name == name) return &operation;
  }
  return nullptr;
}

std::string NamesOfOperations() {
  return absl::StrJoin(kOperations, ", ", [](std::string* out, const TemlOperation& operation) {
    out->append(operation.name.data(), operation.name.size());
  });
}

}  // namespace mdh
