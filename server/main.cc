// mdhd: reads flags and environment, starts the daemon, waits for a signal, stops it.
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/exhaustion.h"
#include "core/command_line/manual_page.h"
#include "server/access/principals.h"
#include "server/daemon.h"
#include "server/daemon_flags.h"
#include "server/operate/configuration.h"
#include "server/operate/log_format.h"
#include "server/operate/service_manager.h"
#include "server/store/leftovers.h"
#include "server/store/postgres/postgres_address.h"

namespace {

constexpr const char* kDescription =
    "mdhd: tunes computations written as Multi-Dimensional Homomorphisms and serves kernels.";
constexpr const char* kFooter =
    "Every option can be given by the environment variable named beside it, or in the file of\n"
    "--config as a line 'name = value'; flags come before the environment, which comes before the\n"
    "file.\n"
    "\n"
    "SIGHUP reads the files of certificates and principals again, as happens each second anyway,\n"
    "and takes over log-level and log-format from the file of --config; other changes there are\n"
    "logged, and wait for the next start.\n"
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
    "     another mdhd, or its server is not there or refuses\n"
    "Lookups are served at once; what needs devices waits until they are open, as drivers and "
    "compilers\n"
    "are looked for meanwhile. Without a compiler the daemon serves lookups, and refuses to tune. "
    "On "
    "a\n"
    "full disk, or one that is read-only, it serves what it has stored. It stops within two "
    "seconds.";

// Written to by the signal handler, which can reach nothing else.
int signal_pipe[2] = {-1, -1};
constexpr char kStopByte = 's';
constexpr char kReloadByte = 'r';
constexpr char kFailureByte = 'f';

// Before nothing was promised to anybody.
std::atomic<bool> is_serving = false;

void OnSignal(int number) {
  const int saved_errno = errno;
  if (number != SIGHUP && !is_serving) _exit(0);
  [[maybe_unused]] const ssize_t written =
      write(signal_pipe[1], number == SIGHUP ? &kReloadByte : &kStopByte, 1);
  errno = saved_errno;
}

// A daemon that is told to stop has stopped after two seconds, whatever hangs. What was
// acknowledged is on the disk, and the next one goes on with the rest, as it does after a crash.
constexpr itimerval kLongestStop = {.it_interval = {},
                                    .it_value = {.tv_sec = 1, .tv_usec = 900'000}};

void OnStopTooLong(int /*number*/) {
  constexpr char kMessage[] = "mdhd: warning: stopping took too long; the next start goes on\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  _exit(0);
}

void LimitStop() {
  std::signal(SIGALRM, OnStopTooLong);
  setitimer(ITIMER_REAL, &kLongestStop, nullptr);
}

// Else the first files that are opened would be taken for them.
void OpenStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) return;
  }
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

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
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

// All that the command line, the environment and the file say.
struct Settings {
  mdh::DaemonOptions options;
  std::string log_level = "info";
  std::string log_format = "text";
  std::string config;
  bool print_config = false;
  bool print_manual = false;
  std::string token_principal;
  std::string token_role;
};

void AddSettings(CLI::App& app, Settings& settings) {
  settings.options = mdh::DefaultDaemonOptions(
      {Environment("XDG_RUNTIME_DIR"), Environment("XDG_STATE_HOME"), Environment("HOME")});
  settings.options.version = MDH_VERSION;
  app.footer(kFooter);
  app.set_version_flag("--version", "mdhd " MDH_VERSION);
  app.add_option("--config", settings.config,
                 "file with options; the system service has /etc/mdhd/mdhd.conf")
      ->envname("MDHD_CONFIG");
  app.add_flag("--print-config", settings.print_config,
               "print all options, as the file of --config has them, and where each comes from");
  app.add_flag("--manual", settings.print_manual, "print the manual page, for man: man -l -");
  mdh::AddDaemonFlags(app, settings.options);
  app.add_option("--log-level", settings.log_level, "what goes to standard error")
      ->envname("MDHD_LOG_LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.add_option("--log-format", settings.log_format,
                 "text; or json: an object a line with time, level, message, request, job")
      ->envname("MDHD_LOG_FORMAT")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  AddTokenCommand(app, settings.token_principal, settings.token_role);
}

// As the daemon would read them now. Throws CLI::ParseError. Errors: what is wrong in the file.
mdh::Result<mdh::DaemonConfiguration> ReadSettings(int argc, char** argv, CLI::App& app,
                                                   Settings& settings) {
  AddSettings(app, settings);
  return mdh::DaemonConfiguration::Parse(app, argc, argv);
}

void SetLog(const Settings& settings) {
  spdlog::set_level(spdlog::level::from_str(settings.log_level));
  spdlog::set_formatter(mdh::MakeLogFormatter(*mdh::ParseLogFormat(settings.log_format)));
}

// Takes over what can be; the rest is told.
void ReloadSettings(int argc, char** argv, mdh::DaemonConfiguration& current) {
  CLI::App app{kDescription, "mdhd"};
  Settings settings;
  const mdh::Result<mdh::DaemonConfiguration> now = ReadSettings(argc, argv, app, settings);
  if (!now.ok()) {
    spdlog::error("configuration: {}; what was read before goes on to hold",
                  std::string(now.status().message()));
    return;
  }
  SetLog(settings);
  for (const std::string& name : now->DifferencesTo(current)) {
    const mdh::ConfiguredValue& value = now->values().at(name);
    if (name == "log-level" || name == "log-format") {
      spdlog::info("configuration: {} is {} now", name, value.value);
    } else {
      const std::string shown = name == "database" && mdh::IsPostgresAddress(value.value)
                                    ? mdh::WithoutSecrets(value.value)
                                    : value.value;
      spdlog::warn("configuration: {} = {} holds from the next start on", name, shown);
    }
  }
  current = *now;
}

void LogIfBad(const mdh::Status& told) {
  if (!told.ok()) spdlog::warn("{}", std::string(told.message()));
}

// Until there is a signal or so much time is over; gives its byte, or 0.
char WaitForSignal(absl::Duration timeout) {
  pollfd signals = {.fd = signal_pipe[0], .events = POLLIN, .revents = 0};
  const bool is_endless = timeout == absl::InfiniteDuration();
  const int ready =
      poll(&signals, 1, is_endless ? -1 : static_cast<int>(absl::ToInt64Milliseconds(timeout)));
  char byte = 0;
  return ready > 0 && read(signal_pipe[0], &byte, 1) == 1 ? byte : '\0';
}

// Serves until a signal, or that the devices cannot be opened, says to stop. The service manager
// hears that all is well from this thread, after a look at the locks that everybody needs.
void ServeUntilStopped(int argc, char** argv, mdh::DaemonConfiguration& configuration,
                       const mdh::ServiceManager& manager, mdh::Daemon& daemon) {
  const std::string status = absl::StrCat("listens on ", absl::StrJoin(daemon.addresses(), ", "));
  LogIfBad(manager.TellReady(status));
  char byte = 0;
  while (byte != kStopByte && byte != kFailureByte) {
    byte = WaitForSignal(manager.watchdog_interval());
    if (byte == kReloadByte) {
      LogIfBad(manager.TellReloading());
      daemon.Reload();
      ReloadSettings(argc, argv, configuration);
      LogIfBad(manager.TellReady(status));
    }
    if (manager.watchdog_interval() != absl::InfiniteDuration()) {
      daemon.CheckThatNothingHangs();
      manager.TellAlive().IgnoreError();
    }
  }
  LogIfBad(manager.TellStopping());
}

int Fail(const mdh::Status& error, mdh::StartFailure failure) {
  std::fprintf(stderr, "mdhd: error: %s\n", std::string(error.message()).c_str());
  return static_cast<int>(failure);
}

int Run(int argc, char** argv, mdh::DaemonConfiguration& configuration,
        mdh::DaemonOptions options) {
  const mdh::ServiceManager manager(Environment("NOTIFY_SOCKET"), Environment("WATCHDOG_USEC"),
                                    Environment("WATCHDOG_PID"));
  spdlog::info("mdhd {} pid={}", options.version, getpid());
  mdh::StartFailure failure = mdh::StartFailure::kInternal;
  std::atomic<bool> has_failed = false;
  options.on_serving = [] { is_serving = true; };
  options.on_failure = [&has_failed] {
    has_failed = true;
    [[maybe_unused]] const ssize_t written = write(signal_pipe[1], &kFailureByte, 1);
  };
  mdh::Result<std::unique_ptr<mdh::Daemon>> daemon =
      mdh::OrExhausted([&] { return mdh::Daemon::Start(options, failure); });
  if (!daemon.ok()) return Fail(daemon.status(), failure);
  ServeUntilStopped(argc, argv, configuration, manager, **daemon);
  LimitStop();
  const mdh::Status devices = has_failed ? (*daemon)->AwaitDevices(failure) : absl::OkStatus();
  (*daemon)->Stop();
  return devices.ok() ? 0 : Fail(devices, failure);
}

int PrintManual(const CLI::App& app) {
  mdh::CommandEntry program = mdh::ReadCommandTree(app);
  // Defaults that depend on the machine and the user who make the page.
  const std::map<std::string, std::string> defaults = {
      {"MDHD_LISTEN", "unix:$XDG_RUNTIME_DIR/mdhd.sock"},
      {"MDHD_DATABASE", "$XDG_STATE_HOME/mdhd/mdhd.sqlite"},
      {"MDHD_RUNNER", "mdh-runner beside mdhd"},
      {"MDHD_MAX_BUFFER_BYTES", "a quarter of the memory"}};
  for (mdh::OptionEntry& option : program.options) {
    const auto found = defaults.find(option.environment);
    if (found != defaults.end()) option.default_value = found->second;
  }
  mdh::ManualPageOptions options;
  options.section = 8;
  options.version = "mdhd " MDH_VERSION;
  options.sections = {{"notes", kFooter}};
  options.see_also = "mdh(1)";
  std::fputs(mdh::ManualPage(program, options).c_str(), stdout);
  return 0;
}

int FailUsage(const std::string& message) {
  return Fail(mdh::InvalidArgument(message), mdh::StartFailure::kUsage);
}

}  // namespace

