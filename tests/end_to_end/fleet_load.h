// What clients do to several daemons that are killed meanwhile, and what was acknowledged to them.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/admin_client.h"
#include "client/client.h"
#include "core/base/status.h"

namespace mdh {

// A record that one client alone puts, pins and removes.
struct KnownRecord {
  std::string name;
  bool is_there = false;
  // While it is there: the time that was acknowledged, and the best that was asked for since.
  int64_t time_ns = 0;
  int64_t least_ns = 0;
  bool is_pinned = false;
  // What was asked for last was not answered: it may have been done.
  bool may_be_gone = false;
  bool may_be_pinned_or_not = false;
};

struct LoadCounts {
  std::atomic<int64_t> puts = 0, pins = 0, removals = 0, jobs = 0, joined = 0, stops = 0;
  std::atomic<int64_t> lookups = 0, failed_lookups = 0, failures = 0;
  std::atomic<int64_t> latest_put_ns = 0, longest_pause_ns = 0;  // between two puts
  int64_t Acknowledgements() const { return puts + pins + removals + jobs + joined + stops; }
};

// That the daemon has what is known of the record.
void ExpectRecord(Client& client, int64_t size, const KnownRecord& known);

// Threads of clients, each of which goes to another daemon when its own does not answer.
class FleetLoad {
 public:
  explicit FleetLoad(std::vector<std::string> addresses) : addresses_(std::move(addresses)) {}

  // Each until Stop was called, from a thread of its own. `own`: different numbers for different
  // clients, below kPutters.
  static constexpr int kPutters = 3;
  void PutRecords(int own);
  void CreateJobs(uint64_t seed);
  void StopJobs(uint64_t seed);
  // From what BeginToWatch has noted.
  void WatchRecords(uint64_t seed);
  void LookUp(uint64_t seed);
  void Stop() {
    is_over_ = true;
    stop_.request_stop();
  }

  // Before the first change, and after the last one of the load: until that number was shown.
  Status BeginToWatch();
  Status WatchUntil(int64_t number);

  // What was acknowledged; after the threads have ended.
  const std::map<int64_t, KnownRecord>& records(int own) const { return records_[own]; }
  const std::map<std::string, std::string>& jobs() const { return jobs_; }  // by request_id
  // Jobs whose end was asked for.
  const std::set<std::string>& cancelled() const { return cancelled_; }
  // Changes that a watch showed, by number, and what was wrong with it.
  struct Watched {
    std::map<int64_t, std::pair<v1::KernelChangeKind, std::string>> changes;
    std::vector<std::string> faults;
  };
  const Watched& watched() const { return watched_; }
  const LoadCounts& counts() const { return counts_; }
  // Between two puts that were acknowledged, since it was last asked for.
  absl::Duration TakeLongestPause() {
    return absl::Nanoseconds(counts_.longest_pause_ns.exchange(0));
  }

 private:
  // A connection to some daemon; null when the load is over.
  template <typename Connected>
  std::unique_ptr<Connected> Connect(std::mt19937_64& random) const;
  // Whether the answer counts; else whoever asked connects anew.
  bool Note(const Status& answer);
  bool PutOne(AdminClient& admin, const v1::TuningRecord& record, KnownRecord& known);
  bool TogglePin(AdminClient& admin, KnownRecord& known);
  bool Remove(AdminClient& admin, KnownRecord& known);
  bool CreateOne(Client& client, std::mt19937_64& random, std::string& request_id, int64_t& size);
  bool StopSome(Client& client, std::mt19937_64& random);
  void NoteChanges(const v1::WatchKernelsResponse& response);

  const std::vector<std::string> addresses_;
  std::atomic<bool> is_over_ = false;
  std::stop_source stop_;
  std::array<std::map<int64_t, KnownRecord>, kPutters> records_;
  std::map<std::string, std::string> jobs_;
  std::set<std::string> cancelled_;
  Watched watched_;
  std::string cursor_;
  absl::Mutex mutex_;  // of jobs_
  LoadCounts counts_;
};

}  // namespace mdh
