#include "server/store/layers/layered_store.h"

#include <sys/stat.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/bundle_writer.h"
#include "server/records/resource_names.h"
#include "server/store/bundle.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/temporary_directory.h"

namespace mdh::layered_store_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

StoredResult Named(const std::string& id, int64_t time_ns) {
  StoredResult result;
  result.record.set_name(RecordName(id));
  result.record.mutable_key()->set_expression_digest("digest of " + id);
  result.record.mutable_key()->set_canonical_form("canonical form of " + id);
  result.record.set_time_ns(time_ns);
  result.kernel.set_name(KernelName(id));
  result.kernel.set_source(absl::StrCat(id, " in ", time_ns));
  return result;
}

// "id:time" of each.
std::vector<std::string> Summaries(const std::vector<v1::TuningRecord>& records) {
  std::vector<std::string> summaries;
  for (const v1::TuningRecord& record : records) {
    summaries.push_back(absl::StrCat(*ParseRecordName(record.name()), ":", record.time_ns()));
  }
  return summaries;
}

class LayeredStoreTest : public ::testing::Test {
 protected:
  std::string Bundle(const std::string& name, const std::vector<StoredResult>& results) {
    const std::string path = directory_.File(name);
    std::ofstream(path) << WriteBundle({}, results);
    return path;
  }
  Result<std::unique_ptr<Store>> Open(const std::vector<std::string>& bundles) {
    Result<std::unique_ptr<Store>> store = OpenSqliteStore({.path = directory_.File("database")});
    EXPECT_TRUE(store.ok()) << store.status();
    return OpenLayeredStore(*std::move(store), bundles);
  }
  // With a and b in a site's bundle, b and c in the one below.
  std::unique_ptr<Store> OpenTwo() {
    Result<std::unique_ptr<Store>> store = Open({Bundle("site", {Named("a", 10), Named("b", 10)}),
                                                 Bundle("maker", {Named("b", 5), Named("c", 5)})});
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  static Status Put(Store& store, const StoredResult& result) {
    return store.PutResult(result.record, result.kernel).status();
  }

  TemporaryDirectory directory_;
};

TEST_F(LayeredStoreTest, WhatIsAboveHidesWhatIsBelow) {
  const std::unique_ptr<Store> store = OpenTwo();
  ASSERT_TRUE(Put(*store, Named("d", 7)).ok());
  EXPECT_THAT(Summaries(*store->AllRecords()), UnorderedElementsAre("a:10", "b:10", "c:5", "d:7"));
  EXPECT_EQ(store->GetRecord("b")->time_ns(), 10);
  EXPECT_EQ(store->GetKernel("b")->source(), "b in 10");
  EXPECT_EQ(store->GetKernel("c")->source(), "c in 5");
  EXPECT_EQ(store->GetKernel("d")->source(), "d in 7");
  EXPECT_TRUE(absl::IsNotFound(store->GetKernel("e").status()));
  std::vector<std::string> each;
  ASSERT_TRUE(store
                  ->ForEachRecord({},
                                  [&](std::string_view bytes) {
                                    v1::TuningRecord record;
                                    record.ParseFromString(std::string(bytes));
                                    each.push_back(Summaries({record})[0]);
                                  })
                  .ok());
  EXPECT_THAT(each, UnorderedElementsAre("a:10", "b:10", "c:5", "d:7"));
}

TEST_F(LayeredStoreTest, ListsGoThroughAllOfThem) {
  const std::unique_ptr<Store> store = OpenTwo();
  ASSERT_TRUE(Put(*store, Named("c", 4)).ok());
  ASSERT_TRUE(Put(*store, Named("d", 7)).ok());
  for (const int limit : {1, 2, 3, 10}) {
    std::vector<std::string> all;
    RecordPage page;
    for (bool more = true; more; more = page.has_more) {
      page = *store->ListRecords(page.last, limit);
      EXPECT_LE(page.records.size(), static_cast<size_t>(limit));
      for (const std::string& summary : Summaries(page.records)) all.push_back(summary);
    }
    EXPECT_THAT(all, ElementsAre("c:4", "d:7", "a:10", "b:10")) << limit;
  }
}

// As if the record had always been the store's: what is slower does not replace it.
TEST_F(LayeredStoreTest, BetterResultsAreStoredAndWorseOnesAreNot) {
  std::vector<std::string> changes;
  {
    const std::unique_ptr<Store> store = OpenTwo();
    store->SetListener([&](v1::KernelChangeKind kind, const v1::TuningRecord& record) {
      changes.push_back(absl::StrCat(kind, " ", Summaries({record})[0]));
    });
    EXPECT_EQ(store->PutResult(Named("a", 12).record, Named("a", 12).kernel)->time_ns(), 10);
    EXPECT_EQ(store->GetKernel("a")->source(), "a in 10");
    EXPECT_EQ((*store->PutResults({{Named("c", 3), Named("b", 11)}}))[0].time_ns(), 3);
    EXPECT_EQ(store->GetKernel("c")->source(), "c in 3");
  }
  EXPECT_THAT(changes, ElementsAre("1 a:10", "1 c:5", "1 b:10", "1 c:3"));
  // They are in the database, also where the bundles are gone.
  const std::unique_ptr<Store> alone = *Open({});
  EXPECT_THAT(Summaries(*alone->AllRecords()), UnorderedElementsAre("a:10", "b:10", "c:3"));
}

TEST_F(LayeredStoreTest, WhatIsRemovedShowsTheBundlesAgain) {
  const std::unique_ptr<Store> store = OpenTwo();
  std::vector<std::string> changes;
  ASSERT_TRUE(Put(*store, Named("a", 3)).ok());
  store->SetListener([&](v1::KernelChangeKind kind, const v1::TuningRecord& record) {
    changes.push_back(absl::StrCat(kind, " ", Summaries({record})[0]));
  });
  EXPECT_EQ(store->RemoveResult("a")->time_ns(), 3);
  EXPECT_THAT(changes, ElementsAre("2 a:3", "1 a:10"));
  EXPECT_EQ(store->GetRecord("a")->time_ns(), 10);
  const Status of_bundle = store->RemoveResult("a").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(of_bundle));
  EXPECT_THAT(of_bundle.message(),
              AllOf(HasSubstr("records/a is of "), HasSubstr("site, which is read-only")));
  EXPECT_TRUE(absl::IsNotFound(store->RemoveResult("e").status()));
}

