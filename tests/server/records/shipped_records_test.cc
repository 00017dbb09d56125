// The records that come with the product as kernels: none of the fastest kernels known is one that
// a search would give up before it measures it.
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "codegen/generate_kernel.h"
#include "codegen/program/kernel.h"
#include "core/device/system_model.h"
#include "core/text/parser.h"
#include "gtest/gtest.h"
#include "proto/device_conversion.h"
#include "server/store/bundle.h"
#include "tests/source_path.h"
#include "tuner/device/cuda/cuda_program.h"
#include "tuner/device/cuda/nvrtc.h"
#include "tuner/measure/compile/spill_limit.h"

namespace mdh::shipped_records_test {
namespace {

// With the device that it was measured on.
struct RecordKernel {
  Kernel kernel;
  DeviceDescription device;
};

Result<RecordKernel> Regenerate(const v1::TuningRecord& record) {
  MDH_ASSIGN_OR_RETURN(DeviceDescription device, FromProto(record.device()));
  MDH_ASSIGN_OR_RETURN(const Expression expression, ParseExpression(record.expression_text()));
  MDH_ASSIGN_OR_RETURN(const TuningParameters parameters,
                       ParseTuningParameters(record.parameters()));
  MDH_ASSIGN_OR_RETURN(const SystemModel model, SystemModelNamed(parameters.system_model));
  MDH_ASSIGN_OR_RETURN(const LowLevelExpression low_level,
                       Lower(expression, model, device, parameters));
  MDH_ASSIGN_OR_RETURN(Kernel kernel, GenerateKernel(low_level, device));
  return RecordKernel{std::move(kernel), std::move(device)};
}

std::vector<v1::TuningRecord> ShippedRecords() {
  std::vector<v1::TuningRecord> records;
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath("deploy/records"))) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    const Result<Bundle> bundle = ReadBundle(bytes.str());
    EXPECT_TRUE(bundle.ok()) << entry.path() << ": " << bundle.status();
    if (!bundle.ok()) continue;
    records.insert(records.end(), bundle->records.begin(), bundle->records.end());
  }
  return records;
}

TEST(ShippedRecordsTest, TheirParametersReadBackToTheLetter) {
  int texts = 0;
  for (const v1::TuningRecord& record : ShippedRecords()) {
    const Result<TuningParameters> parameters = ParseTuningParameters(record.parameters());
    ASSERT_TRUE(parameters.ok()) << record.name() << ": " << parameters.status();
    EXPECT_EQ(ToText(*parameters), record.parameters()) << record.name();
    ++texts;
  }
  EXPECT_GT(texts, 40);
}

TEST(ShippedRecordsTest, NoneForCudaIsGivenUp) {
  const Result<Nvrtc> nvrtc = Nvrtc::Load(Nvrtc::ToolkitFolders(""));
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  SpillLimit limit;
  limit.Record(std::vector<FunctionResources>{{.function = "none"}});  // that spills nothing
  int kernels = 0;
  int64_t most_spilled = 0;
  for (const v1::TuningRecord& record : ShippedRecords()) {
    const Result<RecordKernel> made = Regenerate(record);
    ASSERT_TRUE(made.ok()) << record.name() << ": " << made.status();
    if (made->device.kind != DeviceKind::kCuda) continue;
    const Result<Cubin> cubin = CompileToCubin(*nvrtc, 90, made->kernel);
    ASSERT_TRUE(cubin.ok()) << record.name() << ": " << cubin.status();
    EXPECT_EQ(cubin->functions.size(), made->kernel.launches.size()) << record.name();
    EXPECT_TRUE(CheckResources(made->kernel, cubin->functions, made->device).ok());
    EXPECT_EQ(limit.Objection(cubin->functions, {.best_so_far_ns = 1}), "");
    for (const FunctionResources& function : cubin->functions) {
      most_spilled = std::max(most_spilled, function.spill_store_bytes);
    }
    ++kernels;
  }
  EXPECT_GT(kernels, 40);
  EXPECT_LE(4 * most_spilled, kMostSpilledBytes);  // nor will other compilers give one up
}

}  // namespace
}  // namespace mdh::shipped_records_test
