// Checks and properties of expressions.
#include "core/expression/expression.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "core/expression/expression_place.h"
#include "tests/error_message.h"

namespace mdh::expression_test {
namespace {

constexpr ScalarType kF32 = ScalarType::kFloat32;
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
using Kind = ExpressionPlace::Kind;

ScalarFunction Product() {
  return *ScalarFunction::Create("f", {{"M", kF32}, {"v", kF32}}, {{"w", kF32}},
                                 {{ScalarOp::kParameter, kF32, {}, 0},
                                  {ScalarOp::kParameter, kF32, {}, 1},
                                  {ScalarOp::kMul, kF32, {0, 1}}},
                                 {2});
}

CombineOperator Sum() { return *CombineOperator::PointWise(PointWiseKind::kAdd, {kF32}); }

// w_i = sum over k of M_ik * v_k; dimensions i of 4, k of 3.
ExpressionSpec MatVec() {
  return {.name = "matvec",
          .dimensions = {{"i", 4}, {"k", 3}},
          .inputs = {{"M", kF32, {}, {{{{{1, 0}, 0}, {{0, 1}, 0}}}}},
                     {"v", kF32, {}, {{{{{0, 1}, 0}}}}}},
          .outputs = {{"w", kF32, {}, {{{{{1, 0}, 0}}}}}},
          .function = Product(),
          .combine_operators = {CombineOperator::Concat(), Sum()}};
}

// Creates MatVec after a change that makes it wrong.
template <typename Change>
Status ErrorOf(Change change) {
  ExpressionSpec spec = MatVec();
  change(spec);
  return Expression::Create(std::move(spec)).status();
}

TEST(ExpressionTest, ExtentsAreComputedFromAllAccesses) {
  ExpressionSpec spec = MatVec();
  spec.inputs[0].accesses[0].indices[0] = {{-2, 0}, 6};  // 6 - 2*i
  spec.inputs[0].accesses[0].indices[1] = {{0, 3}, 2};   // 3*k + 2
  const Result<Expression> expression = Expression::Create(std::move(spec));
  ASSERT_TRUE(expression.ok()) << expression.status();
  const Buffer& m = expression->inputs()[0];
  EXPECT_EQ(m.extents, (std::vector<int64_t>{7, 9}));
  EXPECT_EQ(m.elements(), 63);
  EXPECT_EQ(m.size_bytes(), 252);
  EXPECT_EQ(m.strides(), (std::vector<int64_t>{9, 1}));
  EXPECT_EQ(m.Linearized(0), (AffineIndex{{-18, 3}, 56}));
}

TEST(ExpressionTest, Properties) {
  const Result<Expression> expression = Expression::Create(MatVec());
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_EQ(expression->rank(), 2);
  EXPECT_FALSE(expression->is_reduction(0));
  EXPECT_TRUE(expression->is_reduction(1));
  EXPECT_EQ(expression->reduction().kind(), PointWiseKind::kAdd);
  EXPECT_EQ(expression->points(), 12);
  EXPECT_EQ(expression->FloatingPointOperations(), 24);
  EXPECT_EQ(expression->CompulsoryBytes(), 4 * (12 + 3 + 4));
  EXPECT_EQ(expression->input_access(1).buffer, 1);
  EXPECT_EQ(expression->input_access(1).access, 0);
  EXPECT_EQ(expression->output_access(0).buffer, 0);
}

TEST(ExpressionTest, ZeroDimensionalBuffersHaveOneElement) {
  ExpressionSpec spec = MatVec();
  spec.outputs[0].accesses = {IndexFunction{}};
  spec.combine_operators[0] = Sum();
  const Result<Expression> expression = Expression::Create(std::move(spec));
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_EQ(expression->outputs()[0].elements(), 1);
  EXPECT_EQ(expression->outputs()[0].Linearized(0), (AffineIndex{{0, 0}, 0}));
}

TEST(ExpressionTest, ErrorsOfDimensions) {
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.dimensions.clear(); })),
            "md_hom has 0 dimensions; it must have 1 to 64");
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) {
              s.dimensions.assign(65, {"i", 1});
            })),
            "md_hom has 65 dimensions; it must have 1 to 64");
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.dimensions[1].size = -1; })),
            "the size of dimension 'k' is -1; it must not be negative");
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.dimensions[1].name = "i"; })),
            "two dimensions are called 'i'");
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.dimensions[1].name = "2k"; })),
            "'2k' is no name for a dimension");
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.name = "mat vec"; })),
            "'mat vec' is no name for an expression");
  const Status overflow = ErrorOf([](auto& s) { s.dimensions[1].size = kHuge; });
  EXPECT_EQ(overflow.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ErrorMessage(overflow),
            "the number of points of all dimensions up to 'k' does not fit in 63 bits");
}

