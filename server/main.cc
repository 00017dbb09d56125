// mdhd: reads flags and environment, starts the daemon, waits for a signal, stops it.
#include <fcntl.h>
#include <malloc.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "proto/endpoint.h"
#include "server/daemon.h"
#include "server/device_list.h"
#include "server/principals.h"

namespace {

constexpr const char* kFooter =
    "Every option can be given by the environment variable named beside it; a flag takes "
    "precedence.\n"
    "\n"
    "SIGHUP reads the files of certificates and principals again, as happens each second anyway.\n"
    "SIGTERM and SIGINT stop the daemon: new jobs are refused, running ones stop and the best "
    "that\n"
    "they found is stored. The next mdhd on the database goes on with them, as it does after a "
    "crash.\n"
    "\n"
    "Exit codes:\n"
    "  0  stopped by a signal\n"
    "  1  internal error\n"
    "  2  wrong usage\n"
    "  3  cannot listen, e.g. because another mdhd uses the socket\n"
    "  4  the database cannot be used: of another application, of a newer mdhd, damaged, in use "
    "by\n"
    "     another mdhd, or the disk is full\n"
    "Without a compiler the daemon starts and serves lookups; tuning is refused.";

// Written to by the signal handler, which can reach nothing else.
int signal_pipe[2] = {-1, -1};
constexpr char kStopByte = 's';
constexpr char kReloadByte = 'r';

void OnSignal(int number) {
  const int saved_errno = errno;
  [[maybe_unused]] const ssize_t written =
      write(signal_pipe[1], number == SIGHUP ? &kReloadByte : &kStopByte, 1);
  errno = saved_errno;
}

bool CatchSignals() {
  if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  fcntl(signal_pipe[0], F_SETFL, 0);  // the reader waits
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // a runner that died is an error of its calls, not of the daemon
  return true;
}

// A connection is a file; the usual soft limit of 1,024 is kept for programs that use select().
void RaiseFileLimit() {
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

// The daemon goes on after SIGHUP.
void WaitForStopSignal(mdh::Daemon& daemon) {
  char byte = 0;
  while (byte != kStopByte) {
    if (read(signal_pipe[0], &byte, 1) == 1 && byte == kReloadByte) daemon.Reload();
  }
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string DefaultDatabase() {
  const std::string state = Environment("XDG_STATE_HOME");
  if (!state.empty()) return state + "/mdhd/mdhd.sqlite";
  return Environment("HOME") + "/.local/state/mdhd/mdhd.sqlite";
}

std::string DefaultRunner() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "mdh-runner").string();
}

// A quarter of the memory: inputs, outputs, a reference and staged copies must fit side by side.
int64_t DefaultBufferLimit() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE) / 4;
}

void AddAccessOptions(CLI::App& app, mdh::DaemonOptions& options) {
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
         [&options](const std::string& name) { options.anonymous_role = *mdh::ParseRole(name); },
         "role of callers without a name: none, reader, tuner, publisher or admin [admin on Unix "
         "sockets and loopback addresses if there are neither principals nor TLS, else reader]")
      ->envname("MDHD_ANONYMOUS_ROLE")
      ->check([](const std::string& name) {
        return std::string(mdh::ParseRole(name).status().message());
      });
}

void AddOptions(CLI::App& app, mdh::DaemonOptions& options, std::string& log_level) {
  app.add_option("--listen", options.listen,
                 "unix:/path or HOST:PORT (port 0: any); may be given several times")
      ->envname("MDHD_LISTEN")
      ->delimiter(',')
      ->capture_default_str();
  app.add_flag("--insecure-listen", options.allow_any_host,
               "allow addresses that other machines can reach without TLS");
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
  app.add_option("--database", options.database, "SQLite file; made if it is not there")
      ->envname("MDHD_DATABASE")
      ->capture_default_str();
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
         [&options](const std::string& mode) {
           options.confinement = *mdh::ParseConfinementMode(mode);
         },
         "keep compilers and candidates from the network, from files but those of compilers and "
         "drivers, and from other processes: auto, as far as the system allows; require, or do not "
         "tune; off [auto]")
      ->envname("MDHD_CONFINEMENT")
      ->check([](const std::string& mode) {
        return std::string(mdh::ParseConfinementMode(mode).status().message());
      });
  app.add_option("--devices", options.devices,
                 "devices to use: cpu, opencl:N, cuda:N, with commas between them [all]; "
                 "opencl:0@0-3+6 restricts one that computes on this machine's cores to some of "
                 "them, and may be there several times")
      ->envname("MDHD_DEVICES")
      ->check([](const std::string& list) {
        return std::string(mdh::ParseDeviceList(list).status().message());
      });
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
  app.add_option("--log-level", log_level, "what goes to standard error")
      ->envname("MDHD_LOG_LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
}

