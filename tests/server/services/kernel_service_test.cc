#include "server/services/kernel_service.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/records/resource_names.h"
#include "tests/server/run_sql.h"
#include "tests/server/service_fixture.h"

namespace mdh::kernel_service_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class KernelServiceTest : public ServiceTest {
 protected:
  Status PutChanged(const std::function<void(v1::TuningRecord&)>& change) {
    v1::TuningRecord record = RecordFor(64, 1'000'000);
    change(record);
    return admin_client_->PutKernel(record).status();
  }
  v1::MissReason MissOf(const Expression& expression, v1::NumericsPolicy policy = {},
                        const v1::DeviceSelection& device = {}) {
    const Status error =
        client_->Lookup(Client::KeyOf(expression, policy), v1::MATCH_KIND_EXACT, device).status();
    EXPECT_EQ(error.code(), absl::StatusCode::kNotFound) << error;
    const auto miss = DetailOf<v1::LookupMiss>(error);
    EXPECT_EQ(ReasonOf(error), v1::MissReason_Name(miss ? miss->reason() : v1::MissReason()));
    return miss ? miss->reason() : v1::MISS_REASON_UNSPECIFIED;
  }
};

TEST_F(KernelServiceTest, APutResultIsFoundWithAKernelOfItsOwn) {
  v1::TuningRecord given = RecordFor(64, 1'000'000);
  given.set_low_level_table("nonsense");
  given.set_flops(7);
  given.set_is_pinned(true);
  given.set_origin("farm 3");
  const Result<v1::PutKernelResponse> put = admin_client_->PutKernel(given);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_TRUE(put->is_stored());
  const Result<v1::LookupKernelResponse> found = client_->Lookup(MatMulExpression(64, 64, 64));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->match(), v1::MATCH_KIND_EXACT);
  EXPECT_EQ(found->record().time_ns(), 1'000'000);
  EXPECT_EQ(found->record().flops(), 2 * 64 * 64 * 64);
  EXPECT_NE(found->record().low_level_table(), "nonsense");
  EXPECT_EQ(found->record().origin(), "farm 3");
  EXPECT_FALSE(found->record().is_pinned());
  const Result<v1::Kernel> kernel = client_->GetKernel(found->record().name());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_THAT(kernel->source(), HasSubstr("mdh_matmul"));
}

