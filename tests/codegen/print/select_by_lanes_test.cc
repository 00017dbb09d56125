// Selections by comparisons of indices, as gcc and clang compile them, with every comparison, at
// the ends of int64, too.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/print/affine_lanes.h"
#include "codegen/print/c_prelude.h"
#include "codegen/print/c_spelling.h"
#include "tests/codegen/compiled_prelude.h"

namespace mdh::select_by_lanes_test {
namespace {

constexpr ScalarOp kComparisons[] = {ScalarOp::kEq, ScalarOp::kNe, ScalarOp::kLt,
                                     ScalarOp::kLe, ScalarOp::kGt, ScalarOp::kGe};
constexpr int kLanes[] = {4, 8, 16};

std::string FunctionName(ScalarOp op, int lanes) {
  return absl::StrCat("apply_", lanes, "_", static_cast<int>(op));
}

// Functions of a, a_step, b and b_step that store x where the lanes compare so, else y.
std::string Source() {
  CPrelude prelude(GnuC());
  std::string functions;
  for (const int lanes : kLanes) {
    const LoopValueType vector{ScalarType::kFloat32, lanes};
    const std::string splat = prelude.SplatFunction(vector);
    for (const ScalarOp op : kComparisons) {
      const std::string select = prelude.SelectByLanesFunction(op, vector);
      absl::StrAppend(&functions, "void ", FunctionName(op, lanes),
                      "(int64_t a, int64_t s, int64_t b, int64_t t, float* r) {\n  ",
                      prelude.StoreFunction(vector, 1), "(r, ", select, "(a, s, b, t, ", splat,
                      "(1.0f), ", splat, "(2.0f)));\n}\n");
    }
  }
  return absl::StrCat("#include <math.h>\n", prelude.ToString(), functions);
}

bool Compares(ScalarOp op, int64_t a, int64_t b) {
  switch (op) {
    case ScalarOp::kEq:
      return a == b;
    case ScalarOp::kNe:
      return a != b;
    case ScalarOp::kLt:
      return a < b;
    case ScalarOp::kLe:
      return a <= b;
    case ScalarOp::kGt:
      return a > b;
    default:
      return a >= b;
  }
}

// first + lane * step, modulo 2^64.
int64_t AtLane(int64_t first, int64_t step, int lane) {
  return static_cast<int64_t>(static_cast<uint64_t>(first) +
                              static_cast<uint64_t>(step) * static_cast<uint64_t>(lane));
}

TEST(SelectByLanesTest, ComparesEveryLane) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(),
                    kMost = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> firsts = {0,      3,          -5,    7,        int64_t{1} << 40,
                                       kLeast, kLeast + 2, kMost, kMost - 4};
  ForEachCompiler(Source(), [&](void* library, const std::string& how) {
    using Apply = void (*)(int64_t, int64_t, int64_t, int64_t, float*);
    for (const int lanes : kLanes) {
      for (const ScalarOp op : kComparisons) {
        const std::string name = FunctionName(op, lanes);
        const auto apply = reinterpret_cast<Apply>(dlsym(library, name.c_str()));
        for (const int64_t a : firsts) {
          for (const int64_t b : firsts) {
            for (const int64_t a_step : {1, 0, -2}) {
              float results[16];
              apply(a, a_step, b, 1 - a_step, results);
              for (int l = 0; l < lanes; ++l) {
                const bool is_first = Compares(op, AtLane(a, a_step, l), AtLane(b, 1 - a_step, l));
                ASSERT_EQ(results[l], is_first ? 1 : 2)
                    << how << " " << name << " " << a << " " << a_step << " " << b << " lane " << l;
              }
            }
          }
        }
      }
    }
  });
}

TEST(SelectByLanesTest, OnlyOfWords) {
  EXPECT_TRUE(CPrelude::CanSelectByLanes({ScalarType::kFloat32, 16}));
  EXPECT_TRUE(CPrelude::CanSelectByLanes({ScalarType::kInt32, 4}));
  EXPECT_FALSE(CPrelude::CanSelectByLanes({ScalarType::kFloat32, 2}));
  EXPECT_FALSE(CPrelude::CanSelectByLanes({ScalarType::kFloat64, 8}));
}

TEST(AffineLanesTest, AreSumsOfIndicesAndScalars) {
  const LoopValue lanes = MakeIndexValue(Index::Variable("j"), 8, 2);
  const LoopValue scalar = MakeNamed("origin", {ScalarType::kInt64, 1});
  const std::optional<AffineLanes> sum =
      AffineLanesOf(MakeOperation(ScalarOp::kAdd, ScalarType::kInt64, {lanes, scalar}));
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->step, 2);
  EXPECT_EQ(sum->first->type.lanes, 1);
  const std::optional<AffineLanes> difference = AffineLanesOf(
      MakeOperation(ScalarOp::kSub, ScalarType::kInt64, {MakeSplat(scalar, 8), lanes}));
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->step, -2);
}

TEST(AffineLanesTest, AreNoOthers) {
  const LoopValue lanes = MakeIndexValue(Index::Variable("j"), 8, 1);
  EXPECT_FALSE(AffineLanesOf(MakeNamed("x", {ScalarType::kInt64, 8})).has_value());
  EXPECT_FALSE(AffineLanesOf(MakeNamed("x", {ScalarType::kInt32, 1})).has_value());
  EXPECT_FALSE(
      AffineLanesOf(MakeOperation(ScalarOp::kMul, ScalarType::kInt64, {lanes, lanes})).has_value());
  EXPECT_FALSE(AffineLanesOf(MakeOperation(ScalarOp::kAdd, ScalarType::kInt64,
                                           {lanes, MakeNamed("x", {ScalarType::kInt64, 8})}))
                   .has_value());
}

}  // namespace
}  // namespace mdh::select_by_lanes_test
