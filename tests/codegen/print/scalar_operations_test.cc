// Every scalar operation on every type, executed in OpenCL C and CUDA C++, against its meaning on
// values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/codegen/print/scalar_cases.h"
#include "tests/device/hand_written_kernels.h"
#include "tests/device/kernel_run.h"
#include "tests/error_message.h"

namespace mdh::scalar_operations_test {
namespace {

// Pairs of interesting values; halves, of which all are interesting, once each.
struct Operands {
  std::vector<ScalarValue> a, b, m;
};

Operands PairsOf(ScalarType type) {
  Operands operands;
  const std::vector<ScalarValue> values = InterestingValues(type);
  const std::vector<ScalarValue> others = IsStorageOnly(type) ? std::vector{values[0]} : values;
  for (const ScalarValue& a : values) {
    for (const ScalarValue& b : others) {
      operands.m.push_back(ScalarValue::Bool(operands.a.size() % 3 == 0));
      operands.a.push_back(a);
      operands.b.push_back(b);
    }
  }
  return operands;
}

BufferBytes Stored(const std::vector<ScalarValue>& values) {
  const int size = SizeBytes(values[0].type());
  BufferBytes bytes(values.size() * size);
  for (size_t n = 0; n < values.size(); ++n) values[n].Store(bytes.data() + n * size);
  return bytes;
}

// Units in the last place that the languages allow their functions to be off.
int AllowedUlps(ScalarOp op, ScalarType type) {
  if (!IsFloatingPoint(type)) return 0;
  switch (op) {
    case ScalarOp::kRsqrt:
      return 2;
    case ScalarOp::kExp:
    case ScalarOp::kExp2:
    case ScalarOp::kLog:
    case ScalarOp::kLog2:
    case ScalarOp::kLog1p:
    case ScalarOp::kExpm1:
    case ScalarOp::kCbrt:
    case ScalarOp::kSin:
    case ScalarOp::kCos:
      return 4;
    case ScalarOp::kTanh:
      return 5;
    case ScalarOp::kAtan2:
      return 6;
    case ScalarOp::kErf:
    case ScalarOp::kPow:
      return 16;
    default:
      return 0;
  }
}

bool IsNear(const ScalarValue& found, const ScalarValue& expected, int ulps) {
  if (found == expected) return true;
  if (ulps == 0 || !std::isfinite(found.as_double()) || !std::isfinite(expected.as_double())) {
    return false;
  }
  const double x = expected.as_double(), difference = std::fabs(found.as_double() - x);
  const bool is_single = expected.type() == ScalarType::kFloat32;
  const double smallest = is_single ? std::ldexp(1.0, -149) : std::ldexp(1.0, -1074);
  const double ulp = std::max(smallest, std::ldexp(1.0, std::ilogb(x) - (is_single ? 23 : 52)));
  return difference <= ulps * ulp;
}

class ScalarOperationsTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<ComputeDevice>> found = FirstDevice(GetParam());
    if (!found.ok()) GTEST_SKIP() << found.status().message();
    device_ = *std::move(found);
  }
  void Check(ScalarType type);
  const CDialect& Dialect() const { return GetParam() ? CudaCxx() : OpenClC(); }

  std::unique_ptr<ComputeDevice> device_;
};

void ScalarOperationsTest::Check(ScalarType type) {
  const Operands operands = PairsOf(type);
  Kernel kernel = ScalarKernel(Dialect(), type, static_cast<int64_t>(operands.a.size()));
  if (GetParam()) kernel.compile_options = {"--std=c++17", "--fmad=false"};
  if (!GetParam()) {
    kernel.compile_options = {"-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt"};
  }
  const auto outputs =
      RunKernelOnce(*device_, kernel, {Stored(operands.a), Stored(operands.b), Stored(operands.m)});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message() << "\n" << kernel.source;
  const std::vector<ScalarCase> cases = ScalarCases(type);
  ASSERT_EQ(outputs->size(), cases.size());
  for (size_t c = 0; c < cases.size(); ++c) {
    const int size = SizeBytes(cases[c].result);
    int wrong = 0;
    for (size_t n = 0; n < operands.a.size() && wrong < 5; ++n) {
      std::vector<ScalarValue> values = {operands.a[n]};
      if (Info(cases[c].op).operands == 2) values.push_back(operands.b[n]);
      if (cases[c].op == ScalarOp::kSelect) {
        values = {operands.m[n], operands.a[n], operands.b[n]};
      }
      const ScalarValue expected = Apply(cases[c].op, cases[c].result, values);
      const ScalarValue found = ScalarValue::Load(cases[c].result, (*outputs)[c].data() + n * size);
      const bool is_near = IsNear(found, expected, AllowedUlps(cases[c].op, type));
      wrong += is_near ? 0 : 1;
      EXPECT_TRUE(is_near) << cases[c].text << " on " << operands.a[n].ToString() << ", "
                           << operands.b[n].ToString() << ": " << found.ToString() << ", not "
                           << expected.ToString();
    }
  }
}

