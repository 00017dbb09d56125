#include "codegen/program/operation_cost.h"

namespace mdh {

int OperationCost(ScalarOp op) {
  switch (op) {
    case ScalarOp::kDiv:
    case ScalarOp::kRem:
    case ScalarOp::kSqrt:
    case ScalarOp::kRsqrt:
      return 8;
    case ScalarOp::kExp:
    case ScalarOp::kExp2:
    case ScalarOp::kLog:
    case ScalarOp::kLog2:
    case ScalarOp::kLog1p:
    case ScalarOp::kExpm1:
      return kFunctionCost;
    case ScalarOp::kSin:
    case ScalarOp::kCos:
    case ScalarOp::kTanh:
    case ScalarOp::kErf:
    case ScalarOp::kPow:
    case ScalarOp::kCbrt:
    case ScalarOp::kAtan2:
      return 2 * kFunctionCost;
    default:
      return 1;
  }
}

}  // namespace mdh