TEST(ExpressionTest, ErrorsOfBuffers) {
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.outputs.clear(); })),
            "expression 'matvec' has no output");
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.inputs[1].name = "M"; })),
            "two buffers are called 'M'");
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.inputs[1].name = "w"; })),
            "two buffers are called 'w'");
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.inputs[1].name = ""; })),
            "'' is no name for a buffer");
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.inputs[1].accesses.clear(); })),
            "input 'v' has no access");
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.inputs[1].accesses.push_back(IndexFunction{}); })),
            "input 'v', access 1 has 0 indices, but the buffer has 1 dimensions");
  EXPECT_EQ(
      ErrorMessage(ErrorOf([](auto& s) { s.inputs[1].accesses[0].indices[0].coefficients = {1}; })),
      "input 'v', access 0, index 0 has 1 coefficients for 2 dimensions");
  EXPECT_EQ(ErrorMessage(ErrorOf(
                [](auto& s) { s.inputs[1].accesses.resize(4097, s.inputs[1].accesses[0]); })),
            "inp_view has 4098 accesses; at most 4096 are allowed");
}

TEST(ExpressionTest, ErrorsOfExtents) {
  const auto give = [](std::vector<int64_t> extents) {
    return ErrorOf([&](auto& s) {
      s.inputs[0].extents_given = true;
      s.inputs[0].extents = extents;
    });
  };
  EXPECT_TRUE(give({4, 3}).ok());
  EXPECT_TRUE(give({5, 30}).ok());
  EXPECT_EQ(ErrorMessage(give({4, 2})),
            "input 'M', access 0, index 1 is 2 at (i=0, k=2), but the extent is 2 (an input with "
            "given extents may say what is read outside: else 0, else clamp)");
  EXPECT_EQ(ErrorMessage(give({4})),
            "input 'M', access 0 has 2 indices, but the buffer has 1 dimensions");
  EXPECT_EQ(ErrorMessage(give({4, -1})), "input 'M', extent 1 is -1; it must not be negative");
  EXPECT_EQ(ErrorMessage(give({4, 0})),
            "input 'M', access 0, index 1 is 2 at (i=0, k=2), but the extent is 0 (an input with "
            "given extents may say what is read outside: else 0, else clamp)");
  EXPECT_EQ(
      ErrorMessage(give({kHuge, 3})),
      "the size of input 'M' with the extents (9223372036854775807, 3) does not fit in 63 bits");
  EXPECT_EQ(give({4, 2}).code(), absl::StatusCode::kOutOfRange);
}

TEST(ExpressionTest, ErrorsOfIndices) {
  const auto index = [](AffineIndex index) {
    return ErrorOf([&](auto& s) { s.inputs[1].accesses[0].indices[0] = index; });
  };
  EXPECT_EQ(
      ErrorMessage(index({{-1, 1}, 2})),
      "input 'v', access 0, index 0 is -1 at (i=3, k=0); it must not be negative (an input with "
      "given extents may say what is read outside: else 0, else clamp)");
  EXPECT_EQ(ErrorMessage(index({{kHuge, 0}, 0})),
            "input 'v', access 0, index 0: the index does not fit in 63 bits");
  EXPECT_EQ(ErrorMessage(index({{0, 0}, kHuge})),
            "input 'v', access 0, index 0: the index does not fit in 63 bits");
  EXPECT_EQ(ErrorMessage(index({{0, kHuge / 4}, 0})),
            "the size of input 'v' with the extents (4611686018427387903) does not fit in 63 bits");
  EXPECT_EQ(PlaceOf(index({{-1, 1}, 2})), (ExpressionPlace{Kind::kInput, 1, 0, 0}));
}