TEST_F(LayeredStoreTest, PinsAndCertificatesAreTheStores) {
  const std::unique_ptr<Store> store = OpenTwo();
  EXPECT_TRUE(store->SetPinning("b", Pinning::kPinned)->is_pinned());
  EXPECT_TRUE(store->GetRecord("b")->is_pinned());
  EXPECT_TRUE(Put(*store, Named("b", 1)).ok());
  EXPECT_EQ(store->GetRecord("b")->time_ns(), 10);
  EXPECT_EQ(store->SetCertificate("c", {})->time_ns(), 5);
  EXPECT_TRUE(absl::IsNotFound(store->SetPinning("e", Pinning::kPinned).status()));
}

TEST_F(LayeredStoreTest, BundlesThatAreNoneAreNamed) {
  EXPECT_TRUE(absl::IsNotFound(Open({directory_.File("none")}).status()));
  std::ofstream(directory_.File("text")) << "text";
  EXPECT_THAT(Open({directory_.File("text")}).status().message(), HasSubstr("text"));
  StoredResult alone = Named("a", 5);
  alone.kernel.Clear();
  EXPECT_THAT(Open({Bundle("alone", {alone})}).status().message(),
              HasSubstr("alone is no layer of records: records/a has no kernel"));
  const std::string open = Bundle("open", {Named("a", 5)});
  ASSERT_EQ(chmod(open.c_str(), 0666), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(Open({open}).status()));
}

}  // namespace
}  // namespace mdh::layered_store_test
