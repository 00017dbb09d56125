#include "server/known_peaks.h"

#include <sys/stat.h>

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/error_message.h"
#include "tests/server/fake_devices.h"
#include "tests/server/temporary_directory.h"

namespace mdh::known_peaks_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class KnownPeaksTest : public ::testing::Test {
 protected:
  Result<KnownPeaks> Read(const std::string& text) {
    std::ofstream(path_) << text;
    return ReadKnownPeaks(path_, {});
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("peaks.json");
};

// With what another version says, too.
constexpr char kTwoDevices[] = R"json({"devices": [
  {"name": "devices/cpu", "fingerprint": "cpu A", "colour": "blue",
   "peaks": {"fp32_flops_per_s": 5e11, "launch_overhead_ns": 1000}},
  {"name": "devices/cuda0", "fingerprint": "cuda B"}], "server_version": "1"})json";

TEST_F(KnownPeaksTest, AreThoseOfDevicesThatHaveSome) {
  const auto known = Read(kTwoDevices);
  ASSERT_TRUE(known.ok()) << known.status();
  std::vector<WantedDevice> wanted = *ParseDeviceList("cuda:0,cpu,cpu@0");
  SetPeaks(*known, wanted);
  EXPECT_FALSE(wanted[0].peaks.has_value());
  ASSERT_TRUE(wanted[1].peaks.has_value());
  EXPECT_EQ(wanted[1].peaks->fp32_flops_per_s, 5e11);
  EXPECT_EQ(wanted[1].peaks->launch_overhead_ns, 1000);
  EXPECT_FALSE(wanted[2].peaks.has_value());
}

TEST_F(KnownPeaksTest, WithoutAFileThereAreNone) { EXPECT_TRUE(ReadKnownPeaks("", {})->empty()); }

TEST_F(KnownPeaksTest, WhatIsWrongWithTheFileIsNamed) {
  EXPECT_THAT(ErrorMessage(ReadKnownPeaks(path_, {})), HasSubstr(path_));
  for (const char* text : {"", "peaks", R"({"devices": 3})"}) {
    EXPECT_THAT(ErrorMessage(Read(text)),
                HasSubstr("--known-peaks: " + path_ + " is not what mdh devices --json prints"))
        << text;
  }
  for (const char* text : {"{}", R"({"devices": [{"name": "devices/cpu"}]})"}) {
    EXPECT_THAT(ErrorMessage(Read(text)),
                HasSubstr("--known-peaks: " + path_ + " has no peaks of a device"))
        << text;
  }
}

TEST_F(KnownPeaksTest, WhatOthersMayWriteIsNotRead) {
  std::ofstream(path_) << kTwoDevices;
  chmod(path_.c_str(), 0666);
  EXPECT_EQ(ReadKnownPeaks(path_, {}).status().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(KnownPeaksTest, OfAnotherDeviceAreRefused) {
  KnownPeaks known = *Read(kTwoDevices);
  const TuningDevice cpu({.name = "devices/cpu"}, FakeCpu());
  EXPECT_THAT(ErrorMessage(CheckPeaksAreOf(known, cpu)),
              AllOf(HasSubstr("--known-peaks: devices/cpu is '" + cpu.fingerprint()),
                    HasSubstr("and peaks are known of 'cpu A'")));
  known["devices/cpu"].set_fingerprint(cpu.fingerprint());
  EXPECT_TRUE(CheckPeaksAreOf(known, cpu).ok());
  const TuningDevice other({.name = "devices/cpu@0"}, FakeCpu());
  EXPECT_TRUE(CheckPeaksAreOf(known, other).ok());
}

}  // namespace
}  // namespace mdh::known_peaks_test
