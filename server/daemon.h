// The daemon put together: store, device, jobs and services behind one gRPC server.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/base/trusted_path.h"
#include "proto/expression_conversion.h"
#include "server/access/role.h"
#include "server/access/tls_certificates.h"
#include "server/help/trial_sharing.h"
#include "tuner/measure/confine/confinement.h"

namespace mdh {

struct DaemonOptions {
  std::vector<std::string> listen;  // "unix:/path" or "HOST:PORT"; at least one
  bool allow_any_host = false;
  mode_t socket_mode = 0600;
  TlsFiles tls;                        // for all TCP listeners
  TrustedUsers trusted;                // beside root and this user, with files and folders
  std::string principals_file;         // see Principals::Parse; empty: nobody has a name
  std::optional<Role> anonymous_role;  // of callers without a name; else as mdhd --help says
  std::string database;                // a path, or the address of a PostgreSQL database
  std::string daemon_name;             // among those that share the database; empty: one is made up
  int job_lease_s = 45;                // of jobs in a database that is shared
  // With the others: whether they are asked to measure trials for this daemon's jobs, and whether
  // it measures some for theirs.
  TrialSharing trial_sharing = TrialSharing::kBoth;
  int64_t max_database_bytes = 0;    // 0: no limit
  std::vector<std::string> records;  // bundles below it (OpenLayeredStore)
  std::string runner;                // path of mdh-runner
  std::string work_directory;
  ConfinementMode confinement = ConfinementMode::kAuto;  // of runners
  std::string devices;                     // as ParseDeviceList reads it; empty: all that are found
  std::string known_peaks;                 // a file for ReadKnownPeaks; empty: they are measured
  std::string default_device;              // as ParseDeviceName reads it; empty: the CPU of those
  std::vector<std::string> serve_devices;  // fingerprints whose records are served; none: all
  // Older than that, what is in memory is nothing to send clients to.
  absl::Duration max_staleness = absl::Seconds(60);
  // That a call waits for a database server that is away.
  absl::Duration store_patience = absl::Seconds(2);
  int max_queued_jobs = 256;
  int max_queued_jobs_per_source = 0;          // 0: no limit of its own
  std::string backup_directory;                // empty: no backups
  int64_t max_studies = 100'000;               // with those that have ended
  int64_t max_study_bytes = int64_t{4} << 30;  // of all of them with their trials
  int keep_jobs_days = 30;                     // ended ones
  int64_t max_ended_jobs = 100'000;
  ExpressionLimits limits;
  std::string metrics_listen;  // "HOST:PORT" for metrics over HTTP; empty: none
  std::string version;
  // Called before the sockets are opened: until then nothing was promised to anybody. Empty: nobody
  // is.
  std::function<void()> on_serving = {};
  // Called, from another thread, if the devices cannot be opened (AwaitDevices). Empty: nobody is.
  std::function<void()> on_failure = {};
};

// What went wrong at start; the exit codes of mdhd.
enum class StartFailure { kInternal = 1, kUsage = 2, kListen = 3, kDatabase = 4 };

// Thread-safe but for Stop, which is called once.
class Daemon {
 public:
  // Starts to serve lookups, and then to open the devices. On errors `failure` says what they are
  // about.
  static Result<std::unique_ptr<Daemon>> Start(const DaemonOptions& options, StartFailure& failure);
  // As Stop.
  virtual ~Daemon() = default;

  // Waits until the devices are open, or cannot be. Errors: as Start.
  virtual Status AwaitDevices(StartFailure& failure) = 0;

  // Refuses new jobs, stops running ones and stores their best, ends the runner, closes everything
  // and removes the sockets. The next daemon on the database goes on with the jobs.
  virtual void Stop() = 0;
  // Returns if nothing hangs: takes the locks that calls and jobs need.
  virtual void CheckThatNothingHangs() = 0;
  // Takes over changes in the files of principals and certificates, soon.
  virtual void Reload() = 0;
  // Addresses in the form for clients, with the ports that were chosen.
  virtual const std::vector<std::string>& addresses() const = 0;
};

}  // namespace mdh
