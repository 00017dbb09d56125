// Records in a PostgreSQL database that are compressed, beside those that are not.
#include <atomic>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/compressed_message.h"
#include "server/store/crc32.h"
#include "server/store/postgres/postgres_schema.h"
#include "tests/server/eventually.h"
#include "tests/server/store/postgres_test.h"

namespace mdh::compressed_records_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

StoredResult LongResult(const std::string& id, int64_t time_ns = 100) {
  StoredResult result = SampleResult(id, time_ns);
  for (int n = 0; n < 60; ++n) {
    absl::StrAppend(result.record.mutable_expression_text(), "the same but for ", n, "\n");
  }
  return result;
}

class CompressedRecordsTest : public PostgresTest {
 protected:
  static void Put(Store& store, const std::string& id) {
    const StoredResult result = LongResult(id);
    const Status put = store.PutResult(result.record, result.kernel).status();
    EXPECT_TRUE(put.ok()) << put;
  }
  bool IsCompressed(const std::string& id) {
    return Number(absl::StrCat("SELECT count(*) FROM mdhd.records WHERE get_byte(record, 0) = 0"
                               " AND id = '",
                               id, "'")) == 1;
  }
  // Of a database that was made by the version before, beside whose daemons this one works.
  void MakeOlder() {
    RunSql("UPDATE mdhd.store SET readable_from = 1, schema_version = 5");
    Open();
  }
  // As if somebody had written that, with its checksum.
  void Write(const std::string& id, const std::string& stored) {
    RunSql(absl::StrCat("UPDATE mdhd.records SET record = '\\x", absl::BytesToHexString(stored),
                        "', crc32 = ", Crc32Of(stored), " WHERE id = '", id, "'"));
  }
};

TEST_F(CompressedRecordsTest, ADatabaseOfThisVersionHasThemAndOlderDaemonsAreRefused) {
  Put(*Open(), "a");
  EXPECT_TRUE(IsCompressed("a"));
  EXPECT_EQ(Number("SELECT readable_from FROM mdhd.store"), kPostgresCompressedFrom);
  // Less is sent and stored.
  const int64_t whole = static_cast<int64_t>(LongResult("a").record.ByteSizeLong());
  EXPECT_LT(Number("SELECT length(record) FROM mdhd.records"), whole / 2);
}

TEST_F(CompressedRecordsTest, OlderDaemonsCanReadWhatIsWrittenWhileTheyMayBeThere) {
  Open();
  MakeOlder();
  EXPECT_EQ(Number("SELECT readable_from FROM mdhd.store"), 1);
  EXPECT_EQ(Number("SELECT schema_version FROM mdhd.store"), PostgresSchemaVersion());
  const std::unique_ptr<Store> store = Open();
  Put(*store, "before");
  EXPECT_FALSE(IsCompressed("before"));
  // The operator says that there is none; the daemons go on.
  RunSql(absl::StrCat("UPDATE mdhd.store SET readable_from = ", kPostgresCompressedFrom));
  Put(*store, "after");
  EXPECT_FALSE(IsCompressed("before"));
  EXPECT_TRUE(IsCompressed("after"));
  // Whatever changes a record.
  v1::Certificate certificate;
  certificate.set_problem_bound_ns(5);
  ASSERT_TRUE(store->SetCertificate("before", certificate).ok());
  EXPECT_TRUE(IsCompressed("before"));
}

