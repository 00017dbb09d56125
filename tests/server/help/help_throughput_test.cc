// How many times as fast one job is on several daemons: real queues, and real offers in a real
// PostgreSQL database; devices that sleep, and a search and a generator that cost nothing, as there
// are more daemons here than cores. The short form compares one daemon with four; with
// MDH_HELP_CAMPAIGN=1 one with two, four and eight, for trials of 100 and of 20 ms, as a table.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/postgres/postgres_store.h"
#include "tests/server/help/helping_daemon.h"
#include "tests/server/store/postgres_server.h"
#include "tuner/run/runner_pool.h"
#include "tuner/run/trial_history.h"

namespace mdh::help_throughput_test {
namespace {

constexpr int kInWork = 32;

Kernel OneKernel() {
  Kernel kernel;
  kernel.entry = "mdh_fake";
  kernel.source = "int fake;";
  return kernel;
}

// Stands for mdh::Tune: measures one kernel again and again, until it is cancelled.
Result<TuningResult> MeasureOneKernel(const Expression& expression,
                                      absl::Span<Runner* const> runners,
                                      const TuningOptions& options,
                                      const std::function<void(const TuningProgress&)>& on_trial,
                                      const std::atomic<bool>& cancelled) {
  RunnerPool pool(runners, kInWork);
  MDH_RETURN_IF_ERROR(pool.SetProblem(expression, 1, {}));
  const Kernel kernel = OneKernel();
  Trial trial;
  trial.identity = IdentityOf(kernel);
  trial.parameters = DefaultParameters(expression, OpenMpSimdRegistersModel(), FakeCpu());
  int64_t submitted = 0;
  while (!cancelled) {
    for (Runner* runner : options.joining()) pool.Add(runner);
    for (; submitted - trial.number < kInWork; ++submitted) {
      options.on_start(trial.parameters, trial.identity);
      pool.Submit(submitted, kernel, {});
    }
    MDH_ASSIGN_OR_RETURN(const Runner::Finished finished, pool.Next());
    if (WasCancelled(finished.measurement)) break;
    ++trial.number;
    trial.measurement = finished.measurement;
    on_trial({&trial, trial.number, 0, SearchTime(trial.measurement), &trial.parameters, 1});
  }
  return absl::CancelledError("cancelled");
}

class HelpThroughput : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<PostgresServer*> server = PostgresServer::Shared();
    if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status().message();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *server;
  }

  // Trials in a second of one job, which so many daemons of one device work on, from when all do.
  double TrialsPerSecond(int daemons, absl::Duration each, absl::Duration time) {
    const std::string address = *server_->NewDatabase();
    std::vector<std::unique_ptr<Store>> stores;
    std::vector<std::unique_ptr<HelpingDaemon>> all;
    for (int n = 0; n < daemons; ++n) {
      stores.push_back(*OpenPostgresStore({.address = address}));
      all.push_back(std::make_unique<HelpingDaemon>(
          *stores.back(),
          HelpingDaemonOptions{
              .name = absl::StrCat("daemon", n),
              .each = each,
              .tune = MeasureOneKernel,
              .derive = [](const auto&, const auto&) -> Result<Kernel> { return OneKernel(); }}));
    }
    HelpingDaemon& owner = *all.front();
    const int64_t job = owner.Create(64, 0);
    const auto measured = [&] { return owner.Get(job).progress().trials(); };
    EXPECT_TRUE(Eventually([&] {
      return owner.Get(job).running_devices_size() == daemons && measured() > 5 * daemons;
    }));
    const absl::Time start = absl::Now();
    const int64_t before = measured();
    absl::SleepFor(time);
    const auto trials = static_cast<double>(measured() - before);
    const absl::Duration taken = absl::Now() - start;
    EXPECT_TRUE(owner.queue().Cancel(job).ok());
    EXPECT_TRUE(owner.HasState(job, v1::TUNING_JOB_STATE_CANCELLED));
    // Helpers go before what they use.
    for (auto daemon = all.rbegin(); daemon != all.rend(); ++daemon) daemon->reset();
    return trials / absl::ToDoubleSeconds(taken);
  }

  PostgresServer* server_ = nullptr;
};

TEST_F(HelpThroughput, FourDaemonsAreAboutFourTimesAsFastAsOne) {
  if (std::getenv("MDH_HELP_CAMPAIGN") != nullptr) GTEST_SKIP() << "is part of the campaign";
  constexpr absl::Duration kEach = absl::Milliseconds(100);
  const double one = TrialsPerSecond(1, kEach, absl::Seconds(2));
  const double four = TrialsPerSecond(4, kEach, absl::Seconds(2));
  // On a machine that does other things.
  EXPECT_GT(four, 3 * one) << one << " and " << four << " trials/s";
}

TEST_F(HelpThroughput, Campaign) {
  if (std::getenv("MDH_HELP_CAMPAIGN") == nullptr) GTEST_SKIP() << "MDH_HELP_CAMPAIGN is not set";
  std::printf("trial ms | daemons | trials/s | times one | of ideal\n");
  for (const int each_ms : {100, 20}) {
    double one = 0;
    for (const int daemons : {1, 2, 4, 8}) {
      const double rate = TrialsPerSecond(daemons, absl::Milliseconds(each_ms), absl::Seconds(8));
      if (daemons == 1) one = rate;
      std::printf("%8d | %7d | %8.1f | %9.2f | %8.2f\n", each_ms, daemons, rate, rate / one,
                  rate / one / daemons);
      std::fflush(stdout);
      if (each_ms == 100) {
        EXPECT_GE(rate, 0.9 * daemons * one);
      }
    }
  }
}

}  // namespace
}  // namespace mdh::help_throughput_test