// A dimension of size 1 may have any coefficient, since its index is 0; but offsets must not
// overflow.
TEST(ExpressionTest, CoefficientsOfSizeOneDimensionsMustNotOverflow) {
  const Status status = ErrorOf([](auto& s) {
    s.dimensions[0].size = 1;
    s.inputs[0].accesses[0].indices[0] = {{kHuge / 2, 0}, 0};
  });
  EXPECT_EQ(ErrorMessage(status), "input 'M', access 0: the offset does not fit in 63 bits");
}

TEST(ExpressionTest, ErrorsOfTheFunction) {
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.inputs.pop_back(); })),
            "function 'f' has 2 parameters, but the input view has 1 accesses");
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.inputs[1].type = ScalarType::kInt8; })),
            "function 'f': parameter 'v' has type fp32, but buffer 'v' has type int8");
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.outputs[0].type = ScalarType::kBool; })),
            "function 'f': result 'w' has type fp32, but buffer 'w' has type bool");
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.outputs[0].type = ScalarType::kFloat64; })),
            "no error");
}

TEST(ExpressionTest, ErrorsOfIndicesAsArguments) {
  const auto error = [](std::vector<int> dimensions) {
    return ErrorMessage(ErrorOf([&](auto& s) { s.index_dimensions = dimensions; }));
  };
  const std::string start =
      "the dimensions whose indices f takes must be ascending numbers below 2, not ";
  EXPECT_EQ(error({2}), start + "(2)");
  EXPECT_EQ(error({-1}), start + "(-1)");
  EXPECT_EQ(error({1, 0}), start + "(1, 0)");
  EXPECT_EQ(error({0, 0}), start + "(0, 0)");
  EXPECT_EQ(error({0}),
            "function 'f' has 2 parameters, but the input view has 3 accesses and indices");
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) {
              s.inputs.pop_back();
              s.index_dimensions = {1};
            })),
            "function 'f': parameter 'v' has type fp32, but an index has type int64");
}

TEST(ExpressionTest, ErrorsOfBoundaries) {
  const auto error = [](Boundary boundary, ElementType type = kF32) {
    return ErrorMessage(ErrorOf([&](auto& s) {
      s.inputs[1].extents_given = true;
      s.inputs[1].extents = {2};
      s.inputs[1].type = type;
      s.inputs[1].boundary = boundary;
    }));
  };
  const ScalarValue zero = ScalarValue::Zero(kF32);
  EXPECT_EQ(error({}),
            "input 'v', access 0, index 0 is 2 at (i=0, k=2), but the extent is 2 (an input with "
            "given extents may say what is read outside: else 0, else clamp)");
  EXPECT_EQ(error({Boundary::Kind::kClamp}), "no error");
  EXPECT_EQ(error({Boundary::Kind::kConstant, {zero}}), "no error");
  EXPECT_EQ(error({Boundary::Kind::kConstant, {}}),
            "input 'v': the values of its boundary are no fp32");
  EXPECT_EQ(error({Boundary::Kind::kConstant, {zero, zero}}),
            "input 'v': the values of its boundary are no fp32");
  EXPECT_EQ(error({Boundary::Kind::kConstant, {ScalarValue::Zero(ScalarType::kFloat16)}}),
            "input 'v': the values of its boundary are no fp32");
  const ElementType record = *ElementType::Record({{"x", kF32}, {"n", ScalarType::kInt8}});
  EXPECT_EQ(error({Boundary::Kind::kConstant, {zero}}, record),
            "input 'v': the values of its boundary are no {x: fp32, n: int8}");
}

TEST(ExpressionTest, RecordsAreAParameterForEveryField) {
  const ElementType record = *ElementType::Record({{"x", kF32}, {"y", kF32}});
  EXPECT_EQ(ErrorMessage(ErrorOf([&](auto& s) { s.inputs[0].type = record; })),
            "function 'f' has 2 parameters, but the input view has 3 accesses");
  EXPECT_EQ(ErrorMessage(ErrorOf([&](auto& s) { s.outputs[0].type = record; })),
            "function 'f' has 1 results, but the output view has 2 accesses");
  ExpressionSpec spec = MatVec();
  spec.inputs.pop_back();
  spec.inputs[0].type = record;
  const Expression expression = *Expression::Create(std::move(spec));
  EXPECT_EQ(expression.input_parameters(), 2);
  EXPECT_EQ(expression.input_access(1).buffer, 0);
  EXPECT_EQ(expression.input_access(1).field, 1);
  EXPECT_EQ(expression.CompulsoryBytes(), 4 * 3 * 8 + 4 * 4);
}

