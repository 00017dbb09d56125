// What every store does with records, kernels and their changes, and with peaks.
#include <map>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/records/resource_names.h"
#include "tests/server/store/store_under_test.h"
#include "tests/server/store/stored_samples.h"

namespace mdh::record_contract_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

StoredResult ResultOfVersion(const std::string& id, int64_t time_ns, int generator_version = 1) {
  StoredResult result;
  result.record.set_name(RecordName(absl::StrCat(id, ".", generator_version)));
  result.record.mutable_key()->set_expression_digest(id);
  result.record.mutable_key()->set_generator_version(generator_version);
  result.record.set_time_ns(time_ns);
  result.kernel.set_source(absl::StrCat("of ", time_ns));
  return result;
}

StoredResult Provisional(const std::string& id, int64_t time_ns) {
  StoredResult result = ResultOfVersion(id, time_ns);
  result.record.set_is_provisional(true);
  return result;
}

class RecordContract : public StoreContract {
 protected:
  // Gives the time that is stored now.
  int64_t Put(const StoredResult& result) {
    const Result<v1::TuningRecord> stored = store_->PutResult(result.record, result.kernel);
    EXPECT_TRUE(stored.ok()) << stored.status();
    return stored.ok() ? stored->time_ns() : 0;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, RecordContract, ::testing::ValuesIn(Engines()), EngineName);

TEST_P(RecordContract, WhatWasStoredIsThereAfterARestart) {
  ASSERT_TRUE(store_->PutResult(SampleRecord("a", 100), KernelWithSource("int a;")).ok());
  v1::MachinePeaks peaks;
  peaks.set_fp32_flops_per_s(5);
  ASSERT_TRUE(store_->ChangePeaks("cpu", [&](const auto&) { return peaks; }).ok());
  Open();
  const Result<std::vector<v1::TuningRecord>> records = store_->AllRecords();
  ASSERT_TRUE(records.ok());
  ASSERT_THAT(*records, SizeIs(1));
  EXPECT_EQ(records->front().SerializeAsString(), SampleRecord("a", 100).SerializeAsString());
  EXPECT_EQ(store_->GetKernel("a")->source(), "int a;");
  EXPECT_EQ((*store_->GetPeaks("cpu"))->fp32_flops_per_s(), 5);
  EXPECT_FALSE(store_->GetPeaks("another cpu")->has_value());
}

TEST_P(RecordContract, MissingRecordsAreNotFound) {
  EXPECT_EQ(store_->GetKernel("b").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->GetRecord("b").status().code(), absl::StatusCode::kNotFound);
}

TEST_P(RecordContract, AWorseResultDoesNotReplaceABetterOne) {
  ASSERT_TRUE(store_->PutResult(SampleRecord("a", 100), KernelWithSource("first")).ok());
  EXPECT_EQ(store_->PutResult(SampleRecord("a", 101), KernelWithSource("worse"))->time_ns(), 100);
  EXPECT_EQ(store_->PutResult(SampleRecord("a", 100), KernelWithSource("equal"))->time_ns(), 100);
  EXPECT_EQ(store_->GetKernel("a")->source(), "first");
  EXPECT_EQ(store_->PutResult(SampleRecord("a", 99), KernelWithSource("better"))->time_ns(), 99);
  EXPECT_EQ(store_->GetKernel("a")->source(), "better");
  EXPECT_THAT(*store_->AllRecords(), SizeIs(1));
}

TEST_P(RecordContract, TimesOfOtherStatesOfTheCachesDoNotCompare) {
  v1::TuningRecord cold = SampleRecord("a", 300);
  cold.set_cache_state(v1::CACHE_STATE_COLD);
  ASSERT_TRUE(store_->PutResult(SampleRecord("a", 100), KernelWithSource("warm")).ok());
  EXPECT_EQ(store_->PutResult(cold, KernelWithSource("cold"))->time_ns(), 300);
  EXPECT_EQ(store_->GetKernel("a")->source(), "cold");
  cold.set_time_ns(301);
  EXPECT_EQ(store_->PutResult(cold, KernelWithSource("worse"))->time_ns(), 300);
  // Nothing replaces what is better founded, or pinned.
  v1::TuningRecord provisional = SampleRecord("a", 50);
  provisional.set_is_provisional(true);
  EXPECT_EQ(store_->PutResult(provisional, KernelWithSource("so far"))->time_ns(), 300);
  ASSERT_TRUE(store_->SetPinning("a", Pinning::kPinned).ok());
  EXPECT_EQ(store_->PutResult(SampleRecord("a", 90), KernelWithSource("warm"))->time_ns(), 300);
  ASSERT_TRUE(store_->SetPinning("a", Pinning::kNotPinned).ok());
  v1::TuningRecord warm = SampleRecord("a", 400);
  warm.set_cache_state(v1::CACHE_STATE_WARM);
  EXPECT_EQ(store_->PutResult(warm, KernelWithSource("warm"))->time_ns(), 400);
  // Unspecified is warm.
  EXPECT_EQ(store_->PutResult(SampleRecord("a", 401), KernelWithSource("warm"))->time_ns(), 400);
}

// What comes from elsewhere does not undo that somebody here asked for the other state.
TEST_P(RecordContract, GivenRecordsDoNotChangeTheStateOfTheCaches) {
  StoredResult given{SampleRecord("a", 100), KernelWithSource("given"), /*is_given=*/true};
  ASSERT_TRUE(store_->PutResults({given}).ok());  // there is none yet
  v1::TuningRecord cold = SampleRecord("a", 300);
  cold.set_cache_state(v1::CACHE_STATE_COLD);
  ASSERT_TRUE(store_->PutResult(cold, KernelWithSource("cold")).ok());
  for (const int64_t time_ns : {50, 300, 900}) {
    given.record.set_time_ns(time_ns);
    const auto stored = store_->PutResults({given});
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_EQ((*stored)[0].time_ns(), 300);
    EXPECT_EQ(store_->GetKernel("a")->source(), "cold");
  }
  given.record.set_cache_state(v1::CACHE_STATE_COLD);
  given.record.set_time_ns(299);
  EXPECT_EQ((*store_->PutResults({given}))[0].time_ns(), 299);
}

TEST_P(RecordContract, EachRecordIsReadOnceByAnyNumberOfThreads) {
  absl::Mutex mutex;
  std::map<std::string, int> seen;
  const auto take = [&](std::string_view bytes) {
    v1::TuningRecord record;
    EXPECT_TRUE(record.ParseFromString(std::string(bytes)));
    absl::MutexLock lock(&mutex);
    ++seen[record.name()];
  };
  ASSERT_TRUE(store_->ForEachRecord({}, take).ok());
  EXPECT_THAT(seen, SizeIs(0));
  for (const char* id : {"a", "b", "c", "d", "e", "f", "g"}) {
    ASSERT_TRUE(store_->PutResult(SampleRecord(id, 100), KernelWithSource("")).ok());
  }
  ASSERT_TRUE(store_->ForEachRecord({}, take).ok());
  EXPECT_THAT(seen, SizeIs(7));
  for (const auto& [name, times] : seen) EXPECT_EQ(times, 1) << name;
}

TEST_P(RecordContract, OfSomeDevicesOnlyTheirRecordsAreRead) {
  const std::string odd = "opencl \"it's\" {5%, x\\'y}";
  const std::pair<const char*, std::string> records[] = {
      {"a", "cpu A"}, {"b", "cpu A2"}, {"c", odd}, {"d", ""}, {"e", "cpu A"}};
  for (const auto& [id, device] : records) {
    StoredResult result = SampleResult(id, 100);
    result.record.mutable_key()->set_device_fingerprint(device);
    ASSERT_TRUE(store_->PutResult(result.record, result.kernel).ok());
  }
  const auto read = [&](const Store::Fingerprints& devices) {
    absl::Mutex mutex;
    std::vector<std::string> names;
    const Status status = store_->ForEachRecord(devices, [&](std::string_view bytes) {
      v1::TuningRecord record;
      EXPECT_TRUE(record.ParseFromString(std::string(bytes)));
      absl::MutexLock lock(&mutex);
      names.push_back(record.name());
    });
    EXPECT_TRUE(status.ok()) << status;
    return names;
  };
  EXPECT_THAT(read({}), SizeIs(5));
  EXPECT_THAT(read({"cpu A"}), UnorderedElementsAre("records/a", "records/e"));
  EXPECT_THAT(read({"cpu A2", odd}), UnorderedElementsAre("records/b", "records/c"));
  EXPECT_THAT(read({"cpu"}), SizeIs(0));
}

TEST_P(RecordContract, RecordsOfSchedulesAreBesideTheFreeOne) {
  v1::TuningRecord pinned = SampleRecord("b", 50);
  pinned.mutable_key()->set_expression_digest("digest of a");
  pinned.mutable_key()->set_canonical_form("canonical form of a");
  pinned.mutable_key()->set_schedule("L2: tile d1=2");
  ASSERT_TRUE(store_->PutResult(SampleRecord("a", 100), KernelWithSource("int a;")).ok());
  ASSERT_TRUE(store_->PutResult(pinned, KernelWithSource("int b;")).ok());
  EXPECT_EQ(store_->GetRecord("a")->time_ns(), 100);
  EXPECT_EQ(store_->GetRecord("b")->time_ns(), 50);
  pinned.set_time_ns(60);
  EXPECT_EQ(store_->PutResult(pinned, KernelWithSource("int c;"))->time_ns(), 50);
}

TEST_P(RecordContract, AProvisionalResultGivesWayToAFinalOneWhateverTheTimes) {
  EXPECT_EQ(Put(Provisional("a", 100)), 100);
  EXPECT_EQ(Put(Provisional("a", 110)), 100);
  EXPECT_EQ(Put(Provisional("a", 90)), 90);
  EXPECT_EQ(Put(ResultOfVersion("a", 95)), 95);
  EXPECT_EQ(store_->GetKernel("a.1")->source(), "of 95");
  EXPECT_EQ(Put(Provisional("a", 50)), 95);
  EXPECT_EQ(Put(ResultOfVersion("a", 80)), 80);
}

TEST_P(RecordContract, PinsSurviveRestartsAndProvisionalResultsHaveNone) {
  Put(ResultOfVersion("a", 100));
  EXPECT_TRUE(store_->SetPinning("a.1", Pinning::kPinned)->is_pinned());
  Open();
  EXPECT_TRUE(store_->AllRecords()->front().is_pinned());
  EXPECT_EQ(Put(ResultOfVersion("a", 50)), 100);
  EXPECT_EQ(store_->RemoveResult("a.1").status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(store_->SetPinning("a.1", Pinning::kNotPinned).ok());
  EXPECT_EQ(store_->RemoveResult("a.1")->time_ns(), 100);
  EXPECT_EQ(store_->RemoveResult("a.1").status().code(), absl::StatusCode::kNotFound);
  Put(Provisional("b", 100));
  EXPECT_EQ(store_->SetPinning("b.1", Pinning::kPinned).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_P(RecordContract, CertificatesAreReplacedAlone) {
  Put(ResultOfVersion("a", 100));
  ASSERT_TRUE(store_->SetPinning("a.1", Pinning::kPinned).ok());
  v1::Certificate certificate;
  certificate.set_problem_bound_ns(7);
  EXPECT_TRUE(store_->SetCertificate("a.1", certificate)->is_pinned());
  const int64_t changes = store_->LatestChange();
  ASSERT_TRUE(store_->SetCertificate("a.1", certificate).ok());  // changes nothing
  EXPECT_EQ(store_->LatestChange(), changes);
  Open();
  const v1::TuningRecord record = *store_->GetRecord("a.1");
  EXPECT_EQ(record.certificate().problem_bound_ns(), 7);
  EXPECT_EQ(record.time_ns(), 100);
  EXPECT_TRUE(record.is_pinned());
  EXPECT_EQ(store_->SetCertificate("b.1", certificate).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_P(RecordContract, ManyResultsAreStoredTogetherOrNotAtAll) {
  StoredResult nameless = ResultOfVersion("b", 1);
  nameless.record.set_name("nonsense");
  EXPECT_FALSE(store_->PutResults({ResultOfVersion("a", 1), nameless}).ok());
  EXPECT_THAT(*store_->AllRecords(), IsEmpty());
  EXPECT_EQ(store_->LatestChange(), 0);
  EXPECT_TRUE(store_->PutResults({ResultOfVersion("a", 1), ResultOfVersion("b", 1)}).ok());
  EXPECT_THAT(*store_->AllRecords(), SizeIs(2));
}

TEST_P(RecordContract, ChangesAreNumberedAcrossRestartsAndAnnouncedInOrder) {
  std::vector<std::string> heard;
  const auto listen = [&](v1::KernelChangeKind kind, const v1::TuningRecord& record) {
    heard.push_back(absl::StrCat(static_cast<int>(kind), record.name()));
  };
  store_->SetListener(listen);
  Put(ResultOfVersion("a", 100));
  Put(ResultOfVersion("a", 200));  // changes nothing
  Put(ResultOfVersion("b", 100));
  ASSERT_TRUE(store_->SetPinning("b.1", Pinning::kPinned).ok());
  ASSERT_TRUE(store_->SetPinning("b.1", Pinning::kPinned).ok());  // changes nothing
  ASSERT_TRUE(store_->RemoveResult("a.1").ok());
  EXPECT_THAT(heard, ElementsAre("1records/a.1", "1records/b.1", "3records/b.1", "2records/a.1"));
  Open();
  EXPECT_EQ(store_->LatestChange(), 4);
  const Result<std::vector<v1::KernelChange>> changes = store_->ChangesAfter(1, 2);
  ASSERT_THAT(*changes, SizeIs(2));
  EXPECT_EQ(changes->at(0).number(), 2);
  EXPECT_EQ(changes->at(0).record(), "records/b.1");
  EXPECT_EQ(changes->at(0).expression_digest(), "b");
  EXPECT_TRUE(changes->at(0).has_time());
  EXPECT_THAT(*store_->ChangesAfter(4, 10), IsEmpty());
  EXPECT_EQ(store_->ChangesAfter(5, 10).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_FALSE(store_->WaitForChange(4, absl::Milliseconds(1)));
  EXPECT_TRUE(store_->WaitForChange(3, absl::ZeroDuration()));
}

TEST_P(RecordContract, WhoFallsTooFarBehindIsToldSo) {
  std::vector<StoredResult> results;
  for (int64_t n = 0; n <= kRememberedChanges + 5; ++n) {
    results.push_back(ResultOfVersion(absl::StrCat(n), 1));
  }
  ASSERT_TRUE(store_->PutResults(results).ok());
  // Of one transaction none need be forgotten before the next.
  Put(ResultOfVersion("one more", 1));
  EXPECT_EQ(store_->ChangesAfter(0, 10).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(store_->ChangesAfter(5, 10).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(*store_->ChangesAfter(7, 10), SizeIs(10));
}

// As records are, whatever a store makes of that.
TEST_P(RecordContract, LongTextsThatRepeatThemselvesComeBackAsTheyWere) {
  StoredResult result = ResultOfVersion("a", 100);
  for (int n = 0; n < 500; ++n) {
    absl::StrAppend(result.record.mutable_expression_text(), "the same but for ", n, "\n");
  }
  const std::string bytes = result.record.SerializeAsString();
  Put(result);
  EXPECT_EQ(store_->GetRecord("a.1")->SerializeAsString(), bytes);
  Open();
  EXPECT_EQ(store_->AllRecords()->front().SerializeAsString(), bytes);
  EXPECT_EQ(store_->ListRecords(0, 1)->records.front().SerializeAsString(), bytes);
  EXPECT_THAT(*store_->CheckIntegrity(), IsEmpty());
  // Also when it is changed.
  ASSERT_TRUE(store_->SetPinning("a.1", Pinning::kPinned).ok());
  result.record.mutable_certificate()->set_problem_bound_ns(5);
  ASSERT_TRUE(store_->SetCertificate("a.1", result.record.certificate()).ok());
  result.record.set_is_pinned(true);
  EXPECT_EQ(store_->AllRecords()->front().SerializeAsString(), result.record.SerializeAsString());
}

TEST_P(RecordContract, ARecordThatCannotBeReadIsSetAside) {
  Put(ResultOfVersion("a", 100));
  Put(ResultOfVersion("b", 100));
  Put(ResultOfVersion("c", 100));
  Close();
  engine_->RunSql(
      "UPDATE records SET record = x'ffff' WHERE id = 'a.1';"
      "UPDATE records SET record = (SELECT record FROM records WHERE id = 'c.1')"
      " WHERE id = 'b.1'");
  Open();
  const Result<std::vector<v1::TuningRecord>> records = store_->AllRecords();
  ASSERT_THAT(*records, SizeIs(1));
  EXPECT_EQ(records->front().name(), "records/c.1");
  v1::Statistics statistics;
  ASSERT_TRUE(store_->Count(statistics).ok());
  EXPECT_EQ(statistics.records(), 1);
  EXPECT_EQ(statistics.quarantined_records(), 2);
  EXPECT_EQ(store_->GetKernel("a.1").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Put(ResultOfVersion("a", 200)), 200);
  EXPECT_THAT(*store_->CheckIntegrity(), IsEmpty());
}

TEST_P(RecordContract, ResultsOfOlderGeneratorsAreForgottenWhereThereIsANewerOne) {
  Put(ResultOfVersion("replaced", 100, 1));
  Put(ResultOfVersion("replaced", 200, 2));
  Put(ResultOfVersion("alone", 100, 1));
  Put(ResultOfVersion("pinned", 100, 1));
  Put(ResultOfVersion("pinned", 200, 2));
  ASSERT_TRUE(store_->SetPinning("pinned.1", Pinning::kPinned).ok());
  const auto forgotten =
      store_->Forget({.jobs_ended_before = absl::InfinitePast(), .generator_version = 2});
  EXPECT_EQ(forgotten->records(), 1);
  EXPECT_FALSE(store_->GetKernel("replaced.1").ok());
  EXPECT_TRUE(store_->GetKernel("alone.1").ok());
  EXPECT_TRUE(store_->GetKernel("pinned.1").ok());
}

TEST_P(RecordContract, AnIncarnationIsKeptAcrossRestarts) {
  const std::string incarnation = store_->incarnation();
  EXPECT_NE(incarnation, "");
  for (const char letter : incarnation) EXPECT_TRUE(absl::ascii_isalnum(letter)) << incarnation;
  Open();
  EXPECT_EQ(store_->incarnation(), incarnation);
}

TEST_P(RecordContract, PeaksThatManyRaiseAreAllRaised) {
  constexpr int kThreads = 4, kTimes = 10;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int time = 0; time < kTimes; ++time) {
        const auto raise = [](const std::optional<v1::MachinePeaks>& stored) {
          v1::MachinePeaks peaks = stored.value_or(v1::MachinePeaks());
          peaks.set_clock_hz(peaks.clock_hz() + 1);
          return peaks;
        };
        EXPECT_TRUE(store_->ChangePeaks("cpu", raise).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ((*store_->GetPeaks("cpu"))->clock_hz(), kThreads * kTimes);
}

}  // namespace
}  // namespace mdh::record_contract_test
