#include "proto/error_details.h"

#include "gtest/gtest.h"
#include "proto/grpc_status.h"

namespace mdh::error_details_test {
namespace {

Status ThroughTheWire(const Status& error) { return FromGrpcStatus(ToGrpcStatus(error)); }

TEST(ErrorDetailsTest, DetailsSurviveTheTrailer) {
  Status error = absl::ResourceExhaustedError("too many");
  error = WithReason(error, "SOURCE_QUOTA", {{"limit", "3"}});
  error = WithQuota(WithRetry(error, absl::Milliseconds(1500)), "source:farm");
  const Status received = ThroughTheWire(error);
  EXPECT_EQ(received.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(received.message(), "too many");
  const auto info = DetailOf<google::rpc::ErrorInfo>(received);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->reason(), "SOURCE_QUOTA");
  EXPECT_EQ(info->domain(), "mdh");
  EXPECT_EQ(info->metadata().at("limit"), "3");
  EXPECT_EQ(DetailOf<google::rpc::RetryInfo>(received)->retry_delay().nanos(), 500'000'000);
  const auto quota = DetailOf<google::rpc::QuotaFailure>(received);
  ASSERT_EQ(quota->violations_size(), 1);
  EXPECT_EQ(quota->violations(0).subject(), "source:farm");
  EXPECT_EQ(quota->violations(0).description(), "too many");
}

TEST(ErrorDetailsTest, EveryErrorHasAReason) {
  const Status received = ThroughTheWire(absl::NotFoundError("there is none"));
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(received)->reason(), "NOT_FOUND");
}

TEST(ErrorDetailsTest, FieldsAreNamedByTheirPath) {
  const Status inner = InvalidField("budget_ns", "is negative");
  const Status error = InField("options", inner);
  const auto bad = DetailOf<google::rpc::BadRequest>(ThroughTheWire(error));
  ASSERT_TRUE(bad.has_value());
  ASSERT_EQ(bad->field_violations_size(), 1);
  EXPECT_EQ(bad->field_violations(0).field(), "options.budget_ns");
  EXPECT_EQ(bad->field_violations(0).description(), "is negative");
}

TEST(ErrorDetailsTest, OnlyWrongArgumentsAreAboutFields) {
  EXPECT_FALSE(DetailOf<google::rpc::BadRequest>(InField("name", absl::NotFoundError("none"))));
  EXPECT_TRUE(InField("name", absl::OkStatus()).ok());
}

TEST(ErrorDetailsTest, ForeignDetailsAreIgnored) {
  // Of another code, and no google.rpc.Status at all.
  const std::string other = ToRpcStatus(absl::NotFoundError("other")).SerializeAsString();
  const Status contradicted =
      FromGrpcStatus({grpc::StatusCode::UNAVAILABLE, "connection refused", other});
  EXPECT_EQ(contradicted, absl::UnavailableError("connection refused"));
  EXPECT_EQ(FromGrpcStatus({grpc::StatusCode::INTERNAL, "broken", "\xff\xff\xff"}),
            absl::InternalError("broken"));
  EXPECT_TRUE(ThroughTheWire(absl::OkStatus()).ok());
}

}  // namespace
}  // namespace mdh::error_details_test
