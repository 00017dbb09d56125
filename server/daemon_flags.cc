#include "server/daemon_flags.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "core/device/cgroup.h"
#include "proto/endpoint.h"
#include "server/access/principals.h"
#include "server/devices/device_list.h"
#include "server/devices/device_names.h"

namespace mdh {
namespace {

std::string DefaultDatabase(const UserFolders& folders) {
  if (!folders.state.empty()) return folders.state + "/mdhd/mdhd.sqlite";
  return folders.home + "/.local/state/mdhd/mdhd.sqlite";
}

std::string DefaultRunner() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "mdh-runner").string();
}

// A quarter of the memory, or of what a control group leaves of it: inputs, outputs, a reference
// and staged copies must fit side by side.
int64_t DefaultBufferLimit() {
  const int64_t machine = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  const int64_t group = ReadCgroupLimits().memory_bytes;
  return (group > 0 ? std::min(group, machine) : machine) / 4;
}

void AddAccessFlags(CLI::App& app, DaemonOptions& options) {
  CLI::Option* certificate =
      app.add_option("--tls-certificate", options.tls.certificate,
                     "TLS on all TCP addresses, with the certificate in this PEM file; read again "
                     "when it changes, as are the key and the authorities")
          ->envname("MDHD_TLS_CERTIFICATE");
  CLI::Option* key = app.add_option("--tls-key", options.tls.key, "PEM file with its key")
                         ->envname("MDHD_TLS_KEY")
                         ->needs(certificate);
  certificate->needs(key);
  CLI::Option* client_ca =
      app.add_option("--tls-client-ca", options.tls.client_ca,
                     "ask clients for certificates of the authorities in this PEM file")
          ->envname("MDHD_TLS_CLIENT_CA")
          ->needs(certificate);
  app.add_option_function<std::string>(
         "--tls-client-auth",
         [&options](const std::string& word) {
           options.tls.require_client_certificate = word == "require";
         },
         "whether clients must have one: require, or request: who has none may have a token "
         "[require]")
      ->envname("MDHD_TLS_CLIENT_AUTH")
      ->check(CLI::IsMember({"require", "request"}))
      ->needs(client_ca);
  app.add_option(
         "--principals-file", options.principals_file,
         "who may call: lines 'token NAME ROLE SHA256' (as mdhd make-token prints them) and "
         "'certificate NAME ROLE'; read again when it changes, and on SIGHUP")
      ->envname("MDHD_PRINCIPALS_FILE");
  app.add_option_function<std::string>(
         "--anonymous-role",
         [&options](const std::string& name) { options.anonymous_role = *ParseRole(name); },
         "role of callers without a name: none, reader, tuner, publisher or admin [admin on Unix "
         "sockets and loopback addresses if there are neither principals nor TLS, else reader]")
      ->envname("MDHD_ANONYMOUS_ROLE")
      ->check(
          [](const std::string& name) { return std::string(ParseRole(name).status().message()); });
}

void AddTrustFlag(CLI::App& app, DaemonOptions& options) {
  app.add_option_function<std::string>(
         "--trusted-users",
         [&options](const std::string& users) { options.trusted = *TrustedUsers::Parse(users); },
         "who may own or write what is read, beside root and the user of the daemon (database, "
         "principals, certificates, work directory, folders of sockets): names, with commas "
         "between them; *: "
         "everybody, as in a container with one user")
      ->envname("MDHD_TRUSTED_USERS")
      ->check([](const std::string& users) {
        return std::string(TrustedUsers::Parse(users).status().message());
      });
}

// What CLI11 asks of a check: empty, or what is wrong.
std::string WhyNoDuration(const std::string& text) {
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) && duration > absl::ZeroDuration()) return "";
  return absl::StrCat("'", text, "' is no duration such as 2s, 500ms or 1m30s");
}

void AddDurationFlag(CLI::App& app, const char* flag, const char* variable, absl::Duration& value,
                     const std::string& help) {
  app.add_option_function<std::string>(
         flag, [&value](const std::string& text) { absl::ParseDuration(text, &value); },
         absl::StrCat(help, " [", absl::FormatDuration(value), "]"))
      ->envname(variable)
      ->check(WhyNoDuration);
}

