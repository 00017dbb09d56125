// A PostgreSQL server for tests: on a socket in a temporary directory, ended with the program.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "server/store/postgres/postgres_connection.h"
#include "tests/server/temporary_directory.h"
#include "tests/server/test_certificates.h"

namespace mdh {

// Its superuser is mdhd, whom everybody is believed to be; of role "stranger" the password "right
// one" is asked for. Not thread-safe.
class PostgresServer {
 public:
  // The one of this program, which the first who asks starts. Errors: NotFound if PostgreSQL is not
  // installed; else why it does not start.
  static Result<PostgresServer*> Shared() {
    static const auto* const shared = new Result<std::unique_ptr<PostgresServer>>(Start());
    if (!shared->ok()) return shared->status();
    static const Ended ended{shared->value().get()};
    return shared->value().get();
  }
  struct Options {
    std::string settings = "";  // further lines of postgresql.conf
    std::string access = "";    // and of pg_hba.conf
    // Where it listens at 127.0.0.1, with that certificate of "localhost", and nothing else
    // than TLS; 0: nowhere but at its socket.
    int port = 0;
    TestCertificate certificate = {};
    std::string network = "";  // "/proc/PID/ns/net" of the one it is in; empty: this one
  };
  // One of its own.
  static Result<std::unique_ptr<PostgresServer>> Start() { return Start(Options()); }
  static Result<std::unique_ptr<PostgresServer>> Start(Options options) {
    MDH_ASSIGN_OR_RETURN(const std::string programs, FindPrograms());
    std::unique_ptr<PostgresServer> server(new PostgresServer(programs, std::move(options)));
    MDH_RETURN_IF_ERROR(server->Initialise());
    MDH_RETURN_IF_ERROR(server->Resume());
    MDH_RETURN_IF_ERROR(server->Sql("postgres", "CREATE ROLE stranger LOGIN PASSWORD 'right one'"));
    return server;
  }
  ~PostgresServer() { End(SIGINT); }

