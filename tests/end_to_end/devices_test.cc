// Devices of a real daemon: the CPU, OpenCL where there is one, CUDA where there is one, and those
// that are only described.
#include <unistd.h>

#include <fstream>

#include "gmock/gmock.h"
#include "tests/end_to_end/daemon_test_fixture.h"
#include "tests/source_path.h"

namespace mdh::devices_test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class DevicesTest : public DaemonTest {
 protected:
  DevicesTest() { devices_.clear(); }
  static nlohmann::json ReadJson(const std::string& path) {
    return nlohmann::json::parse(ReadFile(path), nullptr, /*allow_exceptions=*/false);
  }
  // What is said of the device of that name; null if there is none.
  nlohmann::json Listed(const std::string& name) const {
    const nlohmann::json listed = MdhJson({"devices"});
    for (const nlohmann::json& device : listed["devices"]) {
      if (device["name"] == name) return device;
    }
    return nullptr;
  }
  // The same once its runner has been started.
  nlohmann::json Device(const std::string& name) const {
    nlohmann::json found;
    const bool is_ready = Eventually([&] {
      found = Listed(name);
      return found.is_null() || found["health"] != "DEVICE_HEALTH_STARTING";
    });
    EXPECT_TRUE(is_ready) << name;
    return found;
  }
  // Starts mdhd with devices of a kind that may not be there: then the test is skipped.
  void StartDaemonWith(const std::string& devices, const std::string& kind) {
    daemon_ = std::make_unique<Program>(DaemonWords({"--devices", devices}));
    ASSERT_TRUE(Eventually([&] {
      return daemon_->HasEnded() || daemon_->err().find("devices are open") != std::string::npos;
    }));
    if (!daemon_->HasEnded()) return;
    EXPECT_THAT(daemon_->err(), HasSubstr("there is no " + kind + ":0"));
    daemon_.reset();
    GTEST_SKIP() << "no device " << kind << ":0";
  }
};

// With this, OpenCL's loader finds no driver.
const std::vector<std::string> kNoOpenCl = {"OCL_ICD_VENDORS=/nowhere"};

TEST_F(DevicesTest, WithoutGpusItSaysSoAndServesTheCpu) {
  StartDaemon({"--devices", "cpu"}, kNoOpenCl);
  const Ended listed = Mdh({"devices"});
  EXPECT_THAT(listed.out, HasSubstr("devices/cpu: "));
  EXPECT_THAT(listed.out, HasSubstr("OpenCL"));
  EXPECT_EQ(MdhJson({"devices"})["devices"].size(), 1u);
  const Ended refused = Mdh(OnMatMul("tune", 32, {"--device", "opencl0"}));
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("there is no device 'devices/opencl0'"));
  EXPECT_THAT(refused.err, HasSubstr("OpenCL"));
  EXPECT_EQ(Mdh(OnMatMul("tune", 32, {"--trials", "2", "--device", "cpu"})).code, 0);
}

TEST_F(DevicesTest, DevicesThatAreNotThereAreRefusedAtStart) {
  const Ended missing = RunProgram(DaemonWords({"--devices", "cpu,opencl:77"}));
  EXPECT_EQ(missing.code, 2) << missing.err;
  EXPECT_THAT(missing.err, HasSubstr("mdhd: error: --devices: there is no opencl:77; attached: "));
  const Ended wrong = RunProgram(DaemonWords({"--devices", "gpu"}));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("'gpu' is no device such as cpu, opencl:0 or cuda:1"));
}

TEST_F(DevicesTest, KnownPeaksAreNotMeasuredAgain) {
  StartDaemon({"--devices", "cpu"}, kNoOpenCl);
  nlohmann::json listed = MdhJson({"devices"});
  StopDaemon();
  // No machine reaches that, and none reaches it twice.
  listed["devices"][0]["peaks"]["fp32_flops_per_s"] = 1.25e18;
  const std::string file = directory_.File("peaks.json");
  std::ofstream(file) << listed;
  StartDaemon({"--devices", "cpu", "--known-peaks", file}, kNoOpenCl);
  EXPECT_EQ(Listed("devices/cpu")["peaks"]["fp32_flops_per_s"], 1.25e18);
  StopDaemon();
  listed["devices"][0]["fingerprint"] = "cpu 'Another'";
  std::ofstream(file) << listed;
  const Ended refused = RunProgram(DaemonWords({"--devices", "cpu", "--known-peaks", file}));
  EXPECT_EQ(refused.code, 2) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("peaks are known of 'cpu 'Another''"));
}