TEST_F(CompressedRecordsTest, BothAreReadInEveryWay) {
  Open();
  MakeOlder();
  Put(*Open(), "plain");
  RunSql(absl::StrCat("UPDATE mdhd.store SET readable_from = ", kPostgresCompressedFrom));
  std::atomic<size_t> put_bytes = 0, removed_bytes = 0;
  const std::unique_ptr<Store> other = Open();
  other->SetListener([&](v1::KernelChangeKind kind, const v1::TuningRecord& record) {
    (kind == v1::KERNEL_CHANGE_KIND_REMOVED ? removed_bytes : put_bytes) =
        record.expression_text().size();
  });
  const std::unique_ptr<Store> store = Open();
  Put(*store, "packed");
  ASSERT_TRUE(IsCompressed("packed"));
  ASSERT_FALSE(IsCompressed("plain"));
  const std::string text = LongResult("").record.expression_text();
  EXPECT_TRUE(Eventually([&] { return put_bytes == text.size(); }));
  ASSERT_TRUE(store->SetPinning("packed", Pinning::kPinned).ok());
  for (const char* id : {"plain", "packed"}) {
    const Result<v1::TuningRecord> record = store->GetRecord(id);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(record->expression_text(), text);
  }
  std::vector<std::string> read;
  const Result<std::vector<v1::TuningRecord>> all = store->AllRecords();
  for (const v1::TuningRecord& record : *all) {
    EXPECT_EQ(record.expression_text(), text);
    read.push_back(absl::StrCat(record.name(), record.is_pinned() ? " pinned" : ""));
  }
  EXPECT_THAT(read, UnorderedElementsAre("records/plain", "records/packed pinned"));
  EXPECT_THAT(store->ListRecords(0, 10)->records, SizeIs(2));
  EXPECT_THAT(*store->CheckIntegrity(), IsEmpty());
  // What is removed is told as it was.
  ASSERT_TRUE(store->SetPinning("packed", Pinning::kNotPinned).ok());
  ASSERT_TRUE(store->RemoveResult("packed").ok());
  EXPECT_TRUE(Eventually([&] { return removed_bytes == text.size(); }));
}

TEST_F(CompressedRecordsTest, WhatCannotBeDecompressedIsRefusedByNameAndSetAside) {
  std::unique_ptr<Store> store = Open();
  for (const char* id : {"whole", "cut", "format", "size", "other"}) Put(*store, id);
  const std::string good = Compressed(LongResult("cut").record.SerializeAsString());
  Write("cut", good.substr(0, good.size() - 3));
  std::string format = Compressed(LongResult("format").record.SerializeAsString());
  format[1] = 9;
  Write("format", format);
  std::string size = Compressed(LongResult("size").record.SerializeAsString());
  size[2] = '\x70';
  Write("size", size);
  Write("other", good);  // the record of another row
  for (const char* id : {"cut", "format", "size"}) {
    const Status status = store->GetRecord(id).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << id;
    EXPECT_THAT(std::string(status.message()), HasSubstr("a stored record is damaged"));
  }
  EXPECT_THAT(*store->CheckIntegrity(),
              UnorderedElementsAre("record cut cannot be read", "record format cannot be read",
                                   "record size cannot be read",
                                   "record other is stored as 'records/cut'"));
  // As after a restart.
  const Result<std::vector<v1::TuningRecord>> records = store->AllRecords();
  ASSERT_THAT(*records, SizeIs(1));
  EXPECT_EQ(records->front().name(), "records/whole");
  EXPECT_EQ(Number("SELECT count(*) FROM mdhd.quarantine"), 4);
  EXPECT_THAT(*store->CheckIntegrity(), IsEmpty());
}

TEST_F(CompressedRecordsTest, BytesThatHaveChangedAreNoticedBeforeTheyAreDecompressed) {
  std::unique_ptr<Store> store = Open();
  Put(*store, "a");
  RunSql("UPDATE mdhd.records SET record = set_byte(record, length(record) - 1, 7)");
  EXPECT_EQ(store->GetRecord("a").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(*store->CheckIntegrity(), Contains("a is a record whose bytes have changed"));
  // A change that leads to it is told without it.
  std::atomic<int> heard = 0;
  const std::unique_ptr<Store> other = Open();
  other->SetListener([&](v1::KernelChangeKind, const v1::TuningRecord&) { ++heard; });
  Put(*store, "b");
  EXPECT_TRUE(Eventually([&] { return heard == 1; }));
  EXPECT_THAT(*store->AllRecords(), SizeIs(1));
}

}  // namespace
}  // namespace mdh::compressed_records_test