  // The address of a database for one test, which nobody else has.
  Result<std::string> NewDatabase() {
    const std::string name = absl::StrCat("test", ++databases_);
    MDH_RETURN_IF_ERROR(Sql("postgres", absl::StrCat("CREATE DATABASE ", name)));
    return Address(name);
  }
  std::string Address(const std::string& database, const std::string& user = "mdhd") const {
    return absl::StrCat("postgresql://", user, "@/", database, "?host=", Folder("run"),
                        options_.port == 0 ? "" : absl::StrCat("&port=", options_.port));
  }
  // Runs statements that give no rows.
  Status Sql(const std::string& database, const std::string& statements) const {
    return SqlAt(Address(database), statements);
  }
  static Status SqlAt(const std::string& address, const std::string& statements) {
    MDH_ASSIGN_OR_RETURN(const auto connection,
                         PostgresConnection::Open(address, PgAccess::kReadOnly));
    return connection->RunScript(statements);
  }
  // The first column of the first row.
  static Result<int64_t> NumberAt(const std::string& address, const std::string& query) {
    MDH_ASSIGN_OR_RETURN(const auto connection,
                         PostgresConnection::Open(address, PgAccess::kReadOnly));
    MDH_ASSIGN_OR_RETURN(const PgRows rows, connection->Run(query.c_str()));
    return rows.empty() ? -1 : rows[0].Integer(0);
  }
  // Ends it with that signal: SIGINT and SIGQUIT, which is a crash, with its children; SIGKILL
  // alone.
  void End(int signal) {
    if (process_ <= 0) return;
    kill(process_, signal);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  void Signal(int signal) const { kill(process_, signal); }
  // Ends it with all of its children, none of which can do anything before it ends.
  void KillAll() {
    if (process_ <= 0) return;
    kill(process_, SIGSTOP);
    waitpid(process_, nullptr, WUNTRACED);  // from now on it starts no child
    const std::vector<pid_t> children = Children("");
    End(SIGKILL);
    for (const pid_t child : children) kill(child, SIGKILL);
  }
  // Ends one of the processes that serve daemons, whichever `choice` says. False if there is none.
  bool KillBackend(uint64_t choice) const {
    const std::vector<pid_t> backends = Children("postgres: mdhd ");
    if (backends.empty()) return false;
    return kill(backends[choice % backends.size()], SIGKILL) == 0;
  }
  // Of all of its processes, also of those that have ended.
  double CpuSeconds() const {
    double seconds = CpuSecondsOf(process_);
    for (const pid_t child : Children("")) seconds += CpuSecondsOf(child);
    // Of "PID (NAME) STATE ..." the 16th and 17th word, in ticks.
    const std::string stat = ReadOf(absl::StrCat("/proc/", process_), "stat");
    long ended[2] = {0, 0};
    std::sscanf(stat.c_str() + std::min(stat.size(), stat.rfind(')') + 1),
                " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %ld", &ended[0],
                &ended[1]);
    return seconds +
           static_cast<double>(ended[0] + ended[1]) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  // Starts it again, and waits until it answers.
  Status Resume() {
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (true) {
      if (process_ <= 0) process_ = Spawn({"postgres", "-D", Folder("data")});
      const Status status = Sql("postgres", "SELECT");
      if (status.ok()) return status;
      if (absl::Now() > deadline) return status;
      // After SIGKILL it may not start until its children have ended, too.
      if (waitpid(process_, nullptr, WNOHANG) == process_) process_ = 0;
      absl::SleepFor(absl::Milliseconds(20));
    }
  }

 private:
  // Ends it before what it needs is gone.
  struct Ended {
    PostgresServer* server;
    ~Ended() { server->CleanUp(); }
  };

  PostgresServer(std::string programs, Options options)
      : programs_(std::move(programs)), options_(std::move(options)) {}

  static Result<std::string> FindPrograms() {
    std::vector<std::string> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", error)) {
      if (std::filesystem::exists(entry.path() / "bin/postgres")) {
        found.push_back(entry.path() / "bin");
      }
    }
    if (found.empty()) return absl::NotFoundError("PostgreSQL is not installed");
    return *std::max_element(found.begin(), found.end());
  }

  static double CpuSecondsOf(pid_t process) {
    clockid_t clock = 0;
    timespec time = {};
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  std::string Folder(const char* name) const { return directory_->File(name); }

  static std::string ReadOf(const std::filesystem::path& process, const char* file) {
    std::ifstream stream(process / file);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  // Those whose command line begins so.
  std::vector<pid_t> Children(const std::string& command) const {
    std::vector<pid_t> children;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
      const int process = std::atoi(entry.path().filename().c_str());
      if (process <= 0) continue;
      // "PID (NAME) STATE PARENT ..."
      const std::string stat = ReadOf(entry.path(), "stat");
      const size_t name_end = stat.rfind(')');
      if (name_end == std::string::npos) continue;
      const bool is_child = std::atoi(stat.c_str() + name_end + 4) == process_;
      if (is_child && ReadOf(entry.path(), "cmdline").starts_with(command)) {
        children.push_back(process);
      }
    }
    return children;
  }

  Status Initialise() {
    if (geteuid() == 0) {
      // PostgreSQL does not start as root.
      const passwd* const user = getpwnam("postgres");
      if (user == nullptr) return absl::NotFoundError("there is no user postgres");
      user_ = user->pw_uid;
      group_ = user->pw_gid;
    }
    chmod(directory_->path().c_str(), 0755);
    for (const char* name : {"data", "run"}) {
      std::filesystem::create_directory(Folder(name));
      if (geteuid() == 0 && chown(Folder(name).c_str(), user_, group_) != 0) {
        return absl::InternalError("folders cannot be given to postgres");
      }
    }
    const pid_t initdb = Spawn({"initdb", "-D", Folder("data"), "-U", "mdhd", "-A", "trust", "-E",
                                "UTF8", "--no-locale", "--no-sync", "-k"});
    int status = 0;
    waitpid(initdb, &status, 0);
    if (status != 0) return absl::InternalError("initdb has failed: see " + Folder("run/log"));
    std::ofstream(Folder("data/postgresql.conf"), std::ios::app)
        << "listen_addresses = ''\nunix_socket_directories = '" << Folder("run")
        << "'\nfsync = off\nshared_buffers = 32MB\nmax_connections = 100\n"
           "autovacuum = off\nwal_level = minimal\nmax_wal_senders = 0\n"
        << options_.settings;
    std::ofstream(Folder("data/pg_hba.conf"))
        << "local all stranger scram-sha-256\nlocal all all trust\n"
        << options_.access;
    return options_.port == 0 ? absl::OkStatus() : SetUpTls();
  }

  Status SetUpTls() const {
    std::ofstream(Folder("data/server.crt")) << options_.certificate.certificate;
    const std::string key = Folder("data/server.key");
    std::ofstream(key) << options_.certificate.key;
    chmod(key.c_str(), 0600);
    for (const std::string& file : {key, Folder("data/server.crt")}) {
      if (geteuid() == 0 && chown(file.c_str(), user_, group_) != 0) {
        return absl::InternalError("certificates cannot be given to postgres");
      }
    }
    std::ofstream(Folder("data/postgresql.conf"), std::ios::app)
        << "\nlisten_addresses = '127.0.0.1'\nssl = on\nport = " << options_.port << "\n";
    std::ofstream(Folder("data/pg_hba.conf"), std::ios::app)
        << "\nhostssl all all 127.0.0.1/32 trust\n";
    return absl::OkStatus();
  }

  pid_t Spawn(std::vector<std::string> arguments) const {
    const std::string program = absl::StrCat(programs_, "/", arguments[0]);
    const std::string log = Folder("run/log");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const pid_t process = fork();
    if (process != 0) return process;
    if (!options_.network.empty()) {
      const int network = open(options_.network.c_str(), O_RDONLY | O_CLOEXEC);
      if (network < 0 || setns(network, CLONE_NEWNET) != 0) _exit(126);
    }
    if (user_ != 0 && (setgroups(1, &group_) != 0 || setgid(group_) != 0 || setuid(user_) != 0)) {
      _exit(126);
    }
    // It ends with this program, however that ends.
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (freopen(log.c_str(), "a", stdout) == nullptr || dup2(1, 2) < 0) _exit(126);
    execv(program.c_str(), argv.data());
    _exit(127);
  }

  void CleanUp() {
    End(SIGINT);
    directory_.reset();
  }

  const std::string programs_;
  const Options options_;
  std::unique_ptr<TemporaryDirectory> directory_ = std::make_unique<TemporaryDirectory>();
  uid_t user_ = 0;
  gid_t group_ = 0;
  pid_t process_ = 0;
  int databases_ = 0;
};

}  // namespace mdh