TEST(ExpressionTest, ErrorsOfCombineOperators) {
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) { s.combine_operators.pop_back(); })),
            "md_hom has 1 combine operators for 2 dimensions");
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) {
              s.combine_operators[1] =
                  *CombineOperator::PointWise(PointWiseKind::kAdd, {ScalarType::kInt8});
            })),
            "combine operator '+' does not combine values of the types of the results of 'f'");
  EXPECT_EQ(
      ErrorMessage(ErrorOf([](auto& s) {
        s.combine_operators[0] = *CombineOperator::PointWise(PointWiseKind::kMax, {kF32});
      })),
      "combine operators 'max' of dimension 'i' and '+' of dimension 'k' differ, so that the "
      "result would depend on which dimension is combined first: (max(0, -0.5) + max(-3, -0.5)) is "
      "-0.5, but max((0 + -3), (-0.5 + -0.5)) is -1; all dimensions but those with ++ must have "
      "the same function");
}

TEST(ExpressionTest, ErrorsOfOutputs) {
  EXPECT_EQ(ErrorMessage(ErrorOf([](auto& s) {
              s.outputs[0].accesses[0].indices[0].coefficients = {1, 1};
            })),
            "output 'w', access 0, index 0 uses dimension 'k', which is reduced by '+'");
  EXPECT_EQ(
      ErrorMessage(ErrorOf([](auto& s) { s.combine_operators[1] = CombineOperator::Concat(); })),
      "output 'w': element (0) is written twice, by (i=0, k=0) and by (i=0, k=1)");
}

TEST(ExpressionTest, TwoAccessesMustNotWriteOneElement) {
  ExpressionSpec spec = MatVec();
  spec.function = *ScalarFunction::Create(
      "f", {{"M", kF32}, {"v", kF32}}, {{"w1", kF32}, {"w2", kF32}},
      {{ScalarOp::kParameter, kF32, {}, 0}, {ScalarOp::kParameter, kF32, {}, 1}}, {0, 1});
  spec.combine_operators[1] = *CombineOperator::PointWise(PointWiseKind::kAdd, {kF32, kF32});
  spec.outputs[0].accesses.push_back({{{{1, 0}, 3}}});
  EXPECT_EQ(ErrorMessage(Expression::Create(spec)),
            "output 'w': element (3) is written twice, by (i=3, k=0) of access 0 and by "
            "(i=0, k=0) of access 1");
  spec.outputs[0].accesses[1].indices[0].constant = 4;
  EXPECT_TRUE(Expression::Create(spec).ok());
}

TEST(ExpressionTest, WhatCannotBeProvenIsRejected) {
  ExpressionSpec spec = MatVec();
  spec.inputs = {{"x", kF32, {}, {IndexFunction{}}}, {"y", kF32, {}, {IndexFunction{}}}};
  spec.dimensions.clear();
  spec.combine_operators.clear();
  AffineIndex index;
  for (int64_t d = 0; d < 12; ++d) {
    spec.dimensions.push_back({"i" + std::to_string(d), 4});
    spec.combine_operators.push_back(CombineOperator::Concat());
    // Distinct sums of 12 base-4 digits, blurred: a hard subset-sum problem.
    index.coefficients.push_back((int64_t{1} << 40) + (int64_t{7919} << (2 * d)) + 104'729 * d * d);
  }
  spec.outputs[0].accesses = {IndexFunction{{index}}};
  const Status status = Expression::Create(spec).status();
  EXPECT_EQ(ErrorMessage(status),
            "output 'w': it could not be proven that no element is written twice; use simpler "
            "index functions");
}

TEST(ExpressionPlaceTest, PlacesAreKept) {
  const ExpressionPlace place{Kind::kOutput, 3, 1, 2};
  EXPECT_EQ(PlaceOf(AtPlace(absl::InvalidArgumentError("wrong"), place)), place);
  EXPECT_EQ(PlaceOf(absl::InvalidArgumentError("wrong")), std::nullopt);
}

}  // namespace
}  // namespace mdh::expression_test
