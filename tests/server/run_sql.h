// Changes a database behind the back of the store that has it.
#pragma once

#include <sqlite3.h>

#include <string>

#include "gtest/gtest.h"

namespace mdh {

// Expects success.
inline void RunSql(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

}  // namespace mdh