// Of one among several daemons on a database.
void AddFleetFlags(CLI::App& app, DaemonOptions& options) {
  app.add_option("--default-device", options.default_device,
                 "the device of requests that name none: one of this daemon's or of another one's, "
                 "or a fingerprint (mdh devices) [cpu, or the first one]")
      ->envname("MDHD_DEFAULT_DEVICE")
      ->check([](const std::string& text) {
        return std::string(ParseDeviceName(text).status().message());
      });
  app.add_option_function<std::string>(
         "--serve-devices",
         [&options](const std::string& text) { options.serve_devices = *ParseFingerprints(text); },
         "hold only records of the devices with these fingerprints (mdh devices) in memory, with "
         "commas between them [all]; lookups of others are refused")
      ->envname("MDHD_SERVE_DEVICES")
      ->check([](const std::string& text) {
        return std::string(ParseFingerprints(text).status().message());
      });
  AddDurationFlag(app, "--max-staleness", "MDHD_MAX_STALENESS", options.max_staleness,
                  "after so long without a word from the database server, health checks hear that "
                  "KernelService is not serving, though it answers from memory");
  AddDurationFlag(app, "--store-patience", "MDHD_STORE_PATIENCE", options.store_patience,
                  "how long a call waits for a database server that is away before it is told to "
                  "come again; what jobs have found is kept, and written when it is back");
}

