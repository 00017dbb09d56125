// Whether the benchmark of the service works; its figures need a quiet machine and more time.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/programs.h"
#include "tests/server/store/postgres_server.h"
#include "tests/source_path.h"

namespace mdh::service_benchmark_test {
namespace {

using ::testing::HasSubstr;

TEST(ServiceBenchmark, MeasuresEveryCase) {
  const TemporaryDirectory directory;
  const std::string json = directory.File("service.json");
  const Ended ended =
      RunProgram({ProgramPath("service_benchmark"), "--programs", ProgramPath(""), "--expressions",
                  SourcePath("client/expressions"), "--quick", "--cases", "lookups,cache,many",
                  "--json", json, "--fact", "cpu=any"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  for (const char* name : {"one at a time, p50", "64 at a time, rate", "batch of 100",
                           "hit of the client's cache", "2000 records, start"}) {
    EXPECT_THAT(ended.out, HasSubstr(name));
    EXPECT_THAT(ReadFile(json), HasSubstr(name));
    EXPECT_THAT(ReadFile(directory.File("service.md")), HasSubstr(name));
  }
  EXPECT_THAT(ReadFile(directory.File("service.md")), HasSubstr("- cpu: any"));
}

TEST(ServiceBenchmark, MeasuresDaemonsThatShareAServer) {
  const Result<PostgresServer*> server = PostgresServer::Shared();
  if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status().message();
  const Ended ended = RunProgram({ProgramPath("fleet_benchmark"), "--programs", ProgramPath(""),
                                  "--expressions", SourcePath("client/expressions"), "--quick"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  for (const char* name :
       {"lookup, p50", "another daemon's lookup shows it, p99", "1000 records, start",
        "claims, 16 daemons", "cancel of another", "changes, 8 writers, most of three",
        "1000 workers: changes", "binds first: "}) {
    EXPECT_THAT(ended.out, HasSubstr(name));
  }
}

TEST(ServiceBenchmark, SaysWhatIsWrong) {
  const Ended ended =
      RunProgram({ProgramPath("service_benchmark"), "--programs", "/nowhere", "--quick"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("service_benchmark: error: "));
}

}  // namespace
}  // namespace mdh::service_benchmark_test
