#include "client/commands/format/launch_information.h"

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::launch_information_test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::StartsWith;

std::vector<std::string> Names(const v1::GetKernelResponse& response) {
  std::vector<std::string> names;
  for (const auto& [name, text] : KernelFiles("mine", response)) names.push_back(name);
  return names;
}

v1::GetKernelResponse WithLaunches(const std::string& language) {
  v1::GetKernelResponse response;
  response.set_match(v1::MATCH_KIND_PREDICTED);
  v1::Kernel& kernel = *response.mutable_kernel();
  kernel.set_language(language);
  kernel.set_entry("mdh_mine");
  kernel.set_source("source");
  kernel.set_compiler("nvrtc");
  kernel.add_compile_options("--gpu-architecture=sm_90");
  kernel.set_scratch_bytes(128);
  v1::KernelLaunch& launch = *kernel.add_launches();
  launch.set_function("mdh_mine_0");
  for (const int64_t n : {4, 2, 1}) launch.add_grid(n);
  for (const int64_t n : {32, 8, 1}) launch.add_block(n);
  launch.set_dynamic_shared_bytes(65536);
  launch.set_starts_early(true);
  return response;
}

TEST(LaunchInformation, OfCudaHasLaunchesAndACommandForNvcc) {
  const v1::GetKernelResponse response = WithLaunches("CUDA C++");
  EXPECT_THAT(Names(response), ElementsAre("mine.cu", "mine.json"));
  const nlohmann::ordered_json json = LaunchInformation("mine", response);
  EXPECT_EQ(json["source"], "mine.cu");
  EXPECT_EQ(json["match"], "predicted");
  EXPECT_EQ(json["made_from"], "rules");
  EXPECT_FALSE(json.contains("time_ns"));
  EXPECT_FALSE(json.contains("threads"));
  EXPECT_EQ(json["compile_command"], "nvcc --gpu-architecture=sm_90 -cubin mine.cu -o mine.cubin");
  EXPECT_EQ(json["scratch"]["bytes"], 128);
  EXPECT_EQ(json["launches"][0].dump(),
            R"({"function":"mdh_mine_0","grid":[4,2,1],"block":[32,8,1],)"
            R"("dynamic_shared_bytes":65536,"starts_early":true})");
}

TEST(LaunchInformation, TensorMapsAreThoseOfTheirLaunch) {
  v1::GetKernelResponse response = WithLaunches("CUDA C++");
  v1::TensorMap& map = *response.mutable_kernel()->mutable_launches(0)->add_tensor_maps();
  map.set_argument(1);
  map.set_element_bytes(2);
  for (const int64_t extent : {100, 50}) map.add_extents(extent);
  map.add_strides_bytes(208);
  for (const int64_t along : {64, 128}) map.add_box(along);
  map.set_swizzle_bytes(128);
  EXPECT_EQ(LaunchInformation("mine", response)["launches"][0]["tensor_maps"].dump(),
            R"([{"argument":1,"offset_bytes":0,"element_bytes":2,"extents":[100,50],)"
            R"("strides_bytes":[208],"box":[64,128],"swizzle_bytes":128}])");
}

TEST(LaunchInformation, OfHipHasLaunchesAndACommandForHipcc) {
  v1::GetKernelResponse response = WithLaunches("HIP C++");
  response.mutable_kernel()->clear_compile_options();
  response.mutable_kernel()->add_compile_options("--offload-arch=gfx90a");
  EXPECT_THAT(Names(response), ElementsAre("mine.hip", "mine.json"));
  EXPECT_EQ(LaunchInformation("mine", response)["compile_command"],
            "hipcc --offload-arch=gfx90a --genco mine.hip -o mine.hsaco");
}

TEST(LaunchInformation, ArgumentsHaveShapes) {
  v1::GetKernelResponse response = WithLaunches("CUDA C++");
  v1::KernelArgument& argument = *response.mutable_kernel()->add_arguments();
  argument.set_name("A");
  argument.set_type(v1::SCALAR_TYPE_FLOAT32);
  argument.set_elements(24);
  argument.set_size_bytes(96);
  for (const int64_t extent : {4, 6}) argument.add_extents(extent);
  EXPECT_EQ(LaunchInformation("mine", response)["arguments"][0].dump(),
            R"({"name":"A","type":"fp32","elements":24,"extents":[4,6],"size_bytes":96,)"
            R"("is_output":false})");
  for (const int64_t stride : {1, 4}) argument.add_strides(stride);
  EXPECT_EQ(LaunchInformation("mine", response)["arguments"][0]["strides"].dump(), "[1,4]");
}