// mdhd make-token NAME ROLE
void AddTokenCommand(CLI::App& app, std::string& name, std::string& role) {
  CLI::App* command = app.add_subcommand(
      "make-token",
      "print a new token, and in a second line what the principals file must say for it");
  command->add_option("NAME", name, "of the principal")->required();
  command->add_option("ROLE", role, "reader, tuner, publisher or admin")->required();
}

int PrintToken(const std::string& name, const std::string& role) {
  const std::string token = mdh::MakeToken();
  const mdh::Result<std::string> line = mdh::TokenLine(name, role, token);
  if (!line.ok()) {
    std::fprintf(stderr, "mdhd: error: %s\n", std::string(line.status().message()).c_str());
    return static_cast<int>(mdh::StartFailure::kUsage);
  }
  std::printf("%s\n%s\n", token.c_str(), line->c_str());
  return 0;
}

int Run(const mdh::DaemonOptions& options) {
  spdlog::info("mdhd {} pid={}", options.version, getpid());
  mdh::StartFailure failure = mdh::StartFailure::kInternal;
  mdh::Result<std::unique_ptr<mdh::Daemon>> daemon = mdh::Daemon::Start(options, failure);
  if (!daemon.ok()) {
    std::fprintf(stderr, "mdhd: error: %s\n", std::string(daemon.status().message()).c_str());
    return static_cast<int>(failure);
  }
  WaitForStopSignal(**daemon);
  (*daemon)->Stop();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  umask(0077);
  RaiseFileLimit();
  // Memory of requests and replies is not given back to the system and taken again for each.
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_TOP_PAD, 4 << 20);
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  // Debian's library looks for cycles whenever a lock is taken, which is for tests.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  mdh::DaemonOptions options;
  options.version = MDH_VERSION;
  options.database = DefaultDatabase();
  options.runner = DefaultRunner();
  options.listen = {mdh::DefaultEndpoint(Environment("XDG_RUNTIME_DIR"), getuid())};
  options.limits.buffer_bytes = DefaultBufferLimit();
  std::string log_level = "info";

  CLI::App app{
      "mdhd: tunes computations written as Multi-Dimensional Homomorphisms and serves kernels.",
      "mdhd"};
  app.footer(kFooter);
  app.set_version_flag("--version", "mdhd " MDH_VERSION);
  AddAccessOptions(app, options);
  AddOptions(app, options, log_level);
  std::string token_principal;
  std::string token_role;
  AddTokenCommand(app, token_principal, token_role);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "mdhd: error: %s\n", error.what());
    return static_cast<int>(mdh::StartFailure::kUsage);
  }
  if (app.got_subcommand("make-token")) return PrintToken(token_principal, token_role);
  if (options.work_directory.empty()) {
    const std::filesystem::path temporary = std::filesystem::temp_directory_path();
    options.work_directory = (temporary / ("mdhd-" + std::to_string(getpid()))).string();
  }
  spdlog::set_default_logger(spdlog::stderr_color_mt("mdhd"));
  spdlog::set_level(spdlog::level::from_str(log_level));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
  if (!CatchSignals()) {
    std::fprintf(stderr, "mdhd: error: cannot make a pipe\n");
    return static_cast<int>(mdh::StartFailure::kInternal);
  }
  return Run(options);
}
