#include "client/commands/call/bundle_argument.h"

#include <fstream>

#include "client/bundle.h"
#include "client/commands/call/command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/bundle_writer.h"
#include "proto/device_conversion.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/temporary_directory.h"

namespace mdh::bundle_argument_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class BundleArgumentTest : public ::testing::Test {
 protected:
  // A bundle with a product for these devices; in its kernel's source the device's number.
  std::string Bundle(const std::vector<std::string>& fingerprints) {
    std::vector<BundleItem> items;
    for (const std::string& fingerprint : fingerprints) {
      v1::TuningRecord record;
      record.set_expression_name("matmul");
      v1::Kernel kernel;
      kernel.set_source(std::to_string(items.size()));
      items.push_back(
          {QueryFor(matmul_, fingerprint), record.SerializeAsString(), kernel.SerializeAsString()});
    }
    const std::string path = directory_.File("bundle.mdhb");
    std::ofstream(path) << WriteBundleFile("", items);
    return path;
  }
  Result<v1::GetKernelResponse> Find(const std::string& path, const DeviceArgument& device = {}) {
    return FindInBundle(path, matmul_, v1::NUMERICS_POLICY_UNSPECIFIED, device);
  }

  TemporaryDirectory directory_;
  const Expression matmul_ = MatMulExpression(4, 5, 6);
};

TEST_F(BundleArgumentTest, TheDeviceIsThisMachinesCpuOrTheOnlyOne) {
  const Result<std::string> host = HostCpuFingerprint();
  if (!host.ok()) GTEST_SKIP() << host.status();
  EXPECT_EQ(Find(Bundle({"other", *host}))->kernel().source(), "1");
  EXPECT_EQ(Find(Bundle({"other"}))->kernel().source(), "0");
  const Status of_two = Find(Bundle({"another", "other"})).status();
  EXPECT_TRUE(absl::IsNotFound(of_two)) << of_two;
  EXPECT_THAT(of_two.message(), HasSubstr("it has 2 kernels, for another; other"));
  // Who names the CPU gets nothing else.
  EXPECT_TRUE(absl::IsNotFound(Find(Bundle({"other"}), *ParseDeviceArgument("cpu")).status()));
}

TEST_F(BundleArgumentTest, ADescriptionIsADevice) {
  const Result<DeviceDescription> cpu = DescribeHostCpu();
  if (!cpu.ok()) GTEST_SKIP() << cpu.status();
  DeviceDescription other = *cpu;
  other.name = "another";
  DeviceArgument device;
  device.text = "another.json";
  *device.selection.mutable_description() = ToProto(other);
  const Result<v1::GetKernelResponse> found =
      Find(Bundle({cpu->Fingerprint(), other.Fingerprint()}), device);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->kernel().source(), "1");
  EXPECT_EQ(found->record().expression_name(), "matmul");
}

TEST_F(BundleArgumentTest, ErrorsSayWhatIsWrong) {
  for (const char* name : {"cuda0", "h100"}) {
    const Status status = Find(Bundle({"other"}), *ParseDeviceArgument(name)).status();
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr(name), HasSubstr("a file that describes one, as mdh devices")));
  }
  EXPECT_THAT(Find(directory_.File("none")).status().message(), HasSubstr("none"));
  std::ofstream(directory_.File("text")) << "no bundle";
  const Status text = Find(directory_.File("text")).status();
  EXPECT_TRUE(absl::IsInvalidArgument(text)) << text;
  EXPECT_THAT(text.message(), HasSubstr("text"));
  const std::string empty = Bundle({});
  EXPECT_THAT(Find(empty).status().message(), HasSubstr("it has 0 kernels"));
}

}  // namespace
}  // namespace mdh::bundle_argument_test
