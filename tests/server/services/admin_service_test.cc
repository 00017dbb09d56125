#include "server/services/admin_service.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/bundle_file.h"
#include "proto/grpc_status.h"
#include "server/records/resource_names.h"
#include "server/store/bundle.h"
#include "tests/server/old_bundle.h"
#include "tests/server/run_sql.h"
#include "tests/server/service_fixture.h"

namespace mdh::admin_service_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AdminServiceTest : public ServiceTest {
 protected:
  static std::string Bundle(const std::vector<v1::TuningRecord>& records) {
    std::vector<StoredResult> results;
    for (const v1::TuningRecord& record : records) results.push_back({record, v1::Kernel()});
    return WriteBundle(v1::BundleHeader(), results);
  }
};

TEST_F(AdminServiceTest, AnExportedBundleGivesTheSameRecordsElsewhere) {
  for (const int64_t size : {64, 65, 66}) Put(size, 1'000'000);
  const Result<std::string> bundle = admin_client_->Export();
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  const std::vector<v1::TuningRecord> before = *store_->AllRecords();
  for (const v1::TuningRecord& record : before) {
    ASSERT_TRUE(admin_client_->Invalidate(record.name()).ok());
  }
  const auto checked = admin_client_->Import(*bundle, Effect::kOnlyCheck);
  EXPECT_EQ(checked->records(), 3);
  EXPECT_THAT(*store_->AllRecords(), IsEmpty());
  const Result<v1::ImportBundleResponse> imported = admin_client_->Import(*bundle);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->stored(), 3);
  EXPECT_THAT(*store_->AllRecords(), SizeIs(3));
  for (const v1::TuningRecord& record : before) {
    EXPECT_EQ(table_.FindRecord(record.key())->SerializeAsString(), record.SerializeAsString());
    EXPECT_TRUE(client_->GetKernel(record.name()).ok());
  }
  EXPECT_THAT(ReadBundle(*admin_client_->Export("another device"))->records, IsEmpty());
}

TEST_F(AdminServiceTest, BetterRecordsStayAndOtherVersionsAreLeftOut) {
  Put(64, 1'000'000);
  v1::TuningRecord other = RecordFor(65, 1'000'000);
  other.mutable_key()->set_generator_version(1);
  const auto imported =
      admin_client_->Import(Bundle({RecordFor(64, 2'000'000), other, RecordFor(66, 1'000'000)}));
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->records(), 3);
  EXPECT_EQ(imported->stored(), 1);
  EXPECT_EQ(imported->kept(), 1);
  EXPECT_EQ(imported->other_versions(), 1);
}

TEST_F(AdminServiceTest, BundlesOfTheVersionBeforeAreRead) {
  const auto imported = admin_client_->Import(WriteOldBundle({}, {RecordFor(64, 1'000'000)}));
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->stored(), 1);
}

TEST_F(AdminServiceTest, ABundleHasTheKernels) {
  const std::string name = Put(64, 1'000'000).name();
  const std::string bytes = *admin_client_->Export();
  const std::unique_ptr<BundleFile> bundle = *BundleFile::FromBytes(bytes);
  ASSERT_EQ(bundle->size(), 1u);
  EXPECT_EQ(bundle->Entry(0)->kernel, client_->GetKernel(name)->SerializeAsString());
}

TEST_F(AdminServiceTest, ABadBundleIsRefusedAsAWhole) {
  v1::TuningRecord wrong = RecordFor(65, 1'000'000);
  wrong.set_parameters("nonsense");
  const Status error = admin_client_->Import(Bundle({RecordFor(64, 1'000'000), wrong})).status();
  EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(error.message()), HasSubstr("record 1 of the bundle, matmul"));
  EXPECT_EQ(FieldOf(error), "records[1]");
  std::string damaged = Bundle({RecordFor(64, 1'000'000)});
  damaged[100] = static_cast<char>(damaged[100] ^ 4);
  EXPECT_EQ(ReasonOf(admin_client_->Import(damaged).status()), "BAD_BUNDLE");
  EXPECT_EQ(ReasonOf(admin_client_->Import(damaged.substr(0, 200)).status()), "BAD_BUNDLE");
  EXPECT_EQ(ReasonOf(admin_client_->Import("").status()), "BAD_BUNDLE");
  EXPECT_THAT(*store_->AllRecords(), IsEmpty());
}

TEST_F(AdminServiceTest, ABackupIsADatabaseWithEverything) {
  const std::string name = Put(64, 1'000'000).name();
  const Result<v1::BackupResponse> backup = admin_client_->Backup();
  ASSERT_TRUE(backup.ok()) << backup.status();
  EXPECT_GT(backup->size_bytes(), 0);
  Put(65, 1'000'000);
  const std::string path = directory_.File("backups/" + backup->file());
  const std::unique_ptr<Store> restored = *OpenSqliteStore({.path = path});
  ASSERT_THAT(*restored->AllRecords(), SizeIs(1));
  EXPECT_EQ(restored->AllRecords()->front().name(), name);
  EXPECT_TRUE(admin_client_->Backup().ok());
}

