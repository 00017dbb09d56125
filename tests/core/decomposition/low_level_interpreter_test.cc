// The low-level interpreter against the interpreter of expressions, which shares no evaluation with
// it: random expressions with random configurations, of all system models.
#include "tests/core/decomposition/low_level_interpreter.h"

#include <gtest/gtest.h>

#include "core/text/printer.h"
#include "tests/core/decomposition/lowering_case.h"
#include "tests/error_message.h"
#include "tests/random_parameters.h"
#include "tests/sanitized.h"

namespace mdh::low_level_interpreter_test {
namespace {

void ExpectSameResults(const LowLevelExpression& low, Rng& rng) {
  const std::vector<BufferBytes> inputs = RandomInputs(rng, low.expression());
  const Accumulation accumulation = AccumulationOf(low.parameters().numerics);
  const auto computed = InterpretLowLevel(low, inputs, accumulation);
  ASSERT_TRUE(computed.ok()) << computed.status();
  ASSERT_EQ(*computed, *Interpret(low.expression(), inputs, accumulation))
      << ToText(low.expression()) << "\n"
      << ToText(low.parameters()) << "\n"
      << low.ToTable();
}

// Random tiles, orders and copies for register tiles; not all of them valid.
TuningParameters RandomRegisterTiles(Rng& rng, const Expression& e, const SystemModel& model) {
  TuningParameters p;
  p.system_model = model.name;
  p.lowering = Lowering::kTiles;
  std::vector<std::vector<int>> orders;
  for (size_t l = 0; l < model.layers.size(); ++l) {
    std::vector<int64_t> tile;
    std::vector<int> order;
    for (int d = 0; d < e.rank(); ++d) {
      const int64_t outer = l == 0 ? e.dimensions()[d].size : p.tile[l - 1][d];
      const int64_t parts = l == 0 ? 1 + Below(rng, 4) : int64_t{1} << Below(rng, 2);
      tile.push_back(l + 1 == model.layers.size() ? 1 : std::max<int64_t>(1, outer / parts));
      order.insert(order.begin() + Below(rng, d + 1), d);
    }
    p.tile.push_back(tile);
    orders.push_back(order);
  }
  p.phase.order = NestedOrder(orders);
  for (const Buffer& buffer : e.inputs()) {
    InputParameters input;
    input.stage_layer = static_cast<int>(Below(rng, 5)) - 2;
    for (int x = 0; x < static_cast<int>(buffer.extents.size()); ++x) {
      input.layout.insert(input.layout.begin() + Below(rng, x + 1), x);
    }
    p.inputs.push_back(input);
  }
  if (Below(rng, 2) == 0) p.accumulate_in = AccumulateIn::kOutput;
  return p;
}

class RandomCasesTest : public ::testing::TestWithParam<SystemModel> {};

TEST_P(RandomCasesTest, LowLevelAgreesWithHighLevel) {
  const SystemModel& model = GetParam();
  const DeviceDescription device = DeviceFor(model);
  Rng rng(17);
  constexpr NumericsPolicy kPolicies[] = {NumericsPolicy::kReassociate,
                                          NumericsPolicy::kReassociate, NumericsPolicy::kExactOrder,
                                          NumericsPolicy::kFixedTree};
  int cases = 0;
  for (int n = 0; cases < TriedCases(50) && n < 500; ++n) {
    const Expression e = RandomExpression(rng, {.max_rank = 4, .max_points = 500});
    const auto p = RandomNestParameters(rng, e, model, device, kPolicies[n % 4]);
    if (!p.has_value()) continue;
    const auto low = Lower(e, model, device, *p);
    ASSERT_TRUE(low.ok()) << low.status();
    ExpectSameResults(*low, rng);
    if (HasFatalFailure()) return;
    const auto again = ParseTuningParameters(ToText(*p));
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << ToText(*p);
    ASSERT_EQ(*again, *p) << ToText(*p);
    ++cases;
  }
  EXPECT_EQ(cases, TriedCases(50));
}

INSTANTIATE_TEST_SUITE_P(Models, RandomCasesTest,
                         ::testing::Values(OpenMpModel(), OpenMpL3SimdModel(),
                                           OpenMpSimdRegistersModel(), CudaModel(), CudaWarpModel(),
                                           OpenClModel(), MultiGpuModel()),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::erase_if(name, [](char c) { return c == '+' || c == '-'; });
                           return name;
                         });

TEST(RegisterTilesTest, LowLevelAgreesWithHighLevel) {
  const SystemModel model = OpenMpSimdRegistersModel();
  Rng rng(18);
  int cases = 0;
  for (int n = 0; cases < TriedCases(100) && n < 10000; ++n) {
    const Expression e = RandomExpression(rng, {.max_rank = 4, .max_points = 500});
    const TuningParameters p = RandomRegisterTiles(rng, e, model);
    const auto low = Lower(e, model, {}, p);
    if (!low.ok()) continue;
    ExpectSameResults(*low, rng);
    if (HasFatalFailure()) return;
    ++cases;
  }
  EXPECT_EQ(cases, TriedCases(100));
}

Result<LowLevelExpression> LowerMatMul(const std::string& text) {
  const Expression e = MatMul(6, 4, 5);
  MDH_ASSIGN_OR_RETURN(const TuningParameters p, ParseTuningParameters(text, e));
  const SystemModel model = *SystemModelNamed(p.system_model);
  return Lower(e, model, DeviceFor(model), p);
}

// Copies in permuted layouts, three phases in orders of their own.
TEST(LowLevelInterpreterTest, LayoutsAndPhasesApart) {
  const auto low = LowerMatMul(
      "model=CUDA; parts=3,1,1|1,2,1|2,2,1|1,1,1|1,1,5; order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
      "scalar_order=2,1,0|0,1,2|0,1,2|0,1,2|0,1,2; "
      "recompose_order=0,2,1|0,1,2|2,1,0|0,1,2|0,1,2; inputs=in_place:0,1:-1|in_place:0,1:-1; "
      "memory=0,0,0|1,1,1|1,1,1|1,1,1|1,1,1@0.1,0.1,0.1|1.0,1.0,1.0|1.0,1.0,1.0|1.0,1.0,1.0|"
      "1.0,1.0,1.0/; results=0,0,0|0,0,0|0,0,0|2,2,2|2,2,2@0.1,0.1,0.1|0.1,0.1,0.1|0.1,0.1,0.1|"
      "1.0,1.0,1.0|1.0,1.0,1.0");
  ASSERT_TRUE(low.ok()) << low.status();
  EXPECT_FALSE(low->is_fused());
  Rng rng(3);
  ExpectSameResults(*low, rng);
}

TEST(LowLevelInterpreterTest, InputsAreChecked) {
  const auto low = LowerMatMul(
      "model=CUDA; parts=1,1,1|1,1,1|1,1,1|1,1,1|6,4,5; order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
      "inputs=in_place:0,1:-1|in_place:0,1:-1");
  ASSERT_TRUE(low.ok()) << low.status();
  EXPECT_EQ(ErrorMessage(InterpretLowLevel(*low, {})),
            "expression 'matmul' has 2 inputs, but 0 were given");
  const std::vector<BufferBytes> inputs = {BufferBytes(120), BufferBytes(79)};
  EXPECT_EQ(ErrorMessage(InterpretLowLevel(*low, inputs)),
            "input 'B' has 80 bytes, but 79 were given");
}

// Bytes that no index function reaches are zero; sums keep the width of their types if they must.
TEST(LowLevelInterpreterTest, AccumulatesAsAskedFor) {
  const Expression e = *ParseExpression(
      "sum := out_view<fp32>( s: (k) -> () ) o md_hom<4>( f, (+) ) o "
      "inp_view<fp32>( x: (k) -> (k) ) where f(a) -> c { c = a }");
  const auto p =
      ParseTuningParameters("model=CUDA; tile=4|4|4|4|1; order=0|0|0|0|0; inputs=in_place:0:-1");
  ASSERT_TRUE(p.ok()) << p.status();
  const auto low = Lower(e, CudaModel(), DeviceFor(CudaModel()), *p);
  ASSERT_TRUE(low.ok()) << low.status();
  BufferBytes x(16);
  const float values[] = {16777216, 1, 1, 0};  // 2^24 + 1 is no fp32
  for (int n = 0; n < 4; ++n) {
    ScalarValue::Real(ScalarType::kFloat32, values[n]).Store(x.data() + 4 * n);
  }
  const auto sum = [&](Accumulation accumulation) {
    const std::vector<BufferBytes> inputs = {x};
    return ScalarValue::Load(ScalarType::kFloat32,
                             (*InterpretLowLevel(*low, inputs, accumulation))[0].data())
        .as_double();
  };
  EXPECT_EQ(sum(Accumulation::kWide), 16777218);
  EXPECT_EQ(sum(Accumulation::kDeclared), 16777216);
}

}  // namespace
}  // namespace mdh::low_level_interpreter_test
