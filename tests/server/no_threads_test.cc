// Where the system gives no thread, what needs one is refused by name, or goes on without.
#include "core/base/start_thread.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/jobs/remeasurer.h"
#include "server/operate/file_watch.h"
#include "server/services/housekeeper.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/core/base/without_threads.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/service_fixture.h"
#include "tests/server/temporary_directory.h"

namespace mdh::no_threads_test {
namespace {

using ::testing::HasSubstr;

void ExpectNoThread(const Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no thread can be started"));
}

class NoThreadsTest : public ServiceTest {};

TEST_F(NoThreadsTest, TheyComeBack) {
  {
    const WithoutThreads none;
    ExpectNoThread(StartThread([] {}).status());
  }
  Result<std::thread> thread = StartThread([] {});
  ASSERT_TRUE(thread.ok()) << thread.status();
  thread->join();
}

TEST_F(NoThreadsTest, WhatTheDaemonCannotBeWithoutIsRefused) {
  const WithoutThreads none;
  ExpectNoThread(Housekeeper::Start(*store_, AdminOptions(), HousekeeperOptions()).status());
  ExpectNoThread(FileWatch::Start({}).status());
  ExpectNoThread(Remeasurer::Start(table_, catalogue_, *queue_, RemeasurerOptions()).status());
}

TEST_F(NoThreadsTest, AServerWithoutAThreadEndsInOrder) {
  KernelServiceImpl service(*finder_, *store_, limits_, access_);
  LookupServer lookups(service, *finder_, table_);
  WatchStreams watches;
  service.AddTo(watches);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + directory_.File("other"), grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  lookups.AddTo(builder);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  {
    const WithoutThreads none;
    ExpectNoThread(lookups.Start());
    ExpectNoThread(watches.Start(lookups.queue()));
  }
  watches.Stop();
  server->Shutdown();
  server->Wait();
  watches.Join();
  lookups.Stop();
  watches.Clear();
}

TEST_F(NoThreadsTest, ADatabaseIsUsedThoughItsPagesCannotBeChecked) {
  const std::string path = directory_.File("large.sqlite");
  ASSERT_TRUE(OpenSqliteStore({.path = path}).ok());
  const WithoutThreads none;
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path, .max_checked_bytes = 1});
  v1::Statistics statistics;
  ASSERT_TRUE(store->Count(statistics).ok());
  EXPECT_EQ(statistics.page_check().state(), v1::PAGE_CHECK_STATE_STOPPED);
  EXPECT_THAT(statistics.page_check().problem(), HasSubstr("no thread can be started"));
  EXPECT_TRUE(store->ForEachRecord({}, [](std::string_view) {}).ok());
}

}  // namespace
}  // namespace mdh::no_threads_test