int main(int argc, char** argv) {
  OpenStandardStreams();
  umask(0077);
  RaiseFileLimit();
  // Memory of requests and replies is not given back to the system and taken again for each.
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_TOP_PAD, 4 << 20);
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  // Debian's library looks for cycles whenever a lock is taken, which is for tests.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);

  CLI::App app{kDescription, "mdhd"};
  Settings settings;
  mdh::Result<mdh::DaemonConfiguration> configuration = mdh::DaemonConfiguration();
  try {
    configuration = ReadSettings(argc, argv, app, settings);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return FailUsage(error.what());
  }
  if (!configuration.ok()) return FailUsage(std::string(configuration.status().message()));
  if (settings.print_manual) return PrintManual(app);
  if (settings.print_config) {
    std::fputs(configuration->ToText().c_str(), stdout);
    return 0;
  }
  if (app.got_subcommand("make-token")) {
    return PrintToken(settings.token_principal, settings.token_role);
  }
  if (settings.options.work_directory.empty()) {
    std::error_code missing;
    const std::filesystem::path temporary = std::filesystem::temp_directory_path(missing);
    if (missing) {
      return FailUsage(absl::StrCat("the folder for temporary files, which TMPDIR names, ",
                                    Environment("TMPDIR"), ": ", missing.message(),
                                    "; set TMPDIR, or give --work-directory"));
    }
    settings.options.work_directory = mdh::DefaultWorkDirectory(temporary.string());
  }
  spdlog::set_default_logger(spdlog::stderr_color_mt("mdhd"));
  SetLog(settings);
  if (!CatchSignals()) {
    std::fprintf(stderr, "mdhd: error: cannot make a pipe\n");
    return static_cast<int>(mdh::StartFailure::kInternal);
  }
  return Run(argc, argv, *configuration, settings.options);
}
