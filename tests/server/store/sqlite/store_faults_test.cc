// A disk that fails, a disk that changes what is on it, and a process that ends in between: what
// was acknowledged stays, what was not is there whole or not at all, and nothing crashes.
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "codegen/program/kernel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/faulty_disk.h"
#include "tests/server/temporary_directory.h"

namespace mdh::store_faults_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

StoredResult LongResult(int id, int64_t time_ns) {
  StoredResult result;
  result.record.set_name(RecordName(std::to_string(id)));
  result.record.mutable_key()->set_expression_digest(std::to_string(id));
  result.record.mutable_key()->set_canonical_form(std::string(300, 'f'));
  result.record.set_time_ns(time_ns);
  result.kernel.set_name(KernelName(std::to_string(id)));
  result.kernel.set_source(absl::StrCat(time_ns, std::string(5'000, 's')));
  return result;
}

// What was acknowledged, and what may have been written without being acknowledged.
struct Ledger {
  std::map<int, int64_t> times;                  // of records
  std::map<int, std::set<int64_t>> maybe_times;  // that were refused
  std::map<int64_t, std::string> jobs;           // their expressions' names
  std::map<int64_t, size_t> trials;              // of jobs
};

class StoreFaultsTest : public ::testing::Test {
 protected:
  // Writes of every kind, as long as they succeed and after that, too.
  void WriteEverything(Store& store, int from, Ledger& ledger) {
    for (int n = from; n < from + 3; ++n) {
      const int64_t time_ns = 1'000 - n;
      const StoredResult result = LongResult(n % 4, time_ns);
      if (store.PutResult(result.record, result.kernel).ok()) {
        ledger.times[n % 4] = time_ns;
      } else {
        ledger.maybe_times[n % 4].insert(time_ns);
      }
    }
    v1::TuningJob job;
    job.set_expression_name("job" + std::to_string(from));
    const Result<InsertedJob> inserted = store.InsertJob(job);
    if (!inserted.ok()) return;
    const int64_t number = inserted->claim.number;
    ledger.jobs[number] = job.expression_name();
    std::vector<v1::TuningTrial> trials(2);
    trials[0].set_number(1);
    trials[1].set_number(2);
    if (store.PutTrials(inserted->claim, trials).ok()) ledger.trials[number] = trials.size();
  }
  static void ExpectAllOf(const Ledger& ledger, Store& store) {
    EXPECT_THAT(*store.CheckIntegrity(), IsEmpty());
    const Result<std::vector<v1::TuningRecord>> records = store.AllRecords();
    ASSERT_TRUE(records.ok()) << records.status();
    std::map<int, int64_t> stored;
    for (const v1::TuningRecord& record : *records) {
      stored[std::stoi(record.key().expression_digest())] = record.time_ns();
    }
    for (const auto& [id, time_ns] : ledger.times) {
      const auto maybe = ledger.maybe_times.find(id);
      const bool is_there = stored[id] == time_ns || (maybe != ledger.maybe_times.end() &&
                                                      maybe->second.count(stored[id]) > 0);
      EXPECT_TRUE(is_there) << "record " << id << " has " << stored[id] << ", not " << time_ns;
      const Result<v1::Kernel> kernel = store.GetKernel(std::to_string(id));
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      EXPECT_EQ(kernel->source(), absl::StrCat(stored[id], std::string(5'000, 's')));
    }
    for (const auto& [number, name] : ledger.jobs) {
      const Result<v1::TuningJob> job = store.GetJob(number);
      ASSERT_TRUE(job.ok()) << job.status();
      EXPECT_EQ(job->expression_name(), name);
    }
    for (const auto& [number, trials] : ledger.trials) {
      EXPECT_THAT(*store.ListTrials(number, 0, 0), SizeIs(trials));
    }
  }
  // As after the end of the process: what the files are now, opened elsewhere.
  void ExpectAllOfInACopy(const Ledger& ledger) {
    const std::string copy = directory_.File("copy.sqlite");
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::remove(copy + suffix);
      if (!std::filesystem::exists(path_ + suffix)) continue;
      std::filesystem::copy_file(path_ + suffix, copy + suffix);
    }
    std::filesystem::remove(copy + "-shm");
    const Result<std::unique_ptr<Store>> store = OpenSqliteStore({.path = copy});
    ASSERT_TRUE(store.ok()) << store.status();
    ExpectAllOf(ledger, **store);
  }
  // Lets the operation number `at` of these kinds fail while everything is written. False if there
  // are not so many.
  bool FailsAt(unsigned operations, int at, FaultyDisk::Extent extent) {
    SCOPED_TRACE(absl::StrCat("operations ", operations, ", number ", at));
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
    Ledger ledger;
    std::unique_ptr<Store> store = *OpenSqliteStore({.path = path_});
    WriteEverything(*store, 0, ledger);
    disk_.Fail(operations, at, extent);
    WriteEverything(*store, 3, ledger);
    const int failures = disk_.failures();
    disk_.Heal();
    ExpectAllOfInACopy(ledger);
    // The daemon goes on.
    v1::Statistics statistics;
    WriteEverything(*store, 6, ledger);
    EXPECT_TRUE(store->Count(statistics).ok());
    EXPECT_EQ(statistics.storage_problem(), "");
    EXPECT_THAT(ledger.jobs, SizeIs(testing::Ge(2u)));
    ExpectAllOf(ledger, *store);
    store.reset();
    store = *OpenSqliteStore({.path = path_});
    ExpectAllOf(ledger, *store);
    return failures > 0;
  }
  void FailEverywhere(unsigned operations, int most, FaultyDisk::Extent extent) {
    int at = 0;
    while (at < most && !HasFailure() && FailsAt(operations, at, extent)) ++at;
    EXPECT_GT(at, 0) << "nothing has failed";
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("mdhd.sqlite");
  FaultyDisk disk_;
};

TEST_F(StoreFaultsTest, NothingIsLostWhenOneWriteFails) {
  FailEverywhere(kDiskWrite, 100, FaultyDisk::Extent::kOnce);
}

TEST_F(StoreFaultsTest, NothingIsLostWhenNoWriteSucceedsAnyMore) {
  FailEverywhere(kDiskWrite, 25, FaultyDisk::Extent::kFromThenOn);
}

TEST_F(StoreFaultsTest, NothingIsLostWhenTheDiskDoesNotConfirmAWrite) {
  FailEverywhere(kDiskSync, 40, FaultyDisk::Extent::kOnce);
}

TEST_F(StoreFaultsTest, NothingIsLostWhenADiskGoes) {
  FailEverywhere(kDiskAll, 25, FaultyDisk::Extent::kFromThenOn);
}

TEST_F(StoreFaultsTest, SaysWhatIsWrongWithTheDisk) {
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path_});
  const StoredResult result = LongResult(1, 100);
  ASSERT_TRUE(store->PutResult(result.record, result.kernel).ok());
  disk_.Fail(kDiskWrite | kDiskSync, 0, FaultyDisk::Extent::kFromThenOn);
  const StoredResult better = LongResult(1, 50);
  const Status refused = store->PutResult(better.record, better.kernel).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()),
              testing::AllOf(HasSubstr(path_), HasSubstr("the disk failed")));
  // Reading goes on.
  v1::Statistics statistics;
  ASSERT_TRUE(store->Count(statistics).ok());
  EXPECT_EQ(statistics.storage_problem(), refused.message());
  EXPECT_TRUE(store->GetKernel("1").ok());
}

TEST_F(StoreFaultsTest, ADiskThatDoesNotGiveWhatItHasIsNotDamage) {
  {
    const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path_});
    const StoredResult result = LongResult(1, 100);
    ASSERT_TRUE(store->PutResult(result.record, result.kernel).ok());
  }
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path_});
  disk_.Fail(kDiskRead, 0, FaultyDisk::Extent::kFromThenOn);
  const Status failed = store->GetRecord("1").status();
  EXPECT_EQ(failed.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(failed.message()), HasSubstr("the disk failed: Input/output error"));
  disk_.Heal();
  EXPECT_TRUE(store->GetRecord("1").ok());
}

