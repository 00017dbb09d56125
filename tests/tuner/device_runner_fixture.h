// A runner of an OpenCL or CUDA device for tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tuner/device_kernels.h"
#include "tests/tuner/processes.h"
#include "tests/tuner/runner_fixture.h"
#include "tuner/measure/find_devices.h"

namespace mdh {

// Of "opencl" or "cuda"; skipped where there is no such device.
class DeviceRunner : public RunnerTest, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    selector_ = GetParam() + ":0";
    const Result<DeviceSearch> search = FindDevices(Options().program);
    ASSERT_TRUE(search.ok()) << search.status();
    for (const AttachedDevice& device : search->devices) {
      if (device.selector == selector_) return StartRunner();
    }
    for (const std::string& missing : search->missing) {
      if (missing.find(GetParam() == "cuda" ? "CUDA" : "OpenCL") != std::string::npos) {
        GTEST_SKIP() << missing;
      }
    }
    GTEST_SKIP() << "there is no " << selector_;
  }
  void TearDown() override {
    runner_.reset();
    EXPECT_THAT(Descendants(), ::testing::IsEmpty());
    EXPECT_FALSE(std::filesystem::exists(directory_.File("runner")));
  }

  bool is_cuda() const { return GetParam() == "cuda"; }
  Kernel Make(const std::string& statements, int64_t scratch_bytes = 0) const {
    return AddDeviceKernel(is_cuda(), kSize, statements, scratch_bytes);
  }
  Kernel Right() const { return Make(kRightDeviceAdd); }

  // A bad kernel, and then a right one, which stays right.
  Measurement MeasureBad(const Kernel& bad, const MeasureOptions& options = {}) {
    const Result<std::vector<Measurement>> measured = runner_->Measure({bad, Right()}, options);
    EXPECT_TRUE(measured.ok()) << measured.status();
    if (!measured.ok()) return {};
    EXPECT_EQ((*measured)[1].outcome, TrialOutcome::kOk) << (*measured)[1].reason;
    return (*measured)[0];
  }
};

}  // namespace mdh