TEST_F(DevicesTest, KernelsForDevicesThatAreNotThereAreMarked) {
  StartDaemon({"--devices", "cpu"}, kNoOpenCl);
  EXPECT_THAT(Mdh({"devices", "--known"}).out, HasSubstr("knownDevices/h100: NVIDIA H100"));
  const std::string folder = directory_.File("k");
  const Ended written = Mdh(OnMatMul("kernel", 256, {"--device", "h100", "--output", folder}));
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("not measured on this device: made from rules\n"));
  EXPECT_THAT(written.out, HasSubstr(folder + "/matmul.cu\n"));
  const nlohmann::json launch = ReadJson(folder + "/matmul.json");
  EXPECT_EQ(launch["match"], "predicted");
  EXPECT_EQ(launch["launches"][0]["grid"].size(), 3u);
  EXPECT_THAT(std::string(launch["device"]), HasSubstr("cuda 'NVIDIA H100"));
  EXPECT_THAT(ReadFile(folder + "/matmul.cu"), HasSubstr("__global__"));
  // The same device, described in a file.
  const std::string file = SourcePath("deploy/devices/h100.json");
  const std::string other = directory_.File("f");
  EXPECT_EQ(Mdh(OnMatMul("kernel", 256, {"--device", file, "--output", other})).code, 0);
  EXPECT_EQ(ReadFile(other + "/matmul.cu"), ReadFile(folder + "/matmul.cu"));
  // Lookups give only what was measured.
  EXPECT_EQ(Mdh(OnMatMul("lookup", 256, {"--device", "h100"})).code, 4);
}

TEST_F(DevicesTest, KernelsForAmdsGpusAreInHip) {
  StartDaemon({"--devices", "cpu"}, kNoOpenCl);
  const std::string folder = directory_.File("k");
  const std::string file = SourcePath("deploy/devices/mi250.json");
  const Ended written = Mdh(OnMatMul("kernel", 256, {"--device", file, "--output", folder}));
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("not measured on this device: made from rules\n"));
  EXPECT_THAT(ReadFile(folder + "/matmul.hip"), HasSubstr("#include <hip/hip_runtime.h>"));
  const nlohmann::json launch = ReadJson(folder + "/matmul.json");
  EXPECT_EQ(launch["language"], "HIP C++");
  EXPECT_EQ(launch["match"], "predicted");
  EXPECT_THAT(std::string(launch["device"]), HasSubstr("hip 'AMD Instinct MI250'; gfx90a; "));
  EXPECT_THAT(std::string(launch["compile_command"]), HasSubstr(" --offload-arch=gfx90a --genco "));
  // Nobody can tune for it.
  const Ended tuned = Mdh(OnMatMul("tune", 32, {"--device", "hip0"}));
  EXPECT_NE(tuned.code, 0);
}

TEST_F(DevicesTest, AnotherCpuGetsTheRecordOfThisOne) {
  StartDaemon({"--devices", "cpu"}, kNoOpenCl);
  const nlohmann::json tuned = MdhJson(OnMatMul("tune", 64, kFewTrials));
  const std::string folder = directory_.File("k");
  const std::vector<std::string> more = {"--device", "epyc-9654", "--output", folder};
  EXPECT_EQ(Mdh(OnMatMul("kernel", 64, more)).code, 0);
  EXPECT_EQ(ReadJson(folder + "/matmul.json")["made_from"], tuned["record"]["name"]);
  // Of another size, unless rules are expected to be faster: parts are those of few cores here.
  EXPECT_EQ(Mdh(OnMatMul("kernel", 96, more)).code, 0);
  EXPECT_THAT(ReadJson(folder + "/matmul.json")["made_from"].get<std::string>(),
              AnyOf(tuned["record"]["name"].get<std::string>(), "rules"));
  // On this device, too, if that is asked for.
  EXPECT_EQ(Mdh(OnMatMul("kernel", 96, {"--output", folder})).code, 4);
  EXPECT_EQ(Mdh(OnMatMul("kernel", 96, {"--output", folder, "--unmeasured"})).code, 0);
  EXPECT_EQ(Mdh(OnMatMul("kernel", 64, {"--output", folder, "--unmeasured"})).code, 0);
  EXPECT_EQ(ReadJson(folder + "/matmul.json")["match"], "exact");
}

