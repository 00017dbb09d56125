#include "server/records/kernel_prediction.h"

#include "codegen/choose/block_design.h"
#include "codegen/choose/default_block_parameters.h"
#include "codegen/choose/default_parameters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/device_conversion.h"
#include "server/records/kernel_key.h"
#include "server/records/lookup_table.h"
#include "server/records/resource_names.h"
#include "tests/server/matmul_expression.h"

namespace mdh::kernel_prediction_test {
namespace {

using ::testing::HasSubstr;

DeviceDescription Gpu(int architecture) { return *DescribeCudaArchitecture(architecture); }

DeviceDescription UnderOpenCl(int architecture) {
  DeviceDescription device = Gpu(architecture);
  device.kind = DeviceKind::kOpenCl;
  device.blocks.shared_bytes_per_block = 48 << 10;
  device.isa = "OpenCL 3.0";
  device.features = FeaturesOf(device);
  return device;
}

// A record of a matrix product of that size on `device`.
v1::TuningRecord RecordOfMatMul(const std::string& id, int64_t size,
                                const DeviceDescription& device, const std::string& parameters) {
  v1::TuningRecord record;
  record.set_name(RecordName(id));
  *record.mutable_key() =
      MakeKernelKey(MatMulExpression(size, size, size), KeyEnvironment::Of(device));
  *record.mutable_device() = ToProto(device);
  record.set_parameters(parameters);
  record.set_time_ns(100);
  return record;
}

class KernelPredictionTest : public ::testing::Test {
 protected:
  Result<PredictedKernel> Predict(const DeviceDescription& device,
                                  const std::vector<v1::TuningRecord>& similar = {}) const {
    return PredictKernel(expression_, device,
                         MakeKernelKey(expression_, KeyEnvironment::Of(device)), similar);
  }

