// PostgreSQL under the tests of the contract of stores.
#include <regex>

#include "server/store/postgres/postgres_store.h"
#include "tests/server/store/postgres_server.h"
#include "tests/server/store/store_under_test.h"

namespace mdh {
namespace postgres_engine_test {
namespace {

class PostgresEngine : public StoreEngine {
 public:
  explicit PostgresEngine(std::string address) : address_(std::move(address)) {}
  Result<std::unique_ptr<Store>> Open() override {
    return OpenPostgresStore({.address = address_, .remembered_changes = kRememberedChanges});
  }
  void RunSql(const std::string& sql) override {
    // Bytes are written in another way.
    const std::string own = std::regex_replace(sql, std::regex("x'([0-9a-f]*)'"), "'\\x$1'");
    EXPECT_EQ(PostgresServer::SqlAt(address_, "SET search_path = mdhd; " + own), absl::OkStatus());
  }

 private:
  const std::string address_;
};

}  // namespace
}  // namespace postgres_engine_test

std::vector<NamedEngine> Engines() {
  return {{"Postgres", []() -> std::unique_ptr<StoreEngine> {
             const Result<PostgresServer*> server = PostgresServer::Shared();
             if (absl::IsNotFound(server.status())) return nullptr;
             EXPECT_TRUE(server.ok()) << server.status();
             return std::make_unique<postgres_engine_test::PostgresEngine>(
                 *(*server)->NewDatabase());
           }}};
}

}  // namespace mdh