void AddServiceFlags(CLI::App& app, DaemonOptions& options) {
  app.add_option("--listen", options.listen,
                 "unix:/path or HOST:PORT (port 0: any); may be given several times")
      ->envname("MDHD_LISTEN")
      ->delimiter(',')
      ->capture_default_str();
  app.add_flag("--insecure-listen", options.allow_any_host,
               "allow addresses that other machines can reach without TLS")
      ->envname("MDHD_INSECURE_LISTEN");
  app.add_option_function<std::string>(
         "--socket-mode",
         [&options](const std::string& mode) {
           options.socket_mode = static_cast<mode_t>(std::stoul(mode, nullptr, 8));
         },
         "octal permissions of Unix sockets [600]")
      ->envname("MDHD_SOCKET_MODE")
      ->check([](const std::string& mode) {
        const bool is_octal = !mode.empty() && mode.size() <= 4 &&
                              mode.find_first_not_of("01234567") == std::string::npos;
        return is_octal ? std::string() : absl::StrCat("'", mode, "' is no octal number");
      });
  app.add_option("--database", options.database,
                 "SQLite file; made if it is not there. Or a PostgreSQL server's database, which "
                 "several daemons may share: postgresql://USER@HOST/DATABASE")
      ->envname("MDHD_DATABASE")
      ->capture_default_str();
  app.add_option("--daemon-name", options.daemon_name,
                 "of this daemon among those that share a database, the same after a restart "
                 "[host and first address]")
      ->envname("MDHD_DAEMON_NAME");
  app.add_option("--job-lease", options.job_lease_s,
                 "in a shared database: so many seconds after a daemon was last heard of others "
                 "take its jobs; longer than the server takes to fail over")
      ->envname("MDHD_JOB_LEASE")
      ->check(CLI::Range(3, 3'600))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--trial-sharing",
         [&options](const std::string& word) { options.trial_sharing = *ParseTrialSharing(word); },
         "with daemons on the same PostgreSQL database that have the same device: ask, let idle "
         "ones measure trials of this daemon's jobs; help, measure trials for theirs while idle; "
         "both; off [both]")
      ->envname("MDHD_TRIAL_SHARING")
      ->check([](const std::string& word) {
        return std::string(ParseTrialSharing(word).status().message());
      });
  app.add_option("--records", options.records,
                 "bundles whose records are served where the database has none for a key, as those "
                 "that a site ships; read-only, the first comes first")
      ->envname("MDHD_RECORDS")
      ->delimiter(',');
  app.add_option("--max-database-bytes", options.max_database_bytes,
                 "refuse to let the database grow further; 0: no limit")
      ->envname("MDHD_MAX_DATABASE_BYTES")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--runner", options.runner, "program that compiles, runs and times candidates")
      ->envname("MDHD_RUNNER")
      ->capture_default_str();
  app.add_option("--work-directory", options.work_directory,
                 "folder for the files of candidates; made if it is not there")
      ->envname("MDHD_WORK_DIRECTORY")
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--confinement",
         [&options](const std::string& mode) { options.confinement = *ParseConfinementMode(mode); },
         "keep compilers and candidates from the network, from files but those of compilers and "
         "drivers, and from other processes: auto, as far as the system allows; require, or do not "
         "tune; off [auto]")
      ->envname("MDHD_CONFINEMENT")
      ->check([](const std::string& mode) {
        return std::string(ParseConfinementMode(mode).status().message());
      });
  app.add_option("--devices", options.devices,
                 "devices to use: cpu, opencl:N, cuda:N, with commas between them [all]; "
                 "opencl:0@0-3+6 restricts one that computes on this machine's cores to some of "
                 "them, and may be there several times; none: this daemon answers, and others on "
                 "its database tune")
      ->envname("MDHD_DEVICES")
      ->check([](const std::string& list) {
        return std::string(ParseDeviceList(list).status().message());
      });
  app.add_option("--known-peaks", options.known_peaks,
                 "file with what mdh devices --json has printed on this machine: what its devices "
                 "have reached is not measured again")
      ->envname("MDHD_KNOWN_PEAKS");
  AddFleetFlags(app, options);
  app.add_option("--max-queued-jobs", options.max_queued_jobs, "jobs that may wait")
      ->envname("MDHD_MAX_QUEUED_JOBS")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--max-queued-jobs-per-source", options.max_queued_jobs_per_source,
                 "jobs of one source that may wait; 0: as many as may wait in all")
      ->envname("MDHD_MAX_QUEUED_JOBS_PER_SOURCE")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  app.add_option("--keep-jobs-days", options.keep_jobs_days,
                 "days after which ended jobs and their trials are forgotten")
      ->envname("MDHD_KEEP_JOBS_DAYS")
      ->check(CLI::Range(0, 36'500))
      ->capture_default_str();
  app.add_option("--max-ended-jobs", options.max_ended_jobs,
                 "ended jobs that are kept, the newest ones")
      ->envname("MDHD_MAX_ENDED_JOBS")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--max-studies", options.max_studies,
                 "studies that are kept; further ones are refused until some are deleted")
      ->envname("MDHD_MAX_STUDIES")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--max-study-bytes", options.max_study_bytes,
                 "bytes of all studies with their trials; further studies and trials are refused")
      ->envname("MDHD_MAX_STUDY_BYTES")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--backup-directory", options.backup_directory,
                 "folder for the backups that clients ask for; without one they are refused")
      ->envname("MDHD_BACKUP_DIRECTORY");
  app.add_option("--max-buffer-bytes", options.limits.buffer_bytes,
                 "bytes of all buffers of one expression")
      ->envname("MDHD_MAX_BUFFER_BYTES")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option(
         "--metrics-listen", options.metrics_listen,
         "HOST:PORT (port 0: any) that serves metrics for Prometheus over HTTP, as /metrics")
      ->envname("MDHD_METRICS_LISTEN");
}

}  // namespace

DaemonOptions DefaultDaemonOptions(const UserFolders& folders) {
  DaemonOptions options;
  options.database = DefaultDatabase(folders);
  options.runner = DefaultRunner();
  options.listen = {DefaultEndpoint(folders.runtime, getuid())};
  options.limits.buffer_bytes = DefaultBufferLimit();
  return options;
}

void AddDaemonFlags(CLI::App& app, DaemonOptions& options) {
  AddAccessFlags(app, options);
  AddTrustFlag(app, options);
  AddServiceFlags(app, options);
}

}  // namespace mdh
