#include "server/records/lookup_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/error_details.h"
#include "server/records/similar_records.h"
#include "tests/server/matmul_expression.h"

namespace mdh::lookup_table_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const KeyEnvironment& Here() {
  static const KeyEnvironment* here = new KeyEnvironment{"cpu A", "gcc 12"};
  return *here;
}

v1::TuningRecord RecordOf(const v1::KernelKey& key, int64_t time_ns) {
  v1::TuningRecord record;
  *record.mutable_key() = key;
  record.set_time_ns(time_ns);
  return record;
}

v1::LookupKernelResponse Parse(const Result<SerializedReply>& reply) {
  v1::LookupKernelResponse response;
  EXPECT_TRUE(reply.ok()) << reply.status();
  if (!reply.ok()) return response;
  const grpc::Slice bytes = reply->response();
  response.ParseFromArray(bytes.begin(), static_cast<int>(bytes.size()));
  return response;
}

// What a client asks that knows the expression only.
v1::KernelKey Asked(const v1::KernelKey& key) {
  v1::KernelKey asked;
  asked.set_expression_digest(key.expression_digest());
  asked.set_canonical_form(key.canonical_form());
  return asked;
}

class LookupTableTest : public ::testing::Test {
 protected:
  const v1::KernelKey key_ = MakeKernelKey(MatMulExpression(4, 5, 6), Here());
  LookupTable table_{Here()};
};

TEST_F(LookupTableTest, FindsTheRecordOfThisDevice) {
  table_.Put(RecordOf(key_, 100));
  const v1::LookupKernelResponse found =
      Parse(table_.Find(Asked(key_), v1::MATCH_KIND_UNSPECIFIED));
  EXPECT_EQ(found.match(), v1::MATCH_KIND_EXACT);
  EXPECT_EQ(found.record().time_ns(), 100);
}

TEST_F(LookupTableTest, OnlyRecordsOfDevicesThatAreServedAreKept) {
  LookupTable table({KeyEnvironment{"cpu B", "gcc 12"}});
  table.ServeOnly({"cpu A", "cpu C"});
  v1::KernelKey other = key_;
  other.set_device_fingerprint("cpu B");
  table.Put(RecordOf(key_, 100));
  table.Put(RecordOf(other, 50));
  table.Apply(v1::KERNEL_CHANGE_KIND_REMOVED, RecordOf(other, 50));
  EXPECT_EQ(Parse(table.Find(key_, v1::MATCH_KIND_EXACT)).record().time_ns(), 100);
  EXPECT_FALSE(table.FindRecord(other).ok());
  // Whether it is named, or the default.
  for (const v1::KernelKey& key : {other, Asked(other)}) {
    const Status status = table.Find(key, v1::MATCH_KIND_EXACT).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(status.message(),
              "this daemon does not serve device cpu B, only (--serve-devices) cpu A, cpu C: ask "
              "another one");
    EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(status)->reason(), "DEVICE_NOT_SERVED");
  }
}

TEST_F(LookupTableTest, WithoutADefaultRequestsMustNameADevice) {
  LookupTable table({KeyEnvironment(), Here()});
  table.Put(RecordOf(key_, 100));
  EXPECT_EQ(table.Find(Asked(key_), v1::MATCH_KIND_EXACT).status().code(),
            absl::StatusCode::kUnavailable);
  const int64_t version = table.version();
  table.SetNoDefault(absl::InvalidArgumentError("name one"));
  EXPECT_GT(table.version(), version);
  EXPECT_EQ(table.Find(Asked(key_), v1::MATCH_KIND_EXACT).status(),
            absl::InvalidArgumentError("name one"));
  // The compiler of a device that is named is known.
  v1::KernelKey named = Asked(key_);
  named.set_device_fingerprint("cpu A");
  EXPECT_EQ(Parse(table.Find(named, v1::MATCH_KIND_EXACT)).match(), v1::MATCH_KIND_EXACT);
}

