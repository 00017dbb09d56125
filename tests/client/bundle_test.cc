#include "client/bundle.h"

#include "client/client.h"
#include "core/device/device_description.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/bundle_writer.h"
#include "tests/server/matmul_expression.h"

namespace mdh::bundle_test {
namespace {

TEST(ClientBundleTest, AQueryIsTheKeyOfTheExpression) {
  const Expression matmul = MatMulExpression(4, 5, 6);
  const v1::KernelKey key = Client::KeyOf(matmul);
  const BundleQuery query = QueryFor(matmul, "device");
  EXPECT_EQ(query.identity(), BundleQuery(key.canonical_form(), "device").identity());
  EXPECT_NE(query.hash(), QueryFor(MatMulExpression(4, 5, 7), "device").hash());
  EXPECT_NE(query.identity(),
            QueryFor(matmul, "device", v1::NUMERICS_POLICY_EXACT_ORDER).identity());
  EXPECT_EQ(query.identity(),
            QueryFor(matmul, "device", v1::NUMERICS_POLICY_REASSOCIATE).identity());
}

TEST(ClientBundleTest, TheMachineHasTheFingerprintOfItsDaemon) {
  const Result<DeviceDescription> cpu = DescribeHostCpu();
  if (!cpu.ok()) GTEST_SKIP() << cpu.status();
  EXPECT_EQ(*HostCpuFingerprint(), cpu->Fingerprint());
}

TEST(ClientBundleTest, EntriesAreMessages) {
  v1::TuningRecord record;
  record.set_time_ns(5);
  v1::Kernel kernel;
  kernel.set_entry("mdh_f");
  const std::string bytes = WriteBundleFile(
      "", {{BundleQuery("whole", "d"), record.SerializeAsString(), kernel.SerializeAsString()},
           {BundleQuery("record alone", "d"), record.SerializeAsString(), ""},
           {BundleQuery("nonsense", "d"), "\xff", "\xff"}});
  const std::unique_ptr<BundleFile> bundle = *BundleFile::FromBytes(bytes);
  const BundleEntry whole = *bundle->Find(BundleQuery("whole", "d"));
  EXPECT_EQ(RecordOf(whole)->time_ns(), 5);
  EXPECT_EQ(KernelOf(whole)->entry(), "mdh_f");
  const BundleEntry alone = *bundle->Find(BundleQuery("record alone", "d"));
  EXPECT_TRUE(RecordOf(alone).ok());
  EXPECT_TRUE(absl::IsNotFound(KernelOf(alone).status()));
  const BundleEntry nonsense = *bundle->Find(BundleQuery("nonsense", "d"));
  EXPECT_TRUE(absl::IsInvalidArgument(RecordOf(nonsense).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(KernelOf(nonsense).status()));
}

}  // namespace
}  // namespace mdh::bundle_test
