// Parameters from clients reach the generator: whatever they are, they are refused or give code.
#include "server/lookup/record_check.h"

#include <random>

#include "core/text/parser.h"
#include "gtest/gtest.h"
#include "server/records/kernel_prediction.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/fake_devices.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/temporary_directory.h"

namespace mdh::record_check_test {
namespace {

class RecordCheckTest : public ::testing::Test {
 protected:
  static v1::TuningRecord RecordOf(const Expression& expression, const DeviceDescription& device) {
    const v1::KernelKey key = MakeKernelKey(expression, KeyEnvironment::Of(device));
    v1::TuningRecord record = PredictKernel(expression, device, key, {})->record;
    record.set_time_ns(1'000'000);
    return record;
  }
  Status Check(const v1::TuningRecord& record) {
    return CheckGivenRecord(record, ExpressionLimits(), *store_, absl::UnixEpoch()).status();
  }

  TemporaryDirectory directory_;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
};

TEST_F(RecordCheckTest, ParametersOfOtherExpressionsDoNoHarm) {
  const Expression vector = *ParseExpression(
      "scale<T = fp32 | I = 64> := out_view<T>( y: (i) -> (i) ) o md_hom<I>( f, (++) ) o "
      "inp_view<T>( x: (i) -> (i) ) where f(x) -> y { y = x * 2 }",
      {});
  v1::TuningRecord matmul = RecordOf(MatMulExpression(64, 64, 64), FakeCpu());
  v1::TuningRecord scale = RecordOf(vector, FakeCpu());
  EXPECT_TRUE(Check(matmul).ok());
  EXPECT_TRUE(Check(scale).ok());
  const std::string of_matmul = matmul.parameters();
  matmul.set_parameters(scale.parameters());
  scale.set_parameters(of_matmul);
  EXPECT_EQ(Check(matmul).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Check(scale).code(), absl::StatusCode::kInvalidArgument);
}

// As a kernel has it that was made while the compilers were still looked for.
TEST_F(RecordCheckTest, WhatWasMeasuredNamesItsCompiler) {
  DeviceDescription cpu = FakeCpu();
  cpu.compiler.clear();
  EXPECT_EQ(Check(RecordOf(MatMulExpression(8, 8, 8), cpu)).message(),
            "a kernel that was measured has had a compiler");
}

TEST_F(RecordCheckTest, ParametersThatWereTamperedWithDoNoHarm) {
  std::mt19937_64 random(1);
  constexpr std::string_view kPieces = "0123456789,;=-|:/ab";
  int accepted = 0;
  for (const DeviceDescription& device : {FakeCpu(), FakeGpu()}) {
    const v1::TuningRecord right = RecordOf(MatMulExpression(64, 48, 96), device);
    for (int n = 0; n < 400; ++n) {
      v1::TuningRecord record = right;
      std::string& text = *record.mutable_parameters();
      for (uint64_t change = 1 + random() % 3; change > 0; --change) {
        const size_t at = random() % text.size();
        const char piece = kPieces[random() % kPieces.size()];
        switch (random() % 3) {
          case 0:
            text[at] = piece;
            break;
          case 1:
            text.insert(at, 1, piece);
            break;
          default:
            text.erase(at, 1 + random() % 8);
        }
        if (text.empty()) text = "x";
      }
      const Status status = Check(record);
      if (status.ok()) ++accepted;
      EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << text << ": " << status;
    }
  }
  // Some changes are harmless; most are not.
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 700);
}

}  // namespace
}  // namespace mdh::record_check_test