TEST_F(LookupTableTest, TheSameEnvironmentsAreNoChange) {
  const int64_t version = table_.version();
  table_.SetEnvironments({Here()});
  EXPECT_EQ(table_.version(), version);
  table_.SetEnvironments({Here(), KeyEnvironment{"cpu B", ""}});
  EXPECT_GT(table_.version(), version);
}

TEST_F(LookupTableTest, ANewRecordReplacesTheOldOne) {
  table_.Put(RecordOf(key_, 100));
  table_.Put(RecordOf(key_, 90));
  EXPECT_EQ(Parse(table_.Find(key_, v1::MATCH_KIND_EXACT)).record().time_ns(), 90);
  EXPECT_EQ(table_.FindRecord(key_)->time_ns(), 90);
}

TEST_F(LookupTableTest, NamesDoNotMatterButSizesDo) {
  table_.Put(RecordOf(key_, 100));
  const Expression renamed = MatMulExpression(4, 5, 6, ScalarType::kFloat32, "other");
  EXPECT_TRUE(table_.Find(MakeKernelKey(renamed, Here()), v1::MATCH_KIND_EXACT).ok());
  const Expression larger = MatMulExpression(4, 5, 7);
  EXPECT_EQ(table_.Find(MakeKernelKey(larger, Here()), v1::MATCH_KIND_EXACT).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(LookupTableTest, SchedulesAreNoMatchForEachOther) {
  v1::KernelKey pinned = key_;
  pinned.set_schedule("L2: tile d3=2");
  table_.Put(RecordOf(pinned, 100));
  const Status missed = table_.Find(key_, v1::MATCH_KIND_COMPATIBLE).status();
  EXPECT_EQ(DetailOf<v1::LookupMiss>(missed)->reason(), v1::MISS_REASON_OTHER_SCHEDULE);
  EXPECT_TRUE(table_.Find(pinned, v1::MATCH_KIND_EXACT).ok());
  EXPECT_THAT(table_.FindSimilar(key_, 5), IsEmpty());
  EXPECT_EQ(table_.FindSimilar(pinned, 5).size(), 1u);
  table_.Put(RecordOf(key_, 200));
  EXPECT_EQ(Parse(table_.Find(key_, v1::MATCH_KIND_EXACT)).record().time_ns(), 200);
  EXPECT_EQ(table_.FindSimilar(pinned, 5).size(), 2u);
  EXPECT_NE(KernelId(pinned), KernelId(key_));
  const std::string bytes = pinned.SerializeAsString();
  EXPECT_EQ(KernelKeyView::Parse(bytes), KernelKeyView::Of(pinned));
  EXPECT_EQ(KernelKeyView::Of(pinned).ToProto().SerializeAsString(), bytes);
}

TEST_F(LookupTableTest, ADigestThatCollidesIsNoMatch) {
  table_.Put(RecordOf(key_, 100));
  v1::KernelKey forged = Asked(key_);
  forged.set_canonical_form("another meaning");
  EXPECT_EQ(table_.Find(forged, v1::MATCH_KIND_COMPATIBLE).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(LookupTableTest, AnotherDeviceIsNeverHandedOut) {
  v1::KernelKey elsewhere = key_;
  elsewhere.set_device_fingerprint("cpu B");
  table_.Put(RecordOf(elsewhere, 100));
  const Status status = table_.Find(Asked(key_), v1::MATCH_KIND_COMPATIBLE).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1 for other devices"));
  EXPECT_TRUE(table_.Find(elsewhere, v1::MATCH_KIND_EXACT).ok());
}

TEST_F(LookupTableTest, AnotherCompilerIsHandedOutOnRequestOnly) {
  v1::KernelKey older = key_;
  older.set_compiler("gcc 11");
  table_.Put(RecordOf(older, 100));
  const Status status = table_.Find(Asked(key_), v1::MATCH_KIND_EXACT).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("1 for this device with another compiler, generator"));
  const v1::LookupKernelResponse found = Parse(table_.Find(Asked(key_), v1::MATCH_KIND_COMPATIBLE));
  EXPECT_EQ(found.match(), v1::MATCH_KIND_COMPATIBLE);
  EXPECT_EQ(found.record().key().compiler(), "gcc 11");
}

TEST_F(LookupTableTest, WithoutACompilerEveryCompilerFits) {
  LookupTable without_compiler(KeyEnvironment{"cpu A", ""});
  without_compiler.Put(RecordOf(key_, 100));
  EXPECT_EQ(Parse(without_compiler.Find(Asked(key_), v1::MATCH_KIND_EXACT)).match(),
            v1::MATCH_KIND_EXACT);
}

TEST_F(LookupTableTest, OfSeveralMatchesTheFastestIsGiven) {
  v1::KernelKey older = key_;
  for (const int64_t time_ns : {300, 100, 200}) {
    older.set_compiler("gcc " + std::to_string(time_ns));
    table_.Put(RecordOf(older, time_ns));
  }
  EXPECT_EQ(Parse(table_.Find(Asked(key_), v1::MATCH_KIND_COMPATIBLE)).record().time_ns(), 100);
}

TEST_F(LookupTableTest, AKeyWithoutDigestIsInvalid) {
  EXPECT_EQ(table_.Find(v1::KernelKey(), v1::MATCH_KIND_EXACT).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(LookupTableTest, EveryFieldOfTheKeyIsInItsId) {
  const std::string id = KernelId(key_);
  EXPECT_EQ(id.size(), 32u);
  v1::KernelKey other = key_;
  other.set_compiler("gcc 13");
  EXPECT_NE(KernelId(other), id);
  other = key_;
  other.set_device_fingerprint("cpu B");
  EXPECT_NE(KernelId(other), id);
  other = key_;
  other.set_generator_version(key_.generator_version() + 1);
  EXPECT_NE(KernelId(other), id);
  other = key_;
  other.set_canonical_form("another meaning");
  EXPECT_NE(KernelId(other), id);
}

TEST_F(LookupTableTest, SimilarRecordsAreOfTheSameComputationNearestFirst) {
  const KeyEnvironment elsewhere = {"cpu B", "gcc 12"};
  const auto put = [&](const char* name, const v1::KernelKey& key) {
    v1::TuningRecord record = RecordOf(key, 100);
    record.set_name(name);
    table_.Put(record);
  };
  put("other_device", MakeKernelKey(MatMulExpression(4, 5, 6), elsewhere));
  put("twice_as_large", MakeKernelKey(MatMulExpression(8, 10, 12), Here()));
  put("same", key_);
  put("larger_in_one", MakeKernelKey(MatMulExpression(4, 5, 12), Here()));
  const auto names = [&](size_t limit) {
    std::vector<std::string> found;
    for (const v1::TuningRecord& record : table_.FindSimilar(key_, limit)) {
      found.push_back(record.name());
    }
    return found;
  };
  EXPECT_THAT(names(9), ElementsAre("same", "larger_in_one", "twice_as_large", "other_device"));
  EXPECT_THAT(names(2), ElementsAre("same", "larger_in_one"));
  v1::KernelKey other = key_;
  other.set_canonical_form("nothing of the kind");
  EXPECT_THAT(table_.FindSimilar(other, 9), IsEmpty());
}

TEST(ExpressionShape, HasNoSizesButAllElse) {
  const auto shape = ExpressionShape::Of(
      "mdh-canonical 1\ndimension 16\ncombine cc\ninput fp32[16]strides[2]constant[00]((1+0))\n"
      "output fp32[16]((1+0))\nfunction f\n");
  ASSERT_TRUE(shape.has_value());
  EXPECT_THAT(shape->sizes, ElementsAre(16));
  EXPECT_EQ(shape->structure,
            "mdh-canonical 1\ncombine cc\ninput fp32[]strides[]constant[00]((1+0))\n"
            "output fp32[]((1+0))\nfunction f\n\n");
  EXPECT_FALSE(ExpressionShape::Of("dimension many\n").has_value());
}

}  // namespace
}  // namespace mdh::lookup_table_test