TEST_F(AdminServiceTest, WithoutAFolderBackupsAreRefused) {
  AdminServiceImpl without(*store_, lookups_->metrics(), *queue_, limits_, {.version = "test"},
                           access_);
  grpc::ServerContext context;
  v1::BackupResponse response;
  const Status error = FromGrpcStatus(without.Backup(&context, nullptr, &response));
  EXPECT_EQ(error.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(error), "NO_BACKUP_DIRECTORY");
}

TEST_F(AdminServiceTest, DamagedRowsAreFoundAndMadeAgain) {
  const std::string name = Put(64, 1'000'000).name();
  EXPECT_THAT(admin_client_->CheckIntegrity()->problems(), IsEmpty());
  RunSql(directory_.File("mdhd.sqlite"), "UPDATE kernels SET kernel = x'ffff'");
  const std::string id = *ParseRecordName(name);
  EXPECT_THAT(admin_client_->CheckIntegrity()->problems(),
              ElementsAre("kernel " + id + " cannot be read",
                          id + " is a kernel whose bytes have changed"));
  EXPECT_TRUE(client_->GetKernel(name).ok());
  EXPECT_THAT(admin_client_->CheckIntegrity()->problems(), IsEmpty());
}

TEST_F(AdminServiceTest, GarbageIsWhatTheRetentionGivesUp) {
  ASSERT_TRUE(client_->CreateJob(MatMulExpression(64, 64, 64), {}).ok());
  FinishJob("tuningJobs/1");
  ASSERT_TRUE(client_->CreateJob(MatMulExpression(65, 65, 65), {}).ok());
  // The fixture keeps ended jobs for no time at all.
  const auto counted = admin_client_->CollectGarbage(Effect::kOnlyCheck);
  EXPECT_EQ(counted->jobs(), 1);
  EXPECT_EQ(counted->trials(), 1);
  EXPECT_EQ(store_->ListJobs(0, 10)->size(), 2u);
  EXPECT_EQ(admin_client_->CollectGarbage()->jobs(), 1);
  ASSERT_EQ(store_->ListJobs(0, 10)->size(), 1u);
  EXPECT_EQ(store_->ListJobs(0, 10)->front().name(), "tuningJobs/2");
  EXPECT_THAT(*store_->ListTrials(1, 0, 0), IsEmpty());
  EXPECT_TRUE(client_->Lookup(MatMulExpression(64, 64, 64)).ok());
  EXPECT_EQ(admin_client_->CollectGarbage()->jobs(), 0);
}

TEST_F(AdminServiceTest, NothingIsGarbageByAClockThatCannotBeRight) {
  ASSERT_TRUE(client_->CreateJob(MatMulExpression(64, 64, 64), {}).ok());
  FinishJob("tuningJobs/1");
  StopServer(absl::ZeroDuration());
  StartServer();
  clock_error_ = absl::Hours(24 * 365 * 174);
  for (const Effect effect : {Effect::kReal, Effect::kOnlyCheck}) {
    const Status refused = admin_client_->CollectGarbage(effect).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("by this machine's clock, 2"));
  }
  EXPECT_EQ(store_->ListJobs(0, 10)->size(), 1u);
}

TEST_F(AdminServiceTest, CapabilitiesAndFigures) {
  const Result<v1::Capabilities> can = admin_client_->GetCapabilities();
  ASSERT_TRUE(can.ok()) << can.status();
  EXPECT_EQ(can->server_version(), "test");
  EXPECT_THAT(can->api_versions(), ElementsAre("mdh.v1"));
  EXPECT_EQ(can->max_batch_lookups(), 1'000);
  EXPECT_EQ(can->max_queued_jobs(), 4);
  EXPECT_TRUE(can->can_back_up());
  EXPECT_GT(can->schema_version(), 2);
  EXPECT_GT(can->search_techniques_size(), 3);
  const std::string name = Put(64, 1'000'000).name();
  ASSERT_TRUE(admin_client_->Pin(name).ok());
  ASSERT_TRUE(client_->Lookup(MatMulExpression(64, 64, 64)).ok());
  ASSERT_FALSE(client_->Lookup(MatMulExpression(65, 64, 64)).ok());
  const Result<v1::Statistics> statistics = admin_client_->GetStatistics();
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  EXPECT_EQ(statistics->records(), 1);
  EXPECT_EQ(statistics->pinned_records(), 1);
  EXPECT_EQ(statistics->lookup_hits(), 1);
  EXPECT_EQ(statistics->lookup_misses(), 1);
  EXPECT_EQ(statistics->latest_change(), 2);
  EXPECT_GT(statistics->database_bytes(), 0);
}

}  // namespace
}  // namespace mdh::admin_service_test