TEST_F(StoreFaultsTest, OpeningOnAFailingDiskIsRefusedAndHarmless) {
  Ledger ledger;
  {
    const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path_});
    WriteEverything(*store, 0, ledger);
    // As a process leaves it that was killed: with a log to be replayed.
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::copy_file(path_ + suffix, directory_.File("left") + suffix);
    }
  }
  int refusals = 0, at = 0;
  for (bool has_failed = true; has_failed && at < 200; ++at) {
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::copy_file(directory_.File("left") + suffix, path_ + suffix,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    std::filesystem::remove(path_ + "-shm");
    disk_.Fail(kDiskAll, at, FaultyDisk::Extent::kOnce);
    const Status opened = OpenSqliteStore({.path = path_}).status();
    has_failed = disk_.failures() > 0;
    disk_.Heal();
    if (!opened.ok()) {
      ++refusals;
      EXPECT_THAT(std::string(opened.message()), HasSubstr(path_)) << at;
    }
    const Result<std::unique_ptr<Store>> store = OpenSqliteStore({.path = path_});
    ASSERT_TRUE(store.ok()) << at << ": " << store.status();
    ExpectAllOf(ledger, **store);
  }
  EXPECT_GT(refusals, 5);
}

// ---- Bytes that change on the disk ----

class DamagedStoreTest : public ::testing::Test {
 protected:
  DamagedStoreTest() {
    const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path_});
    for (int n = 0; n < 12; ++n) {
      const StoredResult result = LongResult(n, 1'000 + n);
      EXPECT_TRUE(store->PutResult(result.record, result.kernel).ok());
      originals_[result.record.name()] = result;
      v1::TuningJob job;
      job.set_expression_text(std::string(400, 'j'));
      const Result<InsertedJob> inserted = store->InsertJob(job);
      v1::TuningTrial trial;
      trial.set_number(1);
      EXPECT_TRUE(store->PutTrials(inserted->claim, absl::MakeConstSpan(&trial, 1)).ok());
    }
  }
  std::string Bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Everything that a daemon reads, of a file with these bytes: it is refused, or what it says of
  // results is what was stored. Returns whether it was refused.
  bool IsRefusedOrRight(const std::string& bytes) {
    for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    const Result<std::unique_ptr<Store>> store = OpenSqliteStore({.path = path_});
    if (!store.ok()) {
      EXPECT_THAT(std::string(store.status().message()), HasSubstr(path_));
      return true;
    }
    ReadAllOf(**store);
    return false;
  }
  void ReadAllOf(Store& store) {
    const Result<std::vector<v1::TuningRecord>> records = store.AllRecords();
    if (!records.ok()) return;
    for (const v1::TuningRecord& record : *records) {
      const auto original = originals_.find(record.name());
      ASSERT_NE(original, originals_.end()) << record.name();
      EXPECT_EQ(record.SerializeAsString(), original->second.record.SerializeAsString());
      const Result<v1::Kernel> kernel = store.GetKernel(*ParseRecordName(record.name()));
      if (!kernel.ok()) continue;
      EXPECT_EQ(kernel->SerializeAsString(), original->second.kernel.SerializeAsString());
    }
    for (int64_t number = 1; number <= 12; ++number) {
      const Result<v1::TuningJob> job = store.GetJob(number);
      if (job.ok()) {
        EXPECT_EQ(job->expression_text(), std::string(400, 'j'));
      }
      store.ListTrials(number, 0, 0).status().IgnoreError();
    }
    store.ListJobs(0, 100).status().IgnoreError();
    store.ChangesAfter(0, 100).status().IgnoreError();
    store.CheckIntegrity().status().IgnoreError();
    v1::Statistics statistics;
    store.Count(statistics).IgnoreError();
    const StoredResult another = LongResult(100, 1);
    store.PutResult(another.record, another.kernel).status().IgnoreError();
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("mdhd.sqlite");
  std::map<std::string, StoredResult> originals_;
};

