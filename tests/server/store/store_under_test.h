// The engines of stores, on all of which the contract of Store and StudyStore is tested. The tests
// of the contract (*_contract_test.cc) go into one program for each kind of engine.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/store/store.h"
#include "server/store/study_store.h"

namespace mdh {

// One database, empty at first.
class StoreEngine {
 public:
  virtual ~StoreEngine() = default;
  // A store over it, when no other is open.
  virtual Result<std::unique_ptr<Store>> Open() = 0;
  // Statements behind the back of the store. Names of tables and columns are those of SQLite's
  // schema as far as the tests of the contract use them.
  virtual void RunSql(const std::string& sql) = 0;
};

struct NamedEngine {
  std::string name;
  // Null if the engine is not installed here.
  std::unique_ptr<StoreEngine> (*make)();

  friend void PrintTo(const NamedEngine& engine, std::ostream* out) { *out << engine.name; }
};

// Those of the program of tests, which defines it.
std::vector<NamedEngine> Engines();

// A test of the contract, with a store that is open.
class StoreContract : public ::testing::TestWithParam<NamedEngine> {
 protected:
  void SetUp() override {
    engine_ = GetParam().make();
    if (engine_ == nullptr) GTEST_SKIP() << GetParam().name << " is not installed";
    Open();
  }
  // As after a restart.
  void Open() {
    Close();
    Result<std::unique_ptr<Store>> store = engine_->Open();
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    Result<std::unique_ptr<StudyStore>> studies = store_->OpenStudies();
    ASSERT_TRUE(studies.ok()) << studies.status();
    studies_ = *std::move(studies);
  }
  void Close() {
    studies_.reset();
    store_.reset();
  }

  std::unique_ptr<StoreEngine> engine_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StudyStore> studies_;
};

// For INSTANTIATE_TEST_SUITE_P, of each suite of the contract.
inline std::string EngineName(const ::testing::TestParamInfo<NamedEngine>& info) {
  return info.param.name;
}

}  // namespace mdh
