// Operators that are given a neutral element.
#include "codegen/program/presence.h"

#include <gtest/gtest.h>

#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/random_expression.h"

namespace mdh::presence_test {
namespace {

// Where the largest element of a row is.
constexpr char kLargest[] = R"(
largest :=
  out_view<fp32,int64>( y: (i,k) -> (i), z: (i,k) -> (i) ) o
  md_hom<3,11>( f, (++, larger) ) o
  inp_view<fp32>( x: (i,k) -> (i,k) )
where f(x) -> (y, z) { y = x; z = k },
larger(v1, p1, v2, p2) -> (v, p) {
  let takes = v1 > v2 || (v1 == v2 && p1 < p2);
  v = takes ? v1 : v2;
  p = takes ? p1 : p2
}
)";

// The largest element of a row, scaled where it is stored.
constexpr char kStored[] = R"(
stored :=
  out_view<fp32>( y: (i,k) -> (i) ) o
  md_hom<3,5>( f, (++, larger), store s<fp32>( scale: (i,k) -> (i) ) ) o
  inp_view<fp32>( x: (i,k) -> (i,k) )
where f(x) -> v { v = x }, s(v, scale) -> y { y = v * scale },
larger(a, b) -> c { c = a < b ? b : a }
)";

TEST(PresenceTest, Prints) {
  const Expression e = WithPresence(*ParseExpression(kLargest));
  EXPECT_EQ(ToText(e), R"(largest :=
  out_view<fp32,int64>( y: (i,k) -> (i), z: (i,k) -> (i) ) o
  md_hom<3,11>( f, (++, larger), store stored ) o
  inp_view<fp32>( x: (i,k) -> (i, k) )
where f(x) -> (y: fp32, z: int64, present: bool) { y = x; z = k; present = true },
      larger(a0, a1, a2, b0, b1, b2) -> (c0, c1, c2) identity (0, 0, false) { )"
                       "let t1 = a0 > b0 || a0 == b0 && a1 < b1; "
                       "c0 = a2 ? (b2 ? (t1 ? a0 : b0) : a0) : b0; "
                       "c1 = a2 ? (b2 ? (t1 ? a1 : b1) : a1) : b1; c2 = a2 || b2 },\n"
                       "      stored(r0, r1, r2) -> (y, z) { y = r0; z = r1 }\n");
}

TEST(PresenceTest, WhatIsOfNoPointChangesNothing) {
  const Expression e = WithPresence(*ParseExpression(kLargest));
  const CombineOperator& combine = e.combine_operators()[1];
  ASSERT_TRUE(combine.identity().has_value());
  const std::vector<ScalarValue> none = *combine.identity();
  const std::vector<ScalarValue> one = {ScalarValue::Real(ScalarType::kFloat32, -2),
                                        ScalarValue::Integer(ScalarType::kInt64, 7),
                                        ScalarValue::Bool(true)};
  const auto combined = [&](std::vector<ScalarValue> left, const std::vector<ScalarValue>& right) {
    left.insert(left.end(), right.begin(), right.end());
    return combine.function().Evaluate(left);
  };
  EXPECT_EQ(combined(none, one), one);
  EXPECT_EQ(combined(one, none), one);
  EXPECT_EQ(combined(none, none), none);
  EXPECT_EQ(combined(one, one), one);
}

TEST(PresenceTest, ResultsAreTheSame) {
  Rng rng(1);
  for (const char* text : {kLargest, kStored}) {
    const Expression e = *ParseExpression(text);
    const std::vector<BufferBytes> inputs = RandomInputs(rng, e);
    EXPECT_EQ(Interpret(WithPresence(e), inputs).value(), Interpret(e, inputs).value()) << text;
  }
}

}  // namespace
}  // namespace mdh::presence_test
