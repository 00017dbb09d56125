// The interpreter against hand-written loop nests.
#include "core/interpreter.h"

#include <gtest/gtest.h>

#include "tests/random_expression.h"

namespace mdh {
namespace {

TEST(InterpretTest, EveryRandomExpressionRunsTheSameTwice) {
  Rng rng(1);
  for (int n = 0; n < 200; ++n) {
    const Expression expression = RandomExpression(rng);
    const std::vector<BufferBytes> inputs = RandomInputs(rng, expression);
    const Result<std::vector<BufferBytes>> first = Interpret(expression, inputs);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(*first, *Interpret(expression, inputs));
  }
}

}  // namespace
}  // namespace mdh