TEST_P(ScalarOperationsTest, Integers) {
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    if (!IsFloatingPoint(info.type)) Check(info.type);
  }
}
TEST_P(ScalarOperationsTest, Float32) { Check(ScalarType::kFloat32); }
TEST_P(ScalarOperationsTest, Float64) { Check(ScalarType::kFloat64); }
TEST_P(ScalarOperationsTest, AllPatternsOfTypesInMemory) {
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    if (IsStorageOnly(info.type)) Check(info.type);
  }
}

TEST_P(ScalarOperationsTest, FloatsAreRoundedToTypesInMemory) {
  const Index i = Index::Variable("i");
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    if (!IsStorageOnly(info.type)) continue;
    std::vector<ScalarValue> floats;
    for (const float x : FloatsToRound(info.type)) {
      floats.push_back(ScalarValue::Real(ScalarType::kFloat32, x));
    }
    const auto count = static_cast<int64_t>(floats.size());
    const LoopValue load = MakeLoad("a", i, {ScalarType::kFloat32, 1}, 1);
    const Kernel kernel = OneStageKernel(
        Dialect(), "rounded",
        {{"a", ScalarType::kFloat32, count, false}, {"r", info.type, count, true}},
        {{StoreElements{"r", i, MakeOperation(ScalarOp::kCast, info.type, {load}), 1}}}, count);
    const auto outputs = RunKernelOnce(*device_, kernel, {Stored(floats)});
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    for (size_t n = 0; n < floats.size(); ++n) {
      const ScalarValue found =
          ScalarValue::Load(info.type, (*outputs)[0].data() + n * info.size_bytes);
      ASSERT_EQ(found, ScalarValue::Real(info.type, floats[n].as_double()))
          << info.name << " of " << floats[n].ToString();
    }
  }
}

TEST_P(ScalarOperationsTest, LiteralsKeepTheirValues) {
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    if (IsStorageOnly(info.type)) continue;
    const auto outputs = RunKernelOnce(*device_, LiteralKernel(Dialect(), info.type), {});
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    const std::vector<ScalarValue> values = InterestingValues(info.type);
    for (size_t n = 0; n < values.size(); ++n) {
      EXPECT_EQ(ScalarValue::Load(info.type, (*outputs)[0].data() + n * info.size_bytes), values[n])
          << info.name << " " << values[n].ToString();
    }
  }
}

TEST_P(ScalarOperationsTest, TablesAreReadAtTheNearestElement) {
  const std::vector<ScalarValue> table = TableValues();
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    if (!IsInteger(info.type)) continue;
    const std::vector<ScalarValue> indices = InterestingValues(info.type);
    const auto outputs = RunKernelOnce(
        *device_, TableKernel(Dialect(), info.type, static_cast<int64_t>(indices.size())),
        {Stored(indices)});
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    for (size_t n = 0; n < indices.size(); ++n) {
      const int64_t i = indices[n].as_int64();
      const bool is_below = IsSigned(info.type) && i < 0;
      const size_t nearest = is_below ? 0 : std::min<uint64_t>(indices[n].as_uint64(), 3);
      EXPECT_EQ(ScalarValue::Load(ScalarType::kFloat64, (*outputs)[0].data() + n * 8),
                table[nearest])
          << info.name << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Languages, ScalarOperationsTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Cuda" : "OpenCl"; });

}  // namespace
}  // namespace mdh::scalar_operations_test
