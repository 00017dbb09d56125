#include "server/bundle.h"

#include "core/canonical.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/error_details.h"

namespace mdh {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<v1::TuningRecord> SomeRecords(int count) {
  std::vector<v1::TuningRecord> records(static_cast<size_t>(count));
  for (int n = 0; n < count; ++n) {
    records[static_cast<size_t>(n)].set_name("records/" + std::to_string(n));
  }
  return records;
}

void ExpectBad(const std::string& bytes, const std::string& why) {
  const Status error = ReadBundle(bytes).status();
  EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument) << error;
  EXPECT_THAT(std::string(error.message()), HasSubstr(why));
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(error)->reason(), "BAD_BUNDLE");
}

// With a checksum that is right.
std::string Summed(std::string bytes) {
  const std::string hex = Sha256Hex(bytes);
  for (size_t at = 0; at < hex.size(); at += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16)));
  }
  return bytes;
}

TEST(BundleTest, WhatWasWrittenIsRead) {
  v1::BundleHeader header;
  header.set_server_version("test");
  for (const int count : {0, 1, 100}) {
    const Result<Bundle> bundle = ReadBundle(WriteBundle(header, SomeRecords(count)));
    ASSERT_TRUE(bundle.ok()) << bundle.status();
    EXPECT_EQ(bundle->header.version(), kBundleVersion);
    EXPECT_EQ(bundle->header.server_version(), "test");
    EXPECT_THAT(bundle->records, SizeIs(count));
  }
}

TEST(BundleTest, EveryChangedByteIsSeen) {
  const std::string bundle = WriteBundle({}, SomeRecords(2));
  for (size_t at = 0; at < bundle.size(); ++at) {
    std::string changed = bundle;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(ReadBundle(changed).ok()) << at;
  }
}

TEST(BundleTest, EveryCutIsSeen) {
  const std::string bundle = WriteBundle({}, SomeRecords(2));
  for (size_t size = 0; size < bundle.size(); ++size) {
    EXPECT_FALSE(ReadBundle(std::string_view(bundle).substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ReadBundle(bundle + "x").ok());
}

TEST(BundleTest, WrongContentsWithARightChecksumAreRefused) {
  ExpectBad("", "does not begin as one");
  ExpectBad("MDHBNDL1", "cut off");
  ExpectBad(Summed("MDHBNDL1"), "ends within a message");
  ExpectBad(Summed(std::string("MDHBNDL1\xff\xff\xff\xff", 12)), "ends within a message");
  ExpectBad(Summed(std::string("MDHBNDL1\2\0\0\0\xff\xff", 14)), "cannot be read");
  v1::BundleHeader newer;
  newer.set_version(99);
  const std::string body = newer.SerializeAsString();
  ExpectBad(Summed("MDHBNDL1" + std::string(1, static_cast<char>(body.size())) +
                   std::string(3, '\0') + body),
            "is of version 99");
  // A record more than there are, and one that is not announced.
  std::string bundle = WriteBundle({}, SomeRecords(1));
  bundle.resize(bundle.size() - 32);
  const size_t last = bundle.size() - 4 - SomeRecords(1)[0].ByteSizeLong();
  ExpectBad(Summed(bundle.substr(0, last)), "ends within a message");
  ExpectBad(Summed(bundle + bundle.substr(last)), "after its last record");
}

}  // namespace
}  // namespace mdh
