#include "server/jobs/bound_audit.h"

#include <memory>
#include <string>

#include "core/text/printer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/device_conversion.h"
#include "server/records/certificate.h"
#include "server/records/kernel_key.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/fake_devices.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/temporary_directory.h"
#include "tuner/measure/results/runner_messages.h"

namespace mdh::bound_audit_test {
namespace {

using ::testing::HasSubstr;

class BoundAuditTest : public ::testing::Test {
 protected:
  v1::MachinePeaks Peaks() { return *catalogue_.Peaks(*catalogue_.devices().front()); }
  v1::MachinePeaks Check(int64_t time_ns, TrialOutcome outcome = TrialOutcome::kOk) {
    Measurement measurement;
    measurement.outcome = outcome;
    measurement.times_ns = {time_ns};
    return audit_.Check(measurement, Peaks());
  }
  double Least() {
    const DeviceRates rates = RatesOf(audit_.device(), FromMessage(Peaks()));
    return ProblemBoundOf(expression_, audit_.device(), rates, {.calls = 1}).time_ns();
  }
  // A record of the computation, with a certificate.
  std::string Put(int64_t time_ns) {
    v1::TuningRecord record;
    *record.mutable_key() = KeyOfComputation(expression_, v1::NUMERICS_POLICY_REASSOCIATE);
    record.mutable_key()->set_device_fingerprint(catalogue_.devices().front()->fingerprint());
    const std::string id = KernelId(record.key());
    record.set_name(RecordName(id));
    record.set_time_ns(time_ns);
    record.set_expression_text(ToText(expression_));
    *record.mutable_device() = ToProto(audit_.device());
    *record.mutable_certificate() = *CertificateOfRecord(record, FromMessage(Peaks()));
    EXPECT_TRUE(store_->PutResult(record, {}).ok());
    return id;
  }

  TemporaryDirectory directory_;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
  FakeDevices devices_;
  FakeDevice& cpu_ = devices_.Add("devices/cpu", FakeCpu());
  DeviceCatalogue catalogue_{devices_.Take(), {}, {}, *store_};
  JobMetrics metrics_;
  const Expression expression_ = MatMulExpression(512, 512, 512);
  BoundAudit audit_{expression_,
                    *catalogue_.devices().front(),
                    NumericsPolicy::kReassociate,
                    v1::CACHE_STATE_WARM,
                    {catalogue_, *store_, &metrics_}};
};

TEST_F(BoundAuditTest, WhatIsSlowerThanTheBoundConfirmsIt) {
  const std::string before = Peaks().SerializeAsString();
  EXPECT_EQ(Check(static_cast<int64_t>(Least()) + 1).SerializeAsString(), before);
  EXPECT_EQ(Check(1, TrialOutcome::kWrongResult).SerializeAsString(), before);
  EXPECT_EQ(Check(1, TrialOutcome::kImplausible).SerializeAsString(), before);
  EXPECT_EQ(metrics_.Read().bound_violations, 0);
}

TEST_F(BoundAuditTest, WhatIsFasterRaisesTheRateForEver) {
  const auto time_ns = static_cast<int64_t>(Least() / 2);
  const v1::MachinePeaks raised = Check(time_ns);
  EXPECT_EQ(metrics_.Read().bound_violations, 1);
  EXPECT_EQ(Peaks().SerializeAsString(), raised.SerializeAsString());
  EXPECT_EQ((*store_->GetPeaks(catalogue_.devices().front()->fingerprint()))->clock_hz(),
            raised.clock_hz());
  EXPECT_LE(Least(), static_cast<double>(time_ns));
  EXPECT_GT(Least(), 0.95 * static_cast<double>(time_ns));
  // Nothing is wrong any more.
  Check(time_ns);
  EXPECT_EQ(metrics_.Read().bound_violations, 1);
}

TEST_F(BoundAuditTest, ClaimsThatWereMadeWithTheRateAreMadeAnew) {
  const std::string id = Put(static_cast<int64_t>(3 * Least()));
  const v1::Certificate claimed = store_->GetRecord(id)->certificate();
  EXPECT_THAT(claimed.binding_floor(), HasSubstr("fp32 units: "));
  EXPECT_EQ(claimed.bound_version(), kBoundVersion);
  EXPECT_EQ(claimed.assumptions_size(), 1);
  Check(static_cast<int64_t>(Least() / 2));
  const v1::Certificate now = store_->GetRecord(id)->certificate();
  EXPECT_LT(now.problem_bound_ns(), claimed.problem_bound_ns() / 1.9);
  EXPECT_NE(now.rates_digest(), claimed.rates_digest());
}

TEST_F(BoundAuditTest, AClaimThatCannotBeMadeAgainIsWithdrawn) {
  const std::string id = Put(static_cast<int64_t>(3 * Least()));
  v1::TuningRecord record = *store_->GetRecord(id);
  record.set_expression_text("nonsense");
  record.set_time_ns(1);  // so that it replaces the other one
  ASSERT_TRUE(store_->PutResult(record, {}).ok());
  Check(static_cast<int64_t>(Least() / 2));
  EXPECT_EQ(store_->GetRecord(id)->certificate().problem_bound_ns(), 0);
}

}  // namespace
}  // namespace mdh::bound_audit_test
