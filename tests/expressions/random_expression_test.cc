// What random expressions promise: exact values, every feature, and none that is turned off.
#include "tests/random_expression.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/expression/interpreter.h"
#include "core/expression/unreached_elements.h"
#include "core/text/printer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::random_expression_test {
namespace {

// Names of what an expression has, those of RandomExpressionOptions among them.
std::set<std::string> Features(const Expression& expression) {
  std::set<std::string> features;
  const auto add = [&](bool has, const std::string& name) {
    if (has) features.insert(name);
  };
  const auto add_type = [&](ScalarType type) {
    features.insert(std::string(Name(type)));
    add(IsStorageOnly(type), "half_types");
  };
  for (const std::vector<Buffer>* buffers : {&expression.inputs(), &expression.outputs()}) {
    const std::string view = buffers == &expression.inputs() ? "input" : "output";
    for (const Buffer& buffer : *buffers) {
      for (const ElementType::Field& field : buffer.type.fields()) add_type(field.type);
      add(buffer.type.is_record(), "records");
      add(buffer.type.is_record(), view + " of records");
      add(buffer.boundary.kind != Boundary::Kind::kNone, "boundaries");
      add(buffer.boundary.kind == Boundary::Kind::kClamp, "clamp");
      add(buffer.boundary.kind == Boundary::Kind::kConstant, "constant boundary");
      add(!buffer.is_dense(), "layouts");
      add(buffer.keeps_unreached, "kept elements");
      add(!buffer.is_dense(), view + " with strides");
      add(buffer.accesses.size() > 1, view + " with several accesses");
      add(buffer.extents.empty(), view + " of no dimensions");
    }
  }
  for (int b = 0; b < static_cast<int>(expression.outputs().size()); ++b) {
    const UnreachedElements unreached = FindUnreached(expression, b);
    add(!unreached.runs.empty(), "unreached elements");
    add(!unreached.is_exact, "unreached elements without a form");
  }
  for (const ScalarInstruction& instruction : expression.function().instructions()) {
    add_type(instruction.type);
    add(instruction.op == ScalarOp::kTable, "tables");
  }
  add(expression.is_empty(), "empty");
  add(!expression.index_dimensions().empty(), "indices");
  add(expression.inputs().empty(), "no inputs");
  add(expression.store() == nullptr && expression.finishes_results(), "result_types");
  add(expression.store() != nullptr, "store function");
  add(expression.store() != nullptr &&
          expression.passed_inputs().size() <
              expression.inputs().size() + expression.store()->inputs.size(),
      "store function that reads an input");
  add(expression.has_prefix_sum(), "prefix_sums");
  if (!expression.has_reduction() && !expression.has_prefix_sum()) return features;
  const CombineOperator& combine = expression.reduction();
  const bool is_custom = combine.kinds()[0] == PointWiseKind::kCustom;
  add(is_custom, "custom operator");
  add(!is_custom && combine.kind() == PointWiseKind::kCustom, "mixed_operators");
  add(expression.has_reduction() && expression.has_prefix_sum(), "pw and ps");
  add(is_custom && combine.identity().has_value(), "custom operator with identity");
  return features;
}

std::set<std::string> FeaturesOfMany(const RandomExpressionOptions& options, int count) {
  std::set<std::string> features;
  Rng rng(3);
  for (int n = 0; n < count; ++n) features.merge(Features(RandomExpression(rng, options)));
  return features;
}

TEST(RandomExpression, HasEveryFeature) {
  RandomExpressionOptions options;
  options.empty_one_in = 50;
  const std::set<std::string> features = FeaturesOfMany(options, 2000);
  for (const ScalarTypeInfo& type : AllScalarTypes()) {
    EXPECT_TRUE(features.contains(std::string(type.name))) << type.name;
  }
  for (const char* name : {"empty",
                           "half_types",
                           "records",
                           "input of records",
                           "output of records",
                           "boundaries",
                           "clamp",
                           "constant boundary",
                           "layouts",
                           "input with strides",
                           "output with strides",
                           "input with several accesses",
                           "output with several accesses",
                           "input of no dimensions",
                           "output of no dimensions",
                           "kept elements",
                           "unreached elements",
                           "unreached elements without a form",
                           "tables",
                           "indices",
                           "no inputs",
                           "result_types",
                           "prefix_sums",
                           "custom operator",
                           "mixed_operators",
                           "pw and ps",
                           "custom operator with identity",
                           "store function",
                           "store function that reads an input"}) {
    EXPECT_TRUE(features.contains(name)) << name;
  }
}

TEST(RandomExpression, HasNoFeatureThatIsTurnedOff) {
  const std::vector<std::pair<std::string, std::function<void(RandomExpressionOptions*)>>>
      switches = {
          {"half_types", [](auto* options) { options->half_types = false; }},
          {"records", [](auto* options) { options->records = false; }},
          {"tables", [](auto* options) { options->tables = false; }},
          {"indices", [](auto* options) { options->indices = false; }},
          {"result_types", [](auto* options) { options->result_types = false; }},
          {"mixed_operators", [](auto* options) { options->mixed_operators = false; }},
          {"prefix_sums", [](auto* options) { options->prefix_sums = false; }},
          {"boundaries", [](auto* options) { options->boundaries = false; }},
          {"layouts", [](auto* options) { options->layouts = false; }},
          {"kept elements", [](auto* options) { options->unreached_one_in = 0; }},
          {"empty", [](auto* options) { options->empty_one_in = 0; }},
          {"store function", [](auto* options) { options->store_one_in = 0; }},
      };
  for (const auto& [name, turn_off] : switches) {
    RandomExpressionOptions options;
    turn_off(&options);
    EXPECT_FALSE(FeaturesOfMany(options, 300).contains(name)) << name;
  }
}

// Combined in fp64 or in the declared types, which are as narrow as bf16: the same bits.
TEST(RandomExpression, ExactModeLeavesNothingToRound) {
  Rng rng(4);
  RandomExpressionOptions options;
  options.max_points = 512;
  options.empty_one_in = 50;
  for (int n = 0; n < 1500; ++n) {
    const Expression expression = RandomExpression(rng, options);
    const std::vector<BufferBytes> inputs = RandomInputs(rng, expression);
    ASSERT_EQ(*Interpret(expression, inputs, Accumulation::kWide),
              *Interpret(expression, inputs, Accumulation::kDeclared))
        << ToText(expression);
  }
}

}  // namespace
}  // namespace mdh::random_expression_test
