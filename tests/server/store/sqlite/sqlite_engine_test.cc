// SQLite under the tests of the contract of stores.
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/run_sql.h"
#include "tests/server/store/store_under_test.h"
#include "tests/server/temporary_directory.h"

namespace mdh {
namespace sqlite_engine_test {
namespace {

class SqliteEngine : public StoreEngine {
 public:
  Result<std::unique_ptr<Store>> Open() override { return OpenSqliteStore({.path = path_}); }
  void RunSql(const std::string& sql) override { mdh::RunSql(path_, sql); }

 private:
  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("mdhd.sqlite");
};

}  // namespace
}  // namespace sqlite_engine_test

std::vector<NamedEngine> Engines() {
  return {{"Sqlite", []() -> std::unique_ptr<StoreEngine> {
             return std::make_unique<sqlite_engine_test::SqliteEngine>();
           }}};
}

}  // namespace mdh