TEST_F(DevicesTest, WrongDevicesAreNamed) {
  const Ended missing = Mdh(OnMatMul("kernel", 8, {"--device", directory_.File("none.json")}));
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("cannot read " + directory_.File("none.json")));
  StartDaemon({"--devices", "cpu"}, kNoOpenCl);
  const Ended unknown = Mdh(OnMatMul("kernel", 8, {"--device", "abacus"}));
  EXPECT_EQ(unknown.code, 4);
  EXPECT_THAT(unknown.err, HasSubstr("no device 'knownDevices/abacus' is known; known are"));
  const Ended digest = Mdh({"kernel", std::string(64, 'a'), "--device", "h100"});
  EXPECT_EQ(digest.code, 2);
  EXPECT_THAT(digest.err, HasSubstr("needs the expression itself"));
}

TEST_F(DevicesTest, TheCpuAndOpenClTuneAtTheSameTime) {
  StartDaemon();
  const nlohmann::json opencl = Device("devices/opencl0");
  if (opencl.is_null()) GTEST_SKIP() << "no OpenCL device";
  ASSERT_EQ(opencl["health"], "DEVICE_HEALTH_HEALTHY") << opencl.dump(2);
  EXPECT_GT(opencl["peaks"]["fp32_flops_per_s"], 1e6);
  // A search on the CPU that has begun, and goes on when one on OpenCL has ended.
  const std::string on_cpu = Detached(64, "600s");
  WaitForFirstResult(on_cpu);
  EXPECT_EQ(Mdh(OnMatMul("tune", 64, {"--trials", "2", "--device", "opencl0"})).code, 0);
  EXPECT_EQ(Job(on_cpu)["state"], "TUNING_JOB_STATE_RUNNING");
  EXPECT_EQ(Mdh({"cancel", on_cpu}).code, 0);
  EXPECT_EQ(Mdh({"watch", on_cpu}).code, 6);
  const std::string folder = directory_.File("k");
  EXPECT_EQ(Mdh(OnMatMul("kernel", 64, {"--device", "opencl0", "--output", folder})).code, 0);
  EXPECT_THAT(ReadFile(folder + "/matmul.cl"), HasSubstr("__kernel"));
  EXPECT_EQ(Mdh(OnMatMul("kernel", 64, {"--output", folder})).code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder + "/matmul.c"));
}

TEST_F(DevicesTest, CudaTunesWhereItIsThere) {
  StartDaemonWith("cpu,cuda:0", "cuda");
  if (IsSkipped()) return;
  EXPECT_EQ(Mdh(OnMatMul("tune", 64, {"--trials", "4", "--device", "cuda0"})).code, 0);
  const std::string folder = directory_.File("k");
  EXPECT_EQ(Mdh(OnMatMul("kernel", 64, {"--device", "cuda0", "--output", folder})).code, 0);
  EXPECT_THAT(ReadFile(folder + "/matmul.cu"), HasSubstr("__global__"));
}

TEST_F(DevicesTest, OneOpenClDeviceTwiceSharesAJob) {
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "a single core";
  StartDaemonWith("opencl:0@0,opencl:0@1", "opencl");
  if (IsSkipped()) return;
  const nlohmann::json first = Device("devices/opencl0@0");
  ASSERT_FALSE(first.is_null());
  ASSERT_EQ(first["fingerprint"], Device("devices/opencl0@1")["fingerprint"]);
  EXPECT_EQ(first["description"]["blocks"]["multiprocessors"], 1);
  const nlohmann::json tuned =
      MdhJson(OnMatMul("tune", 64, {"--trials", "2", "--budget", "300s", "--device", "opencl"}));
  EXPECT_THAT(tuned["record"]["device_names"],
              UnorderedElementsAre("devices/opencl0@0", "devices/opencl0@1"));
  EXPECT_GE(std::stoi(std::string(tuned["record"]["trials"])), 2);
}

}  // namespace
}  // namespace mdh::devices_test