  const Expression expression_ = MatMulExpression(96, 96, 96);
};

TEST_F(KernelPredictionTest, RulesGiveCodeForEveryKindOfDevice) {
  const Result<PredictedKernel> cuda_kernel = Predict(Gpu(90));
  ASSERT_TRUE(cuda_kernel.ok()) << cuda_kernel.status();
  EXPECT_EQ(cuda_kernel->made_from, "");
  EXPECT_EQ(cuda_kernel->kernel.name(), "");
  EXPECT_EQ(cuda_kernel->kernel.language(), "CUDA C++");
  EXPECT_EQ(cuda_kernel->kernel.compiler(), "nvrtc");
  EXPECT_EQ(*cuda_kernel->kernel.compile_options().rbegin(), "--gpu-architecture=sm_90");
  ASSERT_GT(cuda_kernel->kernel.launches_size(), 0);
  EXPECT_EQ(cuda_kernel->kernel.launches(0).grid_size(), 3);
  EXPECT_GT(cuda_kernel->kernel.launches(0).block(0), 1);
  EXPECT_THAT(cuda_kernel->kernel.source(), HasSubstr(cuda_kernel->kernel.launches(0).function()));
  EXPECT_EQ(cuda_kernel->record.time_ns(), 0);
  EXPECT_EQ(cuda_kernel->record.name(), "");
  EXPECT_EQ(cuda_kernel->record.device().isa(), "sm_90");
  const Result<PredictedKernel> opencl_kernel = Predict(UnderOpenCl(90));
  ASSERT_TRUE(opencl_kernel.ok()) << opencl_kernel.status();
  EXPECT_EQ(opencl_kernel->kernel.language(), "OpenCL C");
  const Result<PredictedKernel> cpu_kernel = Predict(*DescribeHostCpu());
  ASSERT_TRUE(cpu_kernel.ok()) << cpu_kernel.status();
  EXPECT_EQ(cpu_kernel->kernel.language(), "OpenMP C");
  EXPECT_GT(cpu_kernel->kernel.threads(), 0);
}

// A reduction in two stages, of which the first one reads nothing; a short product; and a long one.
TEST_F(KernelPredictionTest, StagesOfCudaMayStartEarly) {
  const Expression dot = MatMulExpression(1, 1, 1 << 20);
  const DeviceDescription device = Gpu(90);
  const Result<PredictedKernel> predicted =
      PredictKernel(dot, device, MakeKernelKey(dot, KeyEnvironment::Of(device)), {});
  ASSERT_TRUE(predicted.ok()) << predicted.status();
  ASSERT_EQ(predicted->kernel.launches_size(), 2);
  EXPECT_TRUE(predicted->kernel.launches(0).starts_early());
  EXPECT_TRUE(predicted->kernel.launches(1).starts_early());
  for (const int64_t depth : {16, 512}) {
    const Expression product = MatMulExpression(2048, 2048, depth);
    const Result<PredictedKernel> alone =
        PredictKernel(product, device, MakeKernelKey(product, KeyEnvironment::Of(device)), {});
    ASSERT_TRUE(alone.ok()) << alone.status();
    ASSERT_EQ(alone->kernel.launches_size(), 1);
    EXPECT_EQ(alone->kernel.launches(0).starts_early(), depth == 16) << depth;
  }
}

TEST_F(KernelPredictionTest, ASimilarRecordIsRepairedToTheDevice) {
  const Expression large = MatMulExpression(4096, 4096, 4096);
  const std::string known = ToText(DefaultBlockParameters(large, CudaModel(), Gpu(90)));
  const v1::TuningRecord record = RecordOfMatMul("of-h100", 4096, Gpu(90), known);
  DeviceDescription small = Gpu(86);
  small.blocks.max_threads_per_block = 64;
  small.blocks.max_block = {64, 64, 64};
  const Result<PredictedKernel> predicted = Predict(small, {record});
  ASSERT_TRUE(predicted.ok()) << predicted.status();
  EXPECT_EQ(predicted->made_from, "records/of-h100");
  for (const v1::KernelLaunch& launch : predicted->kernel.launches()) {
    EXPECT_LE(launch.block(0) * launch.block(1) * launch.block(2), 64);
  }
}

// With one column, a tile with lanes along columns has none.
TEST_F(KernelPredictionTest, WhatIsExpectedToBeSlowIsNotRepaired) {
  DeviceDescription device = *DescribeHostCpu();
  device.cores = 1;
  device.simd_bytes = 32;
  device.vector_registers = 16;
  const Expression many = MatMulExpression(3177, 296, 1981);
  const SystemModel model = TuningModel(device.kind);
  v1::TuningRecord record =
      RecordOfMatMul("of-many", 1, device, ToText(DefaultParameters(many, model, device)));
  *record.mutable_key() = MakeKernelKey(many, KeyEnvironment::Of(device));
  const auto maker_of = [&](const Expression& expression) {
    const Result<PredictedKernel> predicted = PredictKernel(
        expression, device, MakeKernelKey(expression, KeyEnvironment::Of(device)), {record});
    return predicted.ok() ? predicted->made_from : predicted.status().ToString();
  };
  EXPECT_EQ(maker_of(MatMulExpression(3000, 320, 2000)), "records/of-many");
  const Expression column = MatMulExpression(3497, 1, 3529);
  EXPECT_EQ(maker_of(column), "");
  // Who wants nothing else gets it.
  const Result<PredictedKernel> near =
      AdaptKernel(column, device, MakeKernelKey(column, KeyEnvironment::Of(device)), {record});
  ASSERT_TRUE(near.ok()) << near.status();
  EXPECT_EQ(near->made_from, "records/of-many");
}

// What is repaired has no matrix unit: of fp64, as of all types and policies that have some.
TEST_F(KernelPredictionTest, WhereRulesChooseAMatrixUnitNoOtherSizeIsRepaired) {
  const Expression large = MatMulExpression(4096, 4096, 4096, ScalarType::kFloat64);
  const Expression product = MatMulExpression(1024, 1024, 1024, ScalarType::kFloat64);
  ASSERT_GT(DefaultParameters(product, CudaModel(), Gpu(90)).unit.rows, 0);
  v1::TuningRecord record = RecordOfMatMul("of-large", 4096, Gpu(90),
                                           ToText(DefaultParameters(large, CudaModel(), Gpu(90))));
  *record.mutable_key() = MakeKernelKey(large, KeyEnvironment::Of(Gpu(90)));
  const Result<PredictedKernel> predicted = PredictKernel(
      product, Gpu(90), MakeKernelKey(product, KeyEnvironment::Of(Gpu(90))), {record});
  ASSERT_TRUE(predicted.ok()) << predicted.status();
  EXPECT_EQ(predicted->made_from, "");
  EXPECT_GT(ParseTuningParameters(predicted->record.parameters())->unit.rows, 0);
}

// With copies beside the computation, and residency, of which OpenCL knows nothing.
TEST_F(KernelPredictionTest, RecordsOfCudaServeOpenClOnTheSameGpu) {
  BlockDesign design;
  design.cuts = {{.threads = 8, .vector = 4}, {.threads = 8, .vector = 4}, {.vector = 8}};
  design.copies = {BlockDesign::Copy::kChunk, BlockDesign::Copy::kChunk};
  design.async_stages = {3, 3};
  design.lane_dimension = 1;
  design.resident_blocks = 2;
  const TuningParameters known = ToParameters(expression_, CudaModel(), Gpu(90), design);
  ASSERT_TRUE(Validate(expression_, CudaModel(), Gpu(90), known).ok());
  ASSERT_THAT(ToText(known), HasSubstr("async"));
  const Result<PredictedKernel> predicted =
      Predict(UnderOpenCl(90), {RecordOfMatMul("of-cuda", 96, Gpu(90), ToText(known))});
  ASSERT_TRUE(predicted.ok()) << predicted.status();
  EXPECT_EQ(predicted->made_from, "records/of-cuda");
  EXPECT_EQ(predicted->kernel.language(), "OpenCL C");
  const Result<TuningParameters> used = ParseTuningParameters(predicted->record.parameters());
  ASSERT_TRUE(used.ok()) << used.status();
  EXPECT_EQ(used->system_model, "OpenCL");
  EXPECT_EQ(used->tile, known.tile);
  EXPECT_EQ(used->inputs[0].copy_stages, 2);
}

TEST_F(KernelPredictionTest, RecordsThatDoNotFitArePassed) {
  const DeviceDescription cpu = *DescribeHostCpu();
  const std::string of_cpu =
      ToText(DefaultParameters(expression_, OpenMpSimdRegistersModel(), cpu));
  const std::string good = ToText(DefaultBlockParameters(expression_, CudaModel(), Gpu(80)));
  v1::TuningRecord no_form = RecordOfMatMul("no-form", 96, Gpu(80), good);
  no_form.mutable_key()->set_canonical_form("nothing");
  const Result<PredictedKernel> predicted =
      Predict(Gpu(90), {RecordOfMatMul("text", 96, Gpu(80), "no parameters"),
                        RecordOfMatMul("cpu", 96, cpu, of_cpu), no_form,
                        RecordOfMatMul("good", 96, Gpu(80), good)});
  ASSERT_TRUE(predicted.ok()) << predicted.status();
  EXPECT_EQ(predicted->made_from, "records/good");
}

TEST(SimilarRecords, OfSimilarDevicesComeFirst) {
  LookupTable table(KeyEnvironment{"cpu A", "gcc"});
  DeviceDescription slower = Gpu(90);
  slower.clock_hz = 1e9;
  slower.blocks.memory_bytes /= 2;
  table.Put(RecordOfMatMul("a100", 64, Gpu(80), ""));
  table.Put(RecordOfMatMul("l4", 64, Gpu(89), ""));
  table.Put(RecordOfMatMul("slower", 64, slower, ""));
  table.Put(RecordOfMatMul("opencl", 64, UnderOpenCl(90), ""));
  table.Put(RecordOfMatMul("other opencl", 64, UnderOpenCl(80), ""));
  table.Put(RecordOfMatMul("cpu", 64, *DescribeHostCpu(), ""));
  const v1::KernelKey key =
      MakeKernelKey(MatMulExpression(64, 64, 64), KeyEnvironment::Of(Gpu(90)));
  std::vector<std::string> names;
  for (const v1::TuningRecord& record : table.FindSimilar(key, 9, ToProto(Gpu(90)))) {
    names.push_back(record.name());
  }
  EXPECT_THAT(names, ::testing::ElementsAre("records/slower", "records/opencl", "records/a100",
                                            "records/l4"));
}

}  // namespace
}  // namespace mdh::kernel_prediction_test
