#include "server/store/bundle.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/bundle_writer.h"
#include "proto/error_details.h"
#include "tests/server/old_bundle.h"
#include "tests/source_path.h"

namespace mdh::bundle_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<v1::TuningRecord> SomeRecords(int count) {
  std::vector<v1::TuningRecord> records(static_cast<size_t>(count));
  for (int n = 0; n < count; ++n) {
    v1::TuningRecord& record = records[static_cast<size_t>(n)];
    record.set_name("records/" + std::to_string(n));
    record.mutable_key()->set_canonical_form("form " + std::to_string(n));
  }
  return records;
}

std::string SomeBundle(const v1::BundleHeader& header, int count) {
  std::vector<StoredResult> results;
  for (const v1::TuningRecord& record : SomeRecords(count)) results.push_back({record, {}});
  return WriteBundle(header, results);
}

void ExpectBad(const std::string& bytes, const std::string& why) {
  const Status error = ReadBundle(bytes).status();
  EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument) << error;
  EXPECT_THAT(std::string(error.message()), HasSubstr(why));
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(error)->reason(), "BAD_BUNDLE");
}

TEST(BundleTest, WhatWasWrittenIsRead) {
  v1::BundleHeader header;
  header.set_server_version("test");
  for (const int count : {0, 1, 100}) {
    const Result<Bundle> bundle = ReadBundle(SomeBundle(header, count));
    ASSERT_TRUE(bundle.ok()) << bundle.status();
    EXPECT_EQ(bundle->header.version(), kBundleVersion);
    EXPECT_EQ(bundle->header.server_version(), "test");
    EXPECT_THAT(bundle->records, SizeIs(count));
  }
}

TEST(BundleTest, TheVersionBeforeIsRead) {
  v1::BundleHeader header;
  header.set_server_version("old");
  const Result<Bundle> bundle = ReadBundle(WriteOldBundle(header, SomeRecords(3)));
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(bundle->header.server_version(), "old");
  ASSERT_THAT(bundle->records, SizeIs(3));
  EXPECT_EQ(bundle->records[2].name(), "records/2");
}

// They come with the product; a daemon takes them over by `mdh admin import`.
TEST(BundleTest, TheShippedRecordsAreComplete) {
  int bundles = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath("deploy/records"))) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    const Result<Bundle> bundle = ReadBundle(bytes.str());
    ASSERT_TRUE(bundle.ok()) << entry.path() << ": " << bundle.status();
    EXPECT_FALSE(bundle->records.empty()) << entry.path();
    for (const v1::TuningRecord& record : bundle->records) {
      EXPECT_FALSE(record.expression_text().empty()) << record.name();
      EXPECT_GT(record.time_ns(), 0) << record.name();
    }
    ++bundles;
  }
  EXPECT_GT(bundles, 0);
}

TEST(BundleTest, EveryChangedByteIsSeen) {
  for (const std::string& bundle : {SomeBundle({}, 2), WriteOldBundle({}, SomeRecords(2))}) {
    for (size_t at = 0; at < bundle.size(); ++at) {
      std::string changed = bundle;
      changed[at] = static_cast<char>(changed[at] ^ 1);
      EXPECT_FALSE(ReadBundle(changed).ok()) << at;
    }
  }
}

TEST(BundleTest, EveryCutIsSeen) {
  for (const std::string& bundle : {SomeBundle({}, 2), WriteOldBundle({}, SomeRecords(2))}) {
    for (size_t size = 0; size < bundle.size(); ++size) {
      EXPECT_FALSE(ReadBundle(std::string_view(bundle).substr(0, size)).ok()) << size;
    }
    EXPECT_FALSE(ReadBundle(bundle + "x").ok());
  }
}

TEST(BundleTest, MessagesThatCannotBeReadAreRefused) {
  ExpectBad("", "does not begin as one");
  ExpectBad(WriteBundleFile("\xff", {}), "has a header that cannot be read");
  ExpectBad(WriteBundleFile("", {{BundleQuery("form", "device"), "\xff", ""}}),
            "has a record that cannot be read: 0");
}

TEST(BundleTest, WrongContentsOfTheVersionBeforeAreRefused) {
  ExpectBad("MDHBNDL1", "cut off");
  ExpectBad(Summed("MDHBNDL1"), "ends within a message");
  ExpectBad(Summed(std::string("MDHBNDL1\xff\xff\xff\xff", 12)), "ends within a message");
  ExpectBad(Summed(std::string("MDHBNDL1\2\0\0\0\xff\xff", 14)), "cannot be read");
  v1::BundleHeader newer;
  newer.set_version(99);
  std::string bytes = "MDHBNDL1";
  AppendMessage(newer, bytes);
  ExpectBad(Summed(bytes), "is of version 99");
  // A record more than there are, and one that is not announced.
  std::string bundle = WriteOldBundle({}, SomeRecords(1));
  bundle.resize(bundle.size() - 32);
  const size_t last = bundle.size() - 4 - SomeRecords(1)[0].ByteSizeLong();
  ExpectBad(Summed(bundle.substr(0, last)), "ends within a message");
  ExpectBad(Summed(bundle + bundle.substr(last)), "after its last record");
}

}  // namespace
}  // namespace mdh::bundle_test
