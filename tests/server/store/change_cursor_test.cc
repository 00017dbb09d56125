#include "server/store/change_cursor.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/error_details.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/store_double.h"
#include "tests/server/temporary_directory.h"

namespace mdh::change_cursor_test {
namespace {

TEST(ChangeCursor, IsReadAsItIsWritten) {
  const ChangeCursor cursor = {"abc", 12};
  EXPECT_EQ(cursor.ToText(), "abc.12");
  const ChangeCursor read = *ParseCursor("abc.12", "other");
  EXPECT_EQ(read.incarnation, "abc");
  EXPECT_EQ(read.number, 12);
  // As daemons gave it that knew of no incarnations.
  EXPECT_EQ(ParseCursor("7", "present")->ToText(), "present.7");
}

TEST(ChangeCursor, NonsenseIsRefused) {
  for (const char* text :
       {"", ".", "abc.", "abc.-1", "-1", "abc.x", "abc.1.2", "abc.99999999999999999999"}) {
    EXPECT_EQ(ParseCursor(text, "present").status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(ChangeCursor, AFileIsSharedWithNobody) {
  const TemporaryDirectory directory;
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = directory.File("mdhd.sqlite")});
  EXPECT_EQ(SharedCursor(*store), "");
  EXPECT_EQ(LatestCursor(*store).ToText(), store->incarnation() + ".0");
  StoreDouble shared(*store);
  shared.Share(0);
  EXPECT_EQ(SharedCursor(shared), store->incarnation() + ".0");
}

TEST(ChangeCursor, OneOfAnotherDatabaseSaysWhereThisOneIs) {
  const TemporaryDirectory directory;
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = directory.File("mdhd.sqlite")});
  const Status refused = CursorOfOther(*store);
  EXPECT_EQ(refused.code(), absl::StatusCode::kOutOfRange);
  const auto info = DetailOf<google::rpc::ErrorInfo>(refused);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->reason(), "CURSOR_EXPIRED");
  EXPECT_EQ(info->metadata().at("latestCursor"), store->incarnation() + ".0");
}

}  // namespace
}  // namespace mdh::change_cursor_test
