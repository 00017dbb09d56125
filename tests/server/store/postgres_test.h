// What tests of stores on a PostgreSQL server have in common.
#pragma once

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "server/store/postgres/postgres_store.h"
#include "tests/server/store/postgres_server.h"
#include "tests/server/store/stored_samples.h"

namespace mdh {

// A database of its own on a server; skipped where PostgreSQL is not installed.
class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<PostgresServer*> server = PostgresServer::Shared();
    if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status().message();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *server;
    UseDatabaseOf(*server_);
  }
  void UseDatabaseOf(PostgresServer& server) {
    const Result<std::string> address = server.NewDatabase();
    ASSERT_TRUE(address.ok()) << address.status();
    address_ = *address;
  }
  std::unique_ptr<Store> Open() {
    Result<std::unique_ptr<Store>> store = OpenPostgresStore({.address = address_});
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  // The message with which opening is refused.
  std::string Refusal(absl::StatusCode code = absl::StatusCode::kFailedPrecondition) {
    const Status status = OpenPostgresStore({.address = address_}).status();
    EXPECT_EQ(status.code(), code) << status;
    return std::string(status.message());
  }
  void RunSql(const std::string& statements) {
    const Status status = PostgresServer::SqlAt(address_, statements);
    EXPECT_TRUE(status.ok()) << status;
  }
  int64_t Number(const std::string& query) {
    const Result<int64_t> number = PostgresServer::NumberAt(address_, query);
    EXPECT_TRUE(number.ok()) << number.status();
    return number.ok() ? *number : -1;
  }

  PostgresServer* server_ = nullptr;
  std::string address_;
};

}  // namespace mdh
