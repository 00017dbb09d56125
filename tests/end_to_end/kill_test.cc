// mdhd is killed at random moments under a mixed load: what it had acknowledged is there
// afterwards. MDH_KILLS in the environment is the number of kills (default 10).
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "client/admin_client.h"
#include "client/client.h"
#include "core/device/host_cpu.h"
#include "gmock/gmock.h"
#include "tests/end_to_end/daemon_test_fixture.h"
#include "tests/end_to_end/narrow_matmul.h"
#include "tuner/run/trial_limits.h"

namespace mdh::kill_test {
namespace {

using ::testing::IsEmpty;

int WantedKills() {
  const char* wanted = std::getenv("MDH_KILLS");
  return wanted == nullptr ? 10 : std::atoi(wanted);
}

// What the daemon has acknowledged.
struct Oracle {
  std::map<int64_t, int64_t> times;         // of records: size -> the best time that was stored
  std::map<std::string, bool> pins;         // record -> whether it is pinned
  std::map<std::string, std::string> jobs;  // request_id -> name
  std::map<std::string, int64_t> trials;    // job -> as many as were reported
  std::map<std::string, v1::TuningJobState> states;  // of jobs that were cancelled or paused
  // job -> the outcomes in its journal, by the numbers of the trials
  std::map<std::string, std::map<int64_t, std::string>> outcomes;
};

// Kernels in work at once: one runs, the others are compiled.
int MostInWork() { return TrialLimits::For(*DescribeHostCpu()).lookahead; }

class KillTest : public DaemonTest {
 protected:
  // Until the daemon is gone; only what was acknowledged counts. `own`: 0 or 1, so that two clients
  // have different records.
  void PutRecords(uint64_t seed, int64_t own) {
    std::mt19937_64 random(seed);
    const auto client = Client::Connect(address_);
    const auto admin = AdminClient::Connect(address_);
    while (client.ok() && admin.ok()) {
      const int64_t size = 8 + own + 2 * static_cast<int64_t>(random() % 20);
      auto made = (*client)->GetBestKernel(NarrowMatMul(size), {}, v1::MATCH_KIND_PREDICTED);
      if (!made.ok()) return;
      v1::TuningRecord record = made->record();
      record.set_time_ns(1'000'000 + static_cast<int64_t>(random() % 1'000'000));
      const Result<v1::PutKernelResponse> put = (*admin)->PutKernel(record);
      if (!put.ok()) return;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        oracle_.times[size] = put->record().time_ns();
      }
      TogglePin(**admin, put->record().name());
    }
  }
  void TogglePin(AdminClient& admin, const std::string& record) {
    bool is_pinned = false;
    {
      // While it is not known, it is not checked.
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto known = oracle_.pins.find(record);
      is_pinned = known != oracle_.pins.end() && known->second;
      oracle_.pins.erase(record);
    }
    if (!(is_pinned ? admin.Unpin(record) : admin.Pin(record)).ok()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    oracle_.pins[record] = !is_pinned;
  }
  void CreateJobs(uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto client = Client::Connect(address_);
    while (client.ok()) {
      const std::string request_id = "r" + std::to_string(random());
      const auto created = (*client)->CreateJob(
          NarrowMatMul(100 + static_cast<int64_t>(random() % 1'000)),
          {.budget_ns = 1'000'000'000, .max_trials = 5, .request_id = request_id});
      if (absl::IsResourceExhausted(created.status())) {
        absl::SleepFor(absl::Milliseconds(20));
        continue;
      }
      if (!created.ok()) return;
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!created->joined()) oracle_.jobs[request_id] = created->job().name();
      absl::SleepFor(absl::Milliseconds(5));
    }
  }
  // Cancels and pauses jobs, most of all those that run: whatever becomes of the daemon then, they
  // stay so.
  void StopJobs(uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto client = Client::Connect(address_);
    while (client.ok()) {
      const Result<v1::ListTuningJobsResponse> jobs = (*client)->ListJobs(50, "");
      if (!jobs.ok()) return;
      for (const v1::TuningJob& job : jobs->jobs()) {
        const bool runs = job.state() == v1::TUNING_JOB_STATE_RUNNING;
        const bool waits = job.state() == v1::TUNING_JOB_STATE_QUEUED;
        if (!(runs && random() % 3 == 0) && !(waits && random() % 20 == 0)) continue;
        const bool cancels = random() % 2 == 0;
        const std::string& name = job.name();
        v1::TuningJobState state = v1::TUNING_JOB_STATE_UNSPECIFIED;
        if (cancels) {
          const auto cancelled = (*client)->Cancel(name);
          if (cancelled.ok()) state = cancelled->state();
        } else {
          const auto paused = (*client)->Pause(name);
          if (paused.ok()) state = paused->state();
        }
        // One may have ended before.
        const bool counts =
            state != v1::TUNING_JOB_STATE_UNSPECIFIED && state != v1::TUNING_JOB_STATE_SUCCEEDED;
        if (!counts) continue;
        const std::lock_guard<std::mutex> lock(mutex_);
        oracle_.states[name] =
            cancels ? v1::TUNING_JOB_STATE_CANCELLED : v1::TUNING_JOB_STATE_PAUSED;
      }
      absl::SleepFor(absl::Milliseconds(5));
    }
  }
  // What is reported of trials has to stay true.
  void WatchJobs() {
    const auto client = Client::Connect(address_);
    while (client.ok()) {
      const Result<v1::ListTuningJobsResponse> jobs = (*client)->ListJobs(50, "");
      if (!jobs.ok()) return;
      const std::lock_guard<std::mutex> lock(mutex_);
      for (const v1::TuningJob& job : jobs->jobs()) {
        oracle_.trials[job.name()] = job.progress().trials();
      }
      absl::SleepFor(absl::Milliseconds(10));
    }
  }
  void LoadAndKill(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::thread> clients;
    clients.emplace_back([&] { PutRecords(seed, 0); });
    clients.emplace_back([&] { PutRecords(seed + 1'000, 1); });
    clients.emplace_back([&] { CreateJobs(seed); });
    clients.emplace_back([&] { WatchJobs(); });
    clients.emplace_back([&] { StopJobs(seed); });
    absl::SleepFor(absl::Milliseconds(50 + static_cast<int64_t>(random() % 400)));
    daemon_->Signal(SIGKILL);
    EXPECT_EQ(daemon_->Wait(), 128 + SIGKILL);
    for (std::thread& client : clients) client.join();
  }
  void ExpectNothingLost() {
    const std::unique_ptr<Client> client = *Client::Connect(address_);
    const std::unique_ptr<AdminClient> admin = *AdminClient::Connect(address_);
    const Result<v1::CheckIntegrityResponse> check = admin->CheckIntegrity();
    ASSERT_TRUE(check.ok()) << check.status();
    EXPECT_THAT(check->problems(), IsEmpty());
    for (const auto& [size, time_ns] : oracle_.times) {
      const Result<v1::LookupKernelResponse> found = client->Lookup(NarrowMatMul(size));
      ASSERT_TRUE(found.ok()) << size << ": " << found.status();
      // Another client may have stored a better one without hearing of it.
      EXPECT_LE(found->record().time_ns(), time_ns) << size;
      EXPECT_TRUE(client->GetKernel(found->record().name()).ok());
      const auto pin = oracle_.pins.find(found->record().name());
      if (pin == oracle_.pins.end()) continue;
      EXPECT_EQ(found->record().is_pinned(), pin->second) << size;
    }
    for (const auto& [request_id, name] : oracle_.jobs) {
      const Result<v1::GetTuningJobResponse> job = client->GetJob(name);
      ASSERT_TRUE(job.ok()) << name << ": " << job.status();
      EXPECT_EQ(job->job().request_id(), request_id);
      EXPECT_NE(job->job().state(), v1::TUNING_JOB_STATE_FAILED) << job->job().error().message();
    }
    for (const auto& [name, trials] : oracle_.trials) {
      const Result<v1::GetTuningJobResponse> job = client->GetJob(name);
      ASSERT_TRUE(job.ok()) << name << ": " << job.status();
      EXPECT_GE(job->job().progress().trials(), trials) << name;
    }
    for (const auto& [name, state] : oracle_.states) {
      const Result<v1::GetTuningJobResponse> job = client->GetJob(name);
      ASSERT_TRUE(job.ok()) << name << ": " << job.status();
      EXPECT_EQ(job->job().state(), state) << name;
    }
    int without_end = 0;
    for (const auto& [request_id, name] : oracle_.jobs) without_end += ReadJournal(*client, name);
    // One that ran, and those that were compiled ahead.
    EXPECT_LE(without_end - without_end_, MostInWork());
    without_end_ = without_end;
  }
  // Compares a job's journal with what it was before, and gives the number of trials that were
  // begun and have no end. What has one is never begun again.
  int ReadJournal(Client& client, const std::string& name) {
    std::map<int64_t, std::string> outcomes;
    std::set<std::string> measured;
    std::string page;
    do {
      const Result<v1::ListTuningTrialsResponse> trials = client.ListTuningTrials(name, 100, page);
      EXPECT_TRUE(trials.ok()) << trials.status();
      if (!trials.ok()) return 0;
      page = trials->next_page_token();
      for (const v1::TuningTrial& trial : trials->trials()) {
        outcomes[trial.number()] = trial.outcome();
        EXPECT_EQ(measured.count(trial.kernel_digest()), 0u)
            << name << " has measured trial " << trial.number() << " before";
        if (!trial.outcome().empty()) measured.insert(trial.kernel_digest());
      }
    } while (!page.empty());
    for (const auto& [number, outcome] : oracle_.outcomes[name]) {
      EXPECT_EQ(outcomes[number], outcome) << name << ", trial " << number;
    }
    const auto has_end = [](const auto& trial) { return !trial.second.empty(); };
    const auto ended = std::count_if(outcomes.begin(), outcomes.end(), has_end);
    const int without_end = static_cast<int>(outcomes.size()) - static_cast<int>(ended);
    std::erase_if(outcomes, [&](const auto& trial) { return !has_end(trial); });
    oracle_.outcomes[name] = std::move(outcomes);
    return without_end;
  }

  std::mutex mutex_;
  Oracle oracle_;
  int without_end_ = 0;  // trials without an end in all journals
};

TEST_F(KillTest, NothingThatWasAcknowledgedIsLost) {
  const std::vector<std::string> options = {"--devices", "cpu", "--max-queued-jobs", "20"};
  for (int n = 0; n < WantedKills() && !HasFatalFailure(); ++n) {
    StartDaemon(options);
    ExpectNothingLost();
    LoadAndKill(static_cast<uint64_t>(n) + 1);
  }
  StartDaemon(options);
  ExpectNothingLost();
  EXPECT_GT(oracle_.times.size(), 0u);
  EXPECT_GT(oracle_.jobs.size(), 0u);
  EXPECT_GT(oracle_.states.size(), 0u);
}

}  // namespace
}  // namespace mdh::kill_test
