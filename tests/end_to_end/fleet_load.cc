#include "tests/end_to_end/fleet_load.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/narrow_matmul.h"

namespace mdh {
namespace {

constexpr absl::Duration kBetweenCalls = absl::Milliseconds(5);
// Of a call to a daemon that is killed, or whose server is.
const ClientOptions kImpatient = {.connect_limit_ns = 500'000'000, .call_limit_ns = 10'000'000'000};

}  // namespace

void ExpectRecord(Client& client, int64_t size, const KnownRecord& known) {
  const Result<v1::LookupKernelResponse> found = client.Lookup(NarrowMatMul(size));
  if (known.may_be_gone) return;
  if (!known.is_there) {
    // One that was put without an answer may be there.
    EXPECT_TRUE(absl::IsNotFound(found.status()) || known.least_ns != 0) << size;
    return;
  }
  ASSERT_TRUE(found.ok()) << size << ": " << found.status();
  EXPECT_LE(found->record().time_ns(), known.time_ns) << size;
  EXPECT_GE(found->record().time_ns(), known.least_ns) << size;
  EXPECT_TRUE(client.GetKernel(found->record().name()).ok()) << size;
  if (known.may_be_pinned_or_not) return;
  EXPECT_EQ(found->record().is_pinned(), known.is_pinned) << size;
}

template <typename Connected>
std::unique_ptr<Connected> FleetLoad::Connect(std::mt19937_64& random) const {
  while (!is_over_) {
    auto connected = Connected::Connect(addresses_[random() % addresses_.size()], kImpatient);
    if (connected.ok()) return *std::move(connected);
    absl::SleepFor(absl::Milliseconds(20));
  }
  return nullptr;
}

bool FleetLoad::Note(const Status& answer) {
  if (!answer.ok()) ++counts_.failures;
  return answer.ok();
}

bool FleetLoad::PutOne(AdminClient& admin, const v1::TuningRecord& record, KnownRecord& known) {
  // Whether it was done or not, it is not worse than it was.
  const bool was_there = known.is_there && !known.may_be_gone;
  known.least_ns =
      known.least_ns == 0 ? record.time_ns() : std::min(known.least_ns, record.time_ns());
  const Result<v1::PutKernelResponse> put = admin.PutKernel(record);
  if (!Note(put.status())) {
    known.is_there = was_there;
    return false;
  }
  known.name = put->record().name();
  known.is_there = true;
  known.may_be_gone = false;
  known.time_ns = put->record().time_ns();
  ++counts_.puts;
  const int64_t now_ns = absl::GetCurrentTimeNanos();
  const int64_t before_ns = counts_.latest_put_ns.exchange(now_ns);
  int64_t longest_ns = counts_.longest_pause_ns;
  while (before_ns > 0 && now_ns - before_ns > longest_ns &&
         !counts_.longest_pause_ns.compare_exchange_weak(longest_ns, now_ns - before_ns)) {
  }
  return true;
}

bool FleetLoad::TogglePin(AdminClient& admin, KnownRecord& known) {
  known.may_be_pinned_or_not = true;
  const Result<v1::TuningRecord> now =
      known.is_pinned ? admin.Unpin(known.name) : admin.Pin(known.name);
  if (!Note(now.status())) return false;
  known.is_pinned = now->is_pinned();
  known.may_be_pinned_or_not = false;
  ++counts_.pins;
  return true;
}

bool FleetLoad::Remove(AdminClient& admin, KnownRecord& known) {
  known.may_be_gone = true;
  const Status removed = admin.Invalidate(known.name).status();
  if (!Note(removed)) return false;
  known.is_there = false;
  known.may_be_gone = false;
  known.least_ns = 0;
  ++counts_.removals;
  return true;
}

void FleetLoad::PutRecords(int own) {
  std::mt19937_64 random(own + 1);
  std::map<int64_t, v1::TuningRecord> made;
  std::map<int64_t, KnownRecord>& known = records_[own];
  while (true) {
    const auto client = Connect<Client>(random);
    if (client == nullptr) return;
    // The same daemon or another one: what both say has to be true.
    const auto admin = Connect<AdminClient>(random);
    if (admin == nullptr) return;
    bool goes_on = true;
    while (goes_on && !is_over_) {
      const int64_t size = 8 + own + kPutters * static_cast<int64_t>(random() % 20);
      v1::TuningRecord& record = made[size];
      if (record.name().empty()) {
        auto kernel = client->GetBestKernel(NarrowMatMul(size), {}, v1::MATCH_KIND_PREDICTED);
        goes_on = Note(kernel.status());
        if (!goes_on) break;
        record = kernel->record();
        record.clear_is_pinned();
      }
      record.set_time_ns(1'000'000 + static_cast<int64_t>(random() % 1'000'000));
      KnownRecord& one = known[size];
      goes_on = PutOne(*admin, record, one);
      if (goes_on && random() % 4 == 0) goes_on = TogglePin(*admin, one);
      const bool is_free = !one.is_pinned && !one.may_be_pinned_or_not;
      if (goes_on && is_free && random() % 8 == 0) goes_on = Remove(*admin, one);
      absl::SleepFor(kBetweenCalls);
    }
  }
}

bool FleetLoad::CreateOne(Client& client, std::mt19937_64& random, std::string& request_id,
                          int64_t& size) {
  if (request_id.empty()) {
    request_id = absl::StrCat("r", random());
    size = 100 + static_cast<int64_t>(random() % 200);
  }
  const auto created = client.CreateJob(
      NarrowMatMul(size),
      {.budget_ns = 1'000'000'000, .max_trials = 4, .force = true, .request_id = request_id});
  if (absl::IsResourceExhausted(created.status())) {
    absl::SleepFor(absl::Milliseconds(20));
    return true;
  }
  // It is asked for once more, with the same id.
  if (!Note(created.status())) return false;
  if (created->joined()) {
    ++counts_.joined;
  } else {
    ++counts_.jobs;
    absl::MutexLock lock(&mutex_);
    jobs_[request_id] = created->job().name();
  }
  request_id.clear();
  return true;
}

void FleetLoad::CreateJobs(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string request_id;
  int64_t size = 0;
  while (const auto client = Connect<Client>(random)) {
    while (!is_over_ && CreateOne(*client, random, request_id, size)) {
      absl::SleepFor(2 * kBetweenCalls);
    }
  }
}

bool FleetLoad::StopSome(Client& client, std::mt19937_64& random) {
  const Result<v1::ListTuningJobsResponse> jobs = client.ListJobs(50, "");
  if (!Note(jobs.status())) return false;
  for (const v1::TuningJob& job : jobs->jobs()) {
    const bool runs = job.state() == v1::TUNING_JOB_STATE_RUNNING;
    const bool waits = job.state() == v1::TUNING_JOB_STATE_QUEUED;
    const bool is_paused = job.state() == v1::TUNING_JOB_STATE_PAUSED;
    if (!runs && !waits && !is_paused) continue;
    if (random() % (waits ? 20 : 3) != 0) continue;
    Status stopped;
    if (is_paused) {
      stopped = client.Resume(job.name()).status();
    } else if (random() % 3 == 0) {
      stopped = client.Pause(job.name()).status();
    } else {
      stopped = client.Cancel(job.name()).status();
      if (stopped.ok()) cancelled_.insert(job.name());
    }
    // One may have ended before.
    if (absl::IsFailedPrecondition(stopped)) continue;
    if (!Note(stopped)) return false;
    ++counts_.stops;
  }
  return true;
}

void FleetLoad::StopJobs(uint64_t seed) {
  std::mt19937_64 random(seed);
  while (const auto client = Connect<Client>(random)) {
    while (!is_over_ && StopSome(*client, random)) absl::SleepFor(4 * kBetweenCalls);
  }
}

void FleetLoad::NoteChanges(const v1::WatchKernelsResponse& response) {
  for (const v1::KernelChange& change : response.changes()) {
    const int64_t expected = watched_.changes.empty() ? 1 : watched_.changes.rbegin()->first + 1;
    if (change.number() != expected) {
      watched_.faults.push_back(absl::StrCat("change ", change.number(), " instead of ", expected));
    }
    watched_.changes[change.number()] = {change.kind(), change.record()};
  }
}

void FleetLoad::WatchRecords(uint64_t seed) {
  std::mt19937_64 random(seed);
  while (const auto client = Connect<Client>(random)) {
    const auto take = [&](const v1::WatchKernelsResponse& response) {
      NoteChanges(response);
      cursor_ = response.cursor();
      // Now and then somewhere else, from where it was.
      return random() % 50 != 0;
    };
    const Status ended = client->WatchKernels(cursor_, take, stop_.get_token());
    if (absl::IsOutOfRange(ended)) watched_.faults.emplace_back(ended.message());
  }
}

Status FleetLoad::BeginToWatch() {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(addresses_[0]));
  return client->WatchKernels("", [&](const v1::WatchKernelsResponse& response) {
    cursor_ = response.cursor();
    return false;
  });
}

Status FleetLoad::WatchUntil(int64_t number) {
  const auto is_there = [&] {
    return !watched_.changes.empty() && watched_.changes.rbegin()->first >= number;
  };
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(addresses_[0]));
  if (is_there()) return absl::OkStatus();
  return client->WatchKernels(cursor_, [&](const v1::WatchKernelsResponse& response) {
    NoteChanges(response);
    cursor_ = response.cursor();
    return !is_there();
  });
}

void FleetLoad::LookUp(uint64_t seed) {
  std::mt19937_64 random(seed);
  while (const auto client = Connect<Client>(random)) {
    bool is_there = true;
    while (!is_over_ && is_there) {
      const int64_t size = 8 + static_cast<int64_t>(random() % (20 * kPutters));
      const Status found = client->Lookup(NarrowMatMul(size)).status();
      is_there = found.ok() || absl::IsNotFound(found);
      ++(is_there ? counts_.lookups : counts_.failed_lookups);
      absl::SleepFor(kBetweenCalls);
    }
  }
}

}  // namespace mdh
