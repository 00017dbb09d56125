#include "server/lookup/lookup_request.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/records/serialized_record.h"
#include "server/records/wire_reader.h"
#include "tests/server/matmul_expression.h"

namespace mdh::lookup_request_test {
namespace {

using ::testing::ElementsAre;

v1::LookupKernelRequest WholeRequest() {
  v1::LookupKernelRequest request;
  *request.mutable_key() = MakeKernelKey(MatMulExpression(4, 5, 6), {"cpu A", "gcc 12"});
  request.set_weakest_match(v1::MATCH_KIND_COMPATIBLE);
  return request;
}

TEST(LookupRequest, IsReadAsTheLibraryReadsIt) {
  const v1::LookupKernelRequest request = WholeRequest();
  const std::string bytes = request.SerializeAsString();
  const std::optional<KeyLookup> lookup = KeyLookup::Parse(bytes);
  ASSERT_TRUE(lookup.has_value());
  EXPECT_EQ(lookup->key, KernelKeyView::Of(request.key()));
  EXPECT_EQ(lookup->key.ToProto().SerializeAsString(), request.key().SerializeAsString());
  EXPECT_EQ(lookup->weakest, v1::MATCH_KIND_COMPATIBLE);
}

TEST(LookupRequest, WhatItMustHaveSeenIsReadInPlace) {
  v1::LookupKernelRequest request = WholeRequest();
  const std::string plain = request.SerializeAsString();
  EXPECT_EQ(MinCursorOf(plain), "");
  EXPECT_EQ(WithoutMinCursor(plain), plain);
  request.set_min_cursor("abc.12");
  const std::string bytes = request.SerializeAsString();
  EXPECT_EQ(KeyLookup::Parse(bytes)->min_cursor, "abc.12");
  EXPECT_EQ(MinCursorOf(bytes), "abc.12");
  EXPECT_EQ(WithoutMinCursor(bytes), plain);
  // A long one has a longer header.
  request.set_min_cursor(std::string(200, 'x'));
  EXPECT_EQ(WithoutMinCursor(request.SerializeAsString()), plain);
  // Where it is not at the end, or there twice, all bytes stay.
  v1::LookupKernelRequest only;
  only.set_min_cursor("abc.12");
  const std::string cursor = only.SerializeAsString();
  EXPECT_EQ(WithoutMinCursor(cursor), "");
  EXPECT_EQ(MinCursorOf(cursor + plain), "abc.12");
  EXPECT_EQ(WithoutMinCursor(cursor + plain), cursor + plain);
  EXPECT_EQ(MinCursorOf("nonsense"), "");
  EXPECT_EQ(WithoutMinCursor("nonsense"), "nonsense");
}

TEST(LookupRequest, WhatMustBeLookedAtIsNotReadHere) {
  v1::LookupKernelRequest with_device = WholeRequest();
  with_device.mutable_device()->set_name("devices/cpu");
  EXPECT_FALSE(KeyLookup::Parse(with_device.SerializeAsString()));
  v1::LookupKernelRequest with_expression;
  with_expression.mutable_expression()->mutable_text()->set_text("x");
  EXPECT_FALSE(KeyLookup::Parse(with_expression.SerializeAsString()));
  v1::LookupKernelRequest without_digest = WholeRequest();
  without_digest.mutable_key()->clear_expression_digest();
  EXPECT_FALSE(KeyLookup::Parse(without_digest.SerializeAsString()));
  // Two keys would be merged.
  const std::string twice = WholeRequest().SerializeAsString() + WholeRequest().SerializeAsString();
  EXPECT_FALSE(KeyLookup::Parse(twice));
  EXPECT_FALSE(KeyLookup::Parse("nonsense"));
}

TEST(LookupRequest, BytesThatAreCutOffAreNone) {
  const std::string bytes = WholeRequest().SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string part = bytes.substr(0, size);
    const std::optional<KeyLookup> lookup = KeyLookup::Parse(part);
    v1::LookupKernelRequest judge;
    EXPECT_EQ(lookup.has_value(),
              judge.ParseFromString(part) && !judge.key().expression_digest().empty())
        << size;
  }
}

TEST(LookupRequest, EveryChangedByteIsReadAsTheLibraryReadsIt) {
  const std::string bytes = WholeRequest().SerializeAsString();
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const char other : {'\0', '\x7f', '\x80', '\xff', static_cast<char>(bytes[at] + 1)}) {
      std::string changed = bytes;
      changed[at] = other;
      const std::optional<KeyLookup> lookup = KeyLookup::Parse(changed);
      v1::LookupKernelRequest judge;
      if (!lookup || !judge.ParseFromString(changed)) continue;
      EXPECT_EQ(lookup->key, KernelKeyView::Of(judge.key())) << at;
      EXPECT_EQ(lookup->weakest, judge.weakest_match()) << at;
    }
  }
}