TEST_F(KernelServiceTest, AKernelThatIsMissingOrDamagedIsMadeAgainFromItsRecord) {
  const std::string name = Put(64, 1'000'000).name();
  const std::string other = Put(37, 1'000'000).name();
  const std::string wanted = client_->GetKernel(name)->SerializeAsString();
  const std::string path = directory_.File("mdhd.sqlite");
  const std::string swap = absl::StrCat(
      "UPDATE kernels SET (kernel, crc32) = (SELECT kernel, crc32 FROM kernels WHERE id = '",
      *ParseRecordName(other), "') WHERE id = '", *ParseRecordName(name), "'");
  for (const std::string& damage : {std::string("DELETE FROM kernels"),
                                    std::string("UPDATE kernels SET kernel = x'00'"), swap}) {
    SCOPED_TRACE(damage);
    RunSql(path, damage);
    EXPECT_THAT(*store_->CheckIntegrity(), testing::Not(testing::IsEmpty()));
    for (const std::string& record : {name, other}) {
      EXPECT_TRUE(client_->GetKernel(record).ok()) << client_->GetKernel(record).status();
    }
    EXPECT_EQ(client_->GetKernel(name)->SerializeAsString(), wanted);
    const auto best =
        client_->GetBestKernel(MatMulExpression(64, 64, 64), {}, v1::MATCH_KIND_EXACT);
    EXPECT_EQ(best->kernel().SerializeAsString(), wanted);
    EXPECT_THAT(*store_->CheckIntegrity(), testing::IsEmpty());
  }
  // One without a record, or whose record is of another generator, cannot be.
  RunSql(path, "DELETE FROM kernels");
  v1::TuningRecord old = *store_->GetRecord(*ParseRecordName(other));
  old.mutable_key()->set_generator_version(1);
  old.set_name("records/old");
  ASSERT_TRUE(store_->PutResult(old, v1::Kernel()).ok());
  RunSql(path, "DELETE FROM kernels");
  const Status refused = client_->GetKernel("records/old").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("it cannot be made again: the result is of"));
  EXPECT_EQ(client_->GetKernel("records/none").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(KernelServiceTest, RecordsAreListedPageByPage) {
  for (const int64_t size : {64, 65, 66}) Put(size, 1'000'000 + size);
  ASSERT_TRUE(admin_client_->Pin(store_->AllRecords()->front().name()).ok());
  v1::ListRecordsRequest request;
  request.set_page_size(2);
  Result<v1::ListRecordsResponse> page = admin_client_->ListRecords(request);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_THAT(page->records(), SizeIs(2));
  EXPECT_EQ(page->records(0).time_ns(), 1'000'064);
  EXPECT_TRUE(page->records(0).is_pinned());
  request.set_page_token(page->next_page_token());
  page = admin_client_->ListRecords(request);
  ASSERT_THAT(page->records(), SizeIs(1));
  EXPECT_EQ(page->records(0).time_ns(), 1'000'066);
  EXPECT_EQ(page->next_page_token(), "");
}

TEST_F(KernelServiceTest, RecordsAreListedByExpression) {
  const v1::TuningRecord record = Put(64, 1'000'000);
  Put(65, 1'000'000);
  v1::ListRecordsRequest request;
  request.set_page_size(1);
  request.set_expression(record.key().expression_digest());
  EXPECT_THAT(admin_client_->ListRecords(request)->records(), SizeIs(1));
  request.set_expression("matmul");
  EXPECT_FALSE(admin_client_->ListRecords(request)->next_page_token().empty());
  request.set_expression("something else");
  const Result<v1::ListRecordsResponse> none = admin_client_->ListRecords(request);
  EXPECT_THAT(none->records(), SizeIs(0));
  EXPECT_EQ(none->next_page_token(), "");
}

TEST_F(KernelServiceTest, WrongPagesOfRecordsAreRefused) {
  v1::ListRecordsRequest request;
  request.set_page_token("yesterday");
  EXPECT_EQ(FieldOf(admin_client_->ListRecords(request).status()), "page_token");
  request.clear_page_token();
  request.set_page_size(-1);
  EXPECT_EQ(FieldOf(admin_client_->ListRecords(request).status()), "page_size");
}

TEST_F(KernelServiceTest, ABetterResultStaysWhenAWorseOneIsPut) {
  Put(64, 1'000'000);
  const Result<v1::PutKernelResponse> put = admin_client_->PutKernel(RecordFor(64, 2'000'000));
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_FALSE(put->is_stored());
  EXPECT_EQ(put->record().time_ns(), 1'000'000);
}

TEST_F(KernelServiceTest, WhatIsOnlyCheckedIsNotStored) {
  ASSERT_TRUE(admin_client_->PutKernel(RecordFor(64, 1'000'000), Effect::kOnlyCheck).ok());
  EXPECT_EQ(MissOf(MatMulExpression(64, 64, 64)), v1::MISS_REASON_UNKNOWN_COMPUTATION);
}

TEST_F(KernelServiceTest, WrongResultsAreRefusedAndTheFieldIsNamed) {
  using Record = v1::TuningRecord;
  const std::pair<const char*, std::function<void(Record&)>> cases[] = {
      {"record.expression_text", [](Record& r) { r.set_expression_text("nonsense"); }},
      {"record.device", [](Record& r) { r.mutable_device()->set_cores(-1); }},
      {"record.key.expression_digest",
       [](Record& r) { r.mutable_key()->set_expression_digest(std::string(64, '0')); }},
      {"record.key.canonical_form", [](Record& r) { r.mutable_key()->set_canonical_form("x"); }},
      {"record.key.device_fingerprint",
       [](Record& r) { r.mutable_key()->set_device_fingerprint("another"); }},
      {"record.key.compiler", [](Record& r) { r.mutable_key()->set_compiler("another"); }},
      {"record.key.numerics_policy", [](Record& r) { r.mutable_key()->clear_numerics_policy(); }},
      {"record.parameters", [](Record& r) { r.set_parameters("nonsense"); }},
      {"record.parameters", [](Record& r) { r.clear_parameters(); }},
      {"record.parameters",
       [](Record& r) {
         const Expression other = MatMulExpression(4'096, 4'096, 4'096);
         const KeyEnvironment gpu = KeyEnvironment::Of(FakeGpu());
         r.set_parameters(
             PredictKernel(other, FakeGpu(), MakeKernelKey(other, gpu), {})->record.parameters());
       }},
      {"record.time_ns", [](Record& r) { r.clear_time_ns(); }},
      {"record.time_ns", [](Record& r) { r.set_time_ns(-5); }},
      {"record.trials", [](Record& r) { r.set_trials(-1); }},
      {"record.origin", [](Record& r) { r.set_origin(std::string(1'000, 'o')); }},
      {"record.peaks",
       [](Record& r) { r.mutable_peaks()->set_fp32_flops_per_s(std::stod("nan")); }},
      {"record.peaks",
       [](Record& r) { r.mutable_peaks()->mutable_units()->set_fp8_flops_per_s(-1); }},
      {"record.time_ns",
       [](Record& r) {
         r.mutable_peaks()->set_fp32_flops_per_s(1e9);
         r.set_time_ns(1);
       }},
  };
  for (const auto& [field, change] : cases) {
    const Status error = PutChanged(change);
    EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument) << field << ": " << error;
    EXPECT_EQ(FieldOf(error), field) << error;
  }
  const Status other =
      PutChanged([](Record& r) { r.mutable_key()->set_generator_version(1'000'000); });
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(other), "OTHER_GENERATOR_VERSION");
  EXPECT_THAT(*store_->AllRecords(), SizeIs(0));
}

TEST_F(KernelServiceTest, APinnedRecordIsNeitherReplacedNorForgotten) {
  const std::string name = Put(64, 1'000'000).name();
  EXPECT_TRUE(admin_client_->Pin(name)->is_pinned());
  EXPECT_TRUE(admin_client_->Pin(name).ok());
  EXPECT_EQ(Put(64, 500'000).time_ns(), 1'000'000);
  EXPECT_EQ(admin_client_->Invalidate(name).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(client_->Lookup(MatMulExpression(64, 64, 64))->record().is_pinned());
  EXPECT_FALSE(admin_client_->Unpin("kernels/" + name.substr(8))->is_pinned());
  EXPECT_EQ(Put(64, 500'000).time_ns(), 500'000);
}

TEST_F(KernelServiceTest, AForgottenRecordIsAMiss) {
  const std::string name = Put(64, 1'000'000).name();
  EXPECT_EQ(admin_client_->Invalidate(name)->time_ns(), 1'000'000);
  EXPECT_EQ(MissOf(MatMulExpression(64, 64, 64)), v1::MISS_REASON_UNKNOWN_COMPUTATION);
  EXPECT_EQ(client_->GetKernel(name).status().code(), absl::StatusCode::kNotFound);
  for (const auto call : {&AdminClient::Invalidate, &AdminClient::Pin, &AdminClient::Unpin}) {
    EXPECT_EQ((*admin_client_.*call)(name).status().code(), absl::StatusCode::kNotFound);
    const Status error = (*admin_client_.*call)("nonsense").status();
    EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(FieldOf(error), "name");
  }
}

TEST_F(KernelServiceTest, AMissSaysWhy) {
  Put(64, 1'000'000);
  const Expression known = MatMulExpression(64, 64, 64);
  v1::DeviceSelection gpu;
  gpu.set_name("devices/cuda0");
  EXPECT_EQ(MissOf(MatMulExpression(64, 64, 64, ScalarType::kFloat64)),
            v1::MISS_REASON_UNKNOWN_COMPUTATION);
  EXPECT_EQ(MissOf(MatMulExpression(64, 64, 32)), v1::MISS_REASON_OTHER_SIZES);
  EXPECT_EQ(MissOf(known, {}, gpu), v1::MISS_REASON_OTHER_DEVICE);
  EXPECT_EQ(MissOf(MatMulExpression(64, 64, 32), {}, gpu), v1::MISS_REASON_OTHER_DEVICE);
  EXPECT_EQ(MissOf(known, v1::NUMERICS_POLICY_EXACT_ORDER), v1::MISS_REASON_OTHER_NUMERICS);
  v1::KernelKey key = Client::KeyOf(known);
  key.set_compiler("another");
  const Status error = client_->Lookup(key).status();
  EXPECT_EQ(ReasonOf(error), "MISS_REASON_OTHER_CODE");
  EXPECT_EQ(DetailOf<v1::LookupMiss>(error)->records_for_device(), 1);
  const Result<v1::LookupKernelResponse> compatible =
      client_->Lookup(key, v1::MATCH_KIND_COMPATIBLE);
  ASSERT_TRUE(compatible.ok()) << compatible.status();
  ASSERT_EQ(compatible->differences_size(), 1);
  EXPECT_EQ(compatible->differences(0).field(), v1::KEY_FIELD_COMPILER);
  EXPECT_EQ(compatible->differences(0).asked(), "another");
  EXPECT_EQ(compatible->differences(0).found(), "fake cc 1");
}

TEST_F(KernelServiceTest, EachLookupOfABatchSucceedsOrFailsAlone) {
  Put(64, 1'000'000);
  const auto results =
      client_->BatchLookup({Client::KeyOf(MatMulExpression(64, 64, 64)),
                            Client::KeyOf(MatMulExpression(64, 64, 32)), v1::KernelKey()});
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_THAT(*results, SizeIs(3));
  EXPECT_EQ(results->at(0)->record().time_ns(), 1'000'000);
  EXPECT_EQ(ReasonOf(results->at(1).status()), "MISS_REASON_OTHER_SIZES");
  EXPECT_EQ(results->at(2).status().code(), absl::StatusCode::kInvalidArgument);
  const Status error = client_->BatchLookup(std::vector<v1::KernelKey>(1'001)).status();
  EXPECT_EQ(FieldOf(error), "requests");
  EXPECT_THAT(*client_->BatchLookup({}), SizeIs(0));
}

TEST_F(KernelServiceTest, NearestGivesAKernelForTheSizesThatWereAskedFor) {
  const std::string near = Put(64, 1'000'000).name();
  Put(512, 9'000'000);
  const Expression wanted = MatMulExpression(96, 64, 64);
  const Result<v1::GetKernelResponse> found =
      client_->GetBestKernel(wanted, {}, v1::MATCH_KIND_NEAREST);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->match(), v1::MATCH_KIND_NEAREST);
  EXPECT_EQ(found->provenance(), v1::KERNEL_PROVENANCE_REPAIRED);
  EXPECT_EQ(found->made_from(), near);
  EXPECT_NEAR(found->distance(), 0.585, 0.001);
  ASSERT_EQ(found->differences_size(), 1);
  EXPECT_EQ(found->differences(0).field(), v1::KEY_FIELD_SIZES);
  EXPECT_EQ(found->differences(0).asked(), "96,64,64");
  EXPECT_EQ(found->differences(0).found(), "64,64,64");
  EXPECT_EQ(found->kernel().arguments(0).elements(), 96 * 64);
  EXPECT_THAT(found->kernel().arguments(0).extents(), ::testing::ElementsAre(96, 64));
  EXPECT_EQ(found->record().time_ns(), 0);
  // Weaker matches are not for who wants a stronger one.
  EXPECT_EQ(client_->GetBestKernel(wanted, {}, v1::MATCH_KIND_COMPATIBLE).status().code(),
            absl::StatusCode::kNotFound);
  v1::DeviceSelection gpu;
  gpu.set_name("devices/cuda0");
  EXPECT_EQ(ReasonOf(client_->GetBestKernel(wanted, gpu, v1::MATCH_KIND_NEAREST).status()),
            "MISS_REASON_OTHER_DEVICE");
  const auto predicted = client_->GetBestKernel(wanted, {}, v1::MATCH_KIND_PREDICTED);
  EXPECT_EQ(predicted->match(), v1::MATCH_KIND_PREDICTED);
  EXPECT_EQ(predicted->made_from(), near);
}

TEST_F(KernelServiceTest, AKernelComesAtOnceWhileTuningBegins) {
  tune_.reports_its_trial = false;  // else the best so far may come first
  const Expression wanted = MatMulExpression(64, 64, 64);
  const Result<v1::GetKernelResponse> first = client_->GetKernelAndTune(wanted, {}, {});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->match(), v1::MATCH_KIND_PREDICTED);
  EXPECT_EQ(first->provenance(), v1::KERNEL_PROVENANCE_RULES);
  EXPECT_THAT(first->kernel().source(), HasSubstr("mdh_matmul"));
  EXPECT_EQ(first->tuning_job(), "tuningJobs/1");
  EXPECT_EQ(client_->GetKernelAndTune(wanted, {}, {})->tuning_job(), "tuningJobs/1");
  FinishJob("tuningJobs/1");
  const Result<v1::GetKernelResponse> then = client_->GetKernelAndTune(wanted, {}, {});
  EXPECT_EQ(then->match(), v1::MATCH_KIND_EXACT);
  EXPECT_EQ(then->provenance(), v1::KERNEL_PROVENANCE_MEASURED);
  EXPECT_EQ(then->tuning_job(), "");
}

TEST_F(KernelServiceTest, AKernelComesAlsoIfTuningIsRefused) {
  const Expression wanted = MatMulExpression(64, 64, 64);
  const Result<v1::GetKernelResponse> found =
      client_->GetKernelAndTune(wanted, {}, {.budget_ns = -1});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->kernel().source(), HasSubstr("mdh_matmul"));
  EXPECT_EQ(found->tuning_error().code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  v1::DeviceSelection unattached;
  *unattached.mutable_description() = RecordFor(64, 1).device();
  unattached.mutable_description()->set_cores(77);
  EXPECT_EQ(client_->GetKernelAndTune(wanted, unattached, {})->tuning_error().code(),
            static_cast<int>(absl::StatusCode::kFailedPrecondition));
}

TEST_F(KernelServiceTest, WatchersHearOfEveryChangeAndGoOnWhereTheyWere) {
  std::string cursor;
  ASSERT_TRUE(client_
                  ->WatchKernels("",
                                 [&](const v1::WatchKernelsResponse& response) {
                                   EXPECT_EQ(response.changes_size(), 0);
                                   cursor = response.cursor();
                                   return false;
                                 })
                  .ok());
  const std::string name = Put(64, 1'000'000).name();
  ASSERT_TRUE(admin_client_->Pin(name).ok());
  ASSERT_TRUE(admin_client_->Unpin(name).ok());
  ASSERT_TRUE(admin_client_->Invalidate(name).ok());
  std::vector<v1::KernelChangeKind> kinds;
  ASSERT_TRUE(client_
                  ->WatchKernels(cursor,
                                 [&](const v1::WatchKernelsResponse& response) {
                                   for (const v1::KernelChange& change : response.changes()) {
                                     kinds.push_back(change.kind());
                                     EXPECT_EQ(change.record(), name);
                                   }
                                   return kinds.size() < 4;
                                 })
                  .ok());
  EXPECT_THAT(kinds, ::testing::ElementsAre(
                         v1::KERNEL_CHANGE_KIND_PUT, v1::KERNEL_CHANGE_KIND_PINNED,
                         v1::KERNEL_CHANGE_KIND_UNPINNED, v1::KERNEL_CHANGE_KIND_REMOVED));
}

TEST_F(KernelServiceTest, AWatcherWithAnotherCursorStartsOver) {
  const auto ignore = [](const v1::WatchKernelsResponse&) { return true; };
  const Status expired = client_->WatchKernels("1000", ignore);
  EXPECT_EQ(expired.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ReasonOf(expired), "CURSOR_EXPIRED");
  // As the database had before it was restored from a backup.
  const Status restored = client_->WatchKernels("0123456789abcdef.0", ignore);
  EXPECT_EQ(ReasonOf(restored), "CURSOR_EXPIRED");
  EXPECT_THAT(std::string(restored.message()), ::testing::HasSubstr("a backup was restored"));
  // As daemons gave it that knew of no incarnations; and as they do now.
  std::string given;
  const auto note = [&](const v1::WatchKernelsResponse& response) {
    given = response.cursor();
    return false;
  };
  EXPECT_TRUE(client_->WatchKernels("0", note).ok());
  EXPECT_EQ(given, store_->incarnation() + ".0");
  EXPECT_TRUE(client_->WatchKernels(given, note).ok());
  const Status wrong = client_->WatchKernels("nonsense", ignore);
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FieldOf(wrong), "cursor");
}

}  // namespace
}  // namespace mdh::kernel_service_test
