// Touched elements and bytes beside counting them one by one.
#include "core/expression/touched_elements.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>

#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/random_expression.h"
#include "tests/sanitized.h"
#include "tests/shipped_expression.h"

namespace mdh::touched_elements_test {
namespace {

Expression Parse(const std::string& text) {
  const Result<Expression> expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *expression;
}

// Bytes of an int32 input `x`, read by a function of the value of every access, of 12 x 10 points.
CountBounds BytesRead(const std::string& input, const std::string& parameters = "x",
                      const std::string& value = "x") {
  return InputBytes(
      Parse("e := out_view<int32>( y: (i,j) -> (i,j) ) o md_hom<12,10>( f, (++, ++) ) o "
            "inp_view<int32>( " +
            input + " ) where f(" + parameters + ") -> y { y = " + value + " }"),
      0);
}

CountBounds Exactly(int64_t number) { return {number, number}; }

TEST(TouchedElementsTest, WhatAccessesReach) {
  EXPECT_EQ(BytesRead("x[20,10]: (i,j) -> (i,7)"), Exactly(4 * 12)) << "a column";
  EXPECT_EQ(BytesRead("x[20,10]: (i,j) -> (i,j)"), Exactly(4 * 120)) << "the first rows";
  EXPECT_EQ(BytesRead("x: (i,j) -> (2*i,3*j)"), Exactly(4 * 120)) << "with strides";
  EXPECT_EQ(BytesRead("x: (i,j) -> (i+j)"), Exactly(4 * 21));
  EXPECT_EQ(BytesRead("x: (i,j) -> (16*i+j)"), Exactly(4 * 120)) << "blocks with gaps";
  EXPECT_EQ(BytesRead("x: (i,j) -> (3*i+2*j)"), Exactly(4 * 50)) << "without the second, ...";
  EXPECT_EQ(BytesRead("x[40,40]: (i,j) -> (i,i)"), Exactly(4 * 12)) << "a diagonal";
  EXPECT_EQ(BytesRead("x: (i,j) -> (11-i,j)"), Exactly(4 * 120)) << "reversed";
  EXPECT_EQ(BytesRead("x: (i,j) -> ()"), Exactly(4));
  EXPECT_EQ(BytesRead("x[12,10] strides (0,1): (i,j) -> (i,j)"), Exactly(4 * 10));
  EXPECT_EQ(BytesRead("x[12,10] strides (1,1): (i,j) -> (i,j)"), Exactly(4 * 21));
}

TEST(TouchedElementsTest, UnionsOfAccesses) {
  EXPECT_EQ(BytesRead("x: (i,j) -> (i,j), (i+1,j), (i+2,j)", "a,b,c", "a+b+c"), Exactly(4 * 140));
  EXPECT_EQ(BytesRead("x: (i,j) -> (i,j+1), (i+1,j), (i+1,j+2), (i+2,j+1)", "a,b,c,d", "a+b+c+d"),
            Exactly(4 * (14 * 12 - 4)))
      << "a cross leaves the corners out";
  EXPECT_EQ(BytesRead("x: (i,j) -> (2*i,j), (2*i+1,j)", "a,b", "a+b"), Exactly(4 * 240));
  EXPECT_EQ(BytesRead("x: (i,j) -> (2*i,j), (3*i,j)", "a,b", "a+b"), Exactly(4 * 10 * (24 - 4)));
  EXPECT_EQ(BytesRead("x: (i,j) -> (i,j), (i,j)", "a,b", "a+b"), Exactly(4 * 120));
}

TEST(TouchedElementsTest, Boundaries) {
  EXPECT_EQ(BytesRead("x[12,10] else 0: (i,j) -> (i-3,j)"), Exactly(4 * 90));
  EXPECT_EQ(BytesRead("x[12,10] else 0: (i,j) -> (2*i-1,j)"), Exactly(4 * 60));
  EXPECT_EQ(BytesRead("x[12,10] else 0: (i,j) -> (i+12,j)"), Exactly(0));
  EXPECT_EQ(BytesRead("x[12,10] else clamp: (i,j) -> (i-3,j)"), Exactly(4 * 90));
  EXPECT_EQ(BytesRead("x[12,10] else clamp: (i,j) -> (i+12,j)"), Exactly(4 * 10));
}

TEST(TouchedElementsTest, WhatFunctionsNeed) {
  EXPECT_EQ(BytesRead("x: (i,j) -> (i,j), (i+9,j)", "a,b", "a"), Exactly(4 * 120))
      << "an access whose value is not used";
  EXPECT_EQ(BytesRead("x: (i,j) -> (i,j), (i+12,j)", "a,b", "a > 0 ? a : b"),
            (CountBounds{4 * 120, 4 * 240}))
      << "an operand of a selection may not be taken";
  const Expression first = Parse(
      "e := out_view<int32>( y: (i) -> (i) ) o md_hom<12>( f, (ps(first)) ) o "
      "inp_view<int32>( x: (i) -> (i) ) where f(x) -> y { y = x }, first(a, b) -> c { c = a }");
  EXPECT_EQ(InputBytes(first, 0), (CountBounds{0, 48})) << "the operator needs one of them";
}

TEST(TouchedElementsTest, FieldsOfRecords) {
  const Expression fields = Parse(
      "e<R = {a: int8, b: int32, c: int16}> := out_view<int32>( y[9]: (i) -> (i) ) o "
      "md_hom<5>( f, (++) ) o inp_view<R>( x: (i) -> (i), (i+1) ) "
      "where f(p, q) -> y { y = p.b + int32(q.c) }");
  EXPECT_EQ(InputBytes(fields, 0), Exactly(5 * 4 + 5 * 2));
  EXPECT_EQ(OutputBytes(fields, 0), (CountBounds{5 * 4, 9 * 4})) << "zeros are written, too";
  EXPECT_EQ(TouchedBytes(fields), (CountBounds{30 + 20, 30 + 36}));
}

TEST(TouchedElementsTest, ShippedExpressionsTouchAllTheirBuffers) {
  for (const char* name : {"matmul", "matvec", "dot", "gram", "mttkrp", "scan", "sum_and_max"}) {
    const Expression e = Shipped(std::string(name) + ".mdh");
    EXPECT_EQ(TouchedBytes(e), Exactly(e.CompulsoryBytes())) << name;
  }
}

TEST(TouchedElementsTest, LinesOfAColumn) {
  const Expression column = Parse(
      "e := out_view<fp32>( c: (i) -> (i) ) o md_hom<2000>( f, (++) ) o "
      "inp_view<fp32>( a[2000,2000]: (i) -> (i,7) ) where f(a) -> c { c = a }");
  EXPECT_EQ(TouchedBytes(column), Exactly(2 * 8000));
  EXPECT_EQ(TouchedLineBytes(column, 64), 2000 * 64 + 8000);
}

// The elements of input b at which the value of one of these accesses is.
int64_t Counted(const Expression& e, const Buffer& buffer) {
  std::set<int64_t> elements;
  std::vector<int64_t> point(e.rank(), 0);
  for (int64_t n = 0; n < e.points(); ++n) {
    for (size_t a = 0; a < buffer.accesses.size(); ++a) {
      elements.insert(buffer.ElementAt(static_cast<int>(a), point));
    }
    for (int d = e.rank(); d-- > 0 && ++point[d] == e.dimensions()[d].size;) point[d] = 0;
  }
  elements.erase(-1);
  return static_cast<int64_t>(elements.size());
}

TEST(TouchedElementsTest, BoundsHoldForRandomViews) {
  Rng rng(11);
  int exact = 0, buffers = 0;
  for (int n = 0; n < TriedCases(1000); ++n) {
    const Expression e = RandomExpression(rng, {.max_points = 256});
    for (const auto* list : {&e.inputs(), &e.outputs()}) {
      for (const Buffer& buffer : *list) {
        std::vector<int> accesses(buffer.accesses.size());
        std::iota(accesses.begin(), accesses.end(), 0);
        const CountBounds count = TouchedElements(buffer, accesses, e.dimensions());
        const int64_t counted = Counted(e, buffer);
        ASSERT_LE(count.lower, counted) << buffer.name << " of\n" << ToText(e);
        ASSERT_GE(count.upper, counted) << buffer.name << " of\n" << ToText(e);
        ASSERT_LE(count.upper, buffer.elements());
        ++buffers;
        exact += count.is_exact() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(exact, buffers * 9 / 10) << "of " << buffers;
}

}  // namespace
}  // namespace mdh::touched_elements_test