TEST(LaunchInformation, OfOpenClHasNoCommand) {
  v1::GetKernelResponse response = WithLaunches("OpenCL C");
  response.set_made_from("records/7");
  EXPECT_THAT(Names(response), ElementsAre("mine.cl", "mine.json"));
  const nlohmann::ordered_json json = LaunchInformation("mine", response);
  EXPECT_FALSE(json.contains("compile_command"));
  EXPECT_EQ(json["made_from"], "records/7");
}

TEST(LaunchInformation, OfOpenMpHasFunctionsToCall) {
  v1::GetKernelResponse response;
  response.set_match(v1::MATCH_KIND_EXACT);
  v1::Kernel& kernel = *response.mutable_kernel();
  kernel.set_language("OpenMP C");
  kernel.set_entry("mdh_mine");
  kernel.set_header("header");
  kernel.set_compiler("gcc");
  kernel.add_compile_options("-O3");
  kernel.add_compile_options("-lm");
  kernel.set_threads(8);
  response.mutable_record()->set_time_ns(5);
  EXPECT_THAT(Names(response), ElementsAre("mine.c", "mine.h", "mine.json"));
  const nlohmann::ordered_json json = LaunchInformation("mine", response);
  EXPECT_EQ(json["match"], "exact");
  EXPECT_EQ(json["header"], "mine.h");
  EXPECT_EQ(json["body"], "mdh_mine_body");
  EXPECT_EQ(json["scratch"]["bytes_function"], "mdh_mine_scratch_bytes");
  EXPECT_EQ(json["compile_options"].back(), "-lm");
  EXPECT_EQ(json["compile_command"], "gcc -O3 -c mine.c -o mine.o") << "links nothing";
  EXPECT_EQ(json["threads"], 8);
  EXPECT_EQ(json["time_ns"], 5);
  EXPECT_FALSE(json.contains("launches"));
}

TEST(KernelFiles, SayForWhichDeviceFromWhenAndHowToCompile) {
  v1::GetKernelResponse response;
  response.set_match(v1::MATCH_KIND_EXACT);
  v1::Kernel& kernel = *response.mutable_kernel();
  kernel.set_language("OpenMP C");
  kernel.set_source("// Generated\nint x;\n");
  kernel.set_header("int mdh_mine(void);\n");
  kernel.set_compiler("gcc");
  kernel.add_compile_options("-O3");
  v1::TuningRecord& record = *response.mutable_record();
  record.set_name("records/7");
  record.set_time_ns(1'230'000);
  record.mutable_create_time()->set_seconds(1'790'000'000);
  record.mutable_device()->set_model("AMD\nEPYC \\");
  record.mutable_device()->set_isa("x86-64");
  const auto files = KernelFiles("mine", response);
  EXPECT_EQ(files[0].second,
            "// Device:  AMD EPYC /, x86-64\n"
            "// Origin:  Measured: 1.23 ms, 2026-09-21 14:13 UTC, records/7\n"
            "// Compile: gcc -O3 -c mine.c -o mine.o\n"
            "//\n"
            "// Generated\nint x;\n");
  EXPECT_THAT(files[1].second, StartsWith("// Device:  AMD EPYC /, x86-64\n"));
  EXPECT_THAT(files[1].second, EndsWith("//\nint mdh_mine(void);\n"));
}

TEST(KernelFiles, SayThatNothingWasMeasured) {
  v1::GetKernelResponse response = WithLaunches("OpenCL C");
  response.mutable_record()->mutable_device()->set_model("a GPU");
  EXPECT_EQ(KernelFiles("mine", response)[0].second,
            "// Device:  a GPU\n"
            "// Origin:  Not measured; made from rules\n"
            "// Compile: when the program is built, with --gpu-architecture=sm_90\n"
            "//\nsource");
}

}  // namespace
}  // namespace mdh::launch_information_test
