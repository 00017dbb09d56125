// A matrix multiplication, built without the text form.
#pragma once

#include <cstdint>
#include <string>

#include "core/expression/expression.h"

namespace mdh {

// C[i,j] = sum over k of A[i,k] * B[k,j].
inline Expression MatMulExpression(int64_t i, int64_t j, int64_t k,
                                   ScalarType type = ScalarType::kFloat32,
                                   const std::string& name = "matmul") {
  const IndexFunction ik = {{{{1, 0, 0}, 0}, {{0, 0, 1}, 0}}};
  const IndexFunction kj = {{{{0, 0, 1}, 0}, {{0, 1, 0}, 0}}};
  const IndexFunction ij = {{{{1, 0, 0}, 0}, {{0, 1, 0}, 0}}};
  ScalarInstruction a{ScalarOp::kParameter, type, {}, 0};
  ScalarInstruction b{ScalarOp::kParameter, type, {}, 1};
  ScalarInstruction product{ScalarOp::kMul, type, {0, 1}};
  ScalarFunction f =
      *ScalarFunction::Create("f", {{"a", type}, {"b", type}}, {{"c", type}}, {a, b, product}, {2});
  ExpressionSpec spec{name,
                      {{"i", i}, {"j", j}, {"k", k}},
                      {{"A", type, {}, {ik}}, {"B", type, {}, {kj}}},
                      {{"C", type, {}, {ij}}},
                      std::move(f),
                      {CombineOperator::Concat(), CombineOperator::Concat(),
                       *CombineOperator::PointWise(PointWiseKind::kAdd, {type})}};
  return *Expression::Create(std::move(spec));
}

}  // namespace mdh
