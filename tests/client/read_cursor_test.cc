#include "client/read_cursor.h"

#include "gtest/gtest.h"
#include "proto/error_details.h"

namespace mdh::read_cursor_test {
namespace {

TEST(ReadCursor, TheLatestOfADatabaseCounts) {
  ReadCursor cursor;
  EXPECT_EQ(cursor.Get(), "");
  cursor.Note("");
  for (const char* nonsense : {"nonsense", ".", ".7", "abc.", "abc.x"}) cursor.Note(nonsense);
  EXPECT_EQ(cursor.Get(), "");
  cursor.Note("abc.9");
  cursor.Note("abc.10");
  cursor.Note("abc.2");
  cursor.Note("");
  EXPECT_EQ(cursor.Get(), "abc.10");
  // A backup was restored, or there is another server.
  cursor.Note("def.1");
  EXPECT_EQ(cursor.Get(), "def.1");
}

TEST(ReadCursor, WhatIsOfNoUseIsForgottenUnlessThereIsANewerOne) {
  ReadCursor cursor;
  cursor.Note("abc.9");
  cursor.Forget("abc.8");
  EXPECT_EQ(cursor.Get(), "abc.9");
  cursor.Forget("abc.9");
  EXPECT_EQ(cursor.Get(), "");
}

TEST(ReadCursor, KnowsErrorsThatAreAboutIt) {
  const Status error = absl::AbortedError("");
  EXPECT_TRUE(ReadCursor::IsReason(WithReason(error, "REPLICA_BEHIND")));
  EXPECT_TRUE(ReadCursor::IsReason(WithReason(absl::OutOfRangeError(""), "CURSOR_EXPIRED")));
  EXPECT_FALSE(ReadCursor::IsReason(WithReason(error, "SOMETHING_ELSE")));
  EXPECT_FALSE(ReadCursor::IsReason(error));
  EXPECT_FALSE(ReadCursor::IsReason(absl::OkStatus()));
}

}  // namespace
}  // namespace mdh::read_cursor_test