TEST(LookupRequest, ABatchHasItsRequestsAndIgnoresWhatIsNew) {
  v1::BatchLookupKernelsRequest batch;
  *batch.add_requests() = WholeRequest();
  batch.add_requests();
  const std::string bytes = batch.SerializeAsString() + std::string(
                                                            "\x78\x01\x7d"
                                                            "abcd",
                                                            7);
  EXPECT_THAT(*ParseBatch(bytes), ElementsAre(WholeRequest().SerializeAsString(), ""));
  EXPECT_FALSE(ParseBatch("nonsense"));
}

TEST(WireReader, ReadsFieldsOfEveryType) {
  const std::string bytes(
      "\x08\x96\x01"
      "\x12\x02hi"
      "\x1d"
      "1234"
      "\x21"
      "12345678",
      21);
  WireReader fields(bytes);
  ASSERT_TRUE(fields.Next());
  EXPECT_TRUE(fields.is_varint());
  EXPECT_EQ(fields.varint(), 150u);
  ASSERT_TRUE(fields.Next());
  EXPECT_EQ(fields.number(), 2);
  EXPECT_EQ(fields.bytes(), "hi");
  ASSERT_TRUE(fields.Next());
  EXPECT_FALSE(fields.is_bytes());
  ASSERT_TRUE(fields.Next());
  EXPECT_FALSE(fields.Next());
  EXPECT_FALSE(fields.has_failed());
}

TEST(WireReader, RefusesWhatIsNoMessage) {
  for (const std::string& bytes :
       {std::string("\x0b"), std::string("\x00", 1), std::string("\x12\x05hi"), std::string("\x80"),
        std::string("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        std::string("\x1d"
                    "123")}) {
    WireReader fields(bytes);
    while (fields.Next()) {
    }
    EXPECT_TRUE(fields.has_failed());
  }
}

// `slab`: or null.
void ExpectTheRecordAgain(size_t parameters_bytes, SliceSlab* slab) {
  v1::TuningRecord record;
  record.set_name("records/a");
  *record.mutable_key() = MakeKernelKey(MatMulExpression(4, 5, 6), {"cpu A", "gcc 12"});
  record.set_time_ns(7);
  record.set_parameters(std::string(parameters_bytes, 'p'));
  const SerializedRecord ready(record.SerializeAsString(), slab);
  EXPECT_EQ(ready.Parse().SerializeAsString(), record.SerializeAsString());
  EXPECT_EQ(ready.name(), "records/a");
  EXPECT_EQ(ready.key(), KernelKeyView::Of(record.key()));
  EXPECT_EQ(ready.time_ns(), 7);
  EXPECT_THAT(ready.sizes(), ElementsAre(4, 5, 6));
  const grpc::Slice response = ready.exact_reply().response();
  v1::LookupKernelResponse parsed;
  ASSERT_TRUE(parsed.ParseFromArray(response.begin(), static_cast<int>(response.size())));
  EXPECT_EQ(parsed.match(), v1::MATCH_KIND_EXACT);
  EXPECT_EQ(parsed.record().SerializeAsString(), record.SerializeAsString());
  const grpc::Slice& entry = ready.exact_reply().batch_result();
  v1::BatchLookupKernelsResponse batch;
  ASSERT_TRUE(batch.ParseFromArray(entry.begin(), static_cast<int>(entry.size())));
  ASSERT_EQ(batch.results_size(), 1);
  EXPECT_EQ(batch.results(0).response().SerializeAsString(), parsed.SerializeAsString());
}

TEST(SerializedRecord, IsTheRecordAgain) {
  SliceSlab slab;
  for (const size_t bytes : {0u, 1'000u, 100'000u, 1'000'000u}) {
    ExpectTheRecordAgain(bytes, nullptr);
    ExpectTheRecordAgain(bytes, &slab);
  }
}

TEST(SerializedRecord, BytesThatAreNoRecordHaveNoKey) {
  for (const std::string bytes : {"", "x", "\x12\x7f"}) {
    const SerializedRecord ready(bytes);
    EXPECT_EQ(ready.name(), "");
    EXPECT_EQ(ready.key(), KernelKeyView());
    EXPECT_EQ(ready.structure(), 0u);
  }
}

}  // namespace
}  // namespace mdh::lookup_request_test