constexpr size_t kPageBytes = 4096;

TEST_F(DamagedStoreTest, AnyPageMayBeGarbage) {
  const std::string sound = Bytes();
  std::mt19937_64 rng(1);
  int refused = 0, accepted = 0;
  for (size_t page = 0; page * kPageBytes < sound.size(); ++page) {
    for (const char filler : {'\0', '\xa5', 'r'}) {
      SCOPED_TRACE(absl::StrCat("page ", page));
      std::string bytes = sound;
      for (size_t n = 0; n < kPageBytes; ++n) {
        bytes[page * kPageBytes + n] = filler == 'r' ? static_cast<char>(rng()) : filler;
      }
      ++(IsRefusedOrRight(bytes) ? refused : accepted);
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(accepted, 10) << "pages inside of kernels do not make a database unusable";
}

TEST_F(DamagedStoreTest, AnyBitMayFlip) {
  const std::string sound = Bytes();
  std::mt19937_64 rng(2);
  for (int n = 0; n < 150; ++n) {
    const size_t at = rng() % sound.size();
    SCOPED_TRACE(absl::StrCat("byte ", at));
    std::string bytes = sound;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (rng() % 8)));
    IsRefusedOrRight(bytes);
  }
}

TEST_F(DamagedStoreTest, TheFileMayEndAnywhere) {
  const std::string sound = Bytes();
  std::mt19937_64 rng(3);
  for (int n = 0; n < 40; ++n) IsRefusedOrRight(sound.substr(0, rng() % sound.size()));
}

TEST_F(DamagedStoreTest, AKernelThatHasChangedIsNotHandedOut) {
  std::string bytes = Bytes();
  const size_t at = bytes.find("1003ssss");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 100] = 't';
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path_});
  EXPECT_THAT(std::string(store->GetKernel("3").status().message()),
              HasSubstr("kernel 3 cannot be read: a stored kernel is damaged"));
  EXPECT_THAT(*store->CheckIntegrity(),
              testing::ElementsAre("3 is a kernel whose bytes have changed"));
  EXPECT_TRUE(store->GetKernel("4").ok());
}

}  // namespace
}  // namespace mdh::store_faults_test
