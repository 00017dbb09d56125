// What a second user of the machine can try, so that another's client or daemon runs code of
// theirs.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "tests/end_to_end/daemon_test_fixture.h"

namespace mdh::second_user_test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr uid_t kVictim = 54'321;
constexpr uid_t kAttacker = 54'322;
const std::string kAttackerText = "uid 54322";

// A folder as /tmp is, with the attacker's things in it; the victim's home beside it.
class SecondUserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can act for two users";
    ASSERT_EQ(chmod(directory_.path().c_str(), 0755), 0);
    MakeFolder(shared_, 01777, 0);
    MakeFolder(home_, 0700, kVictim);
    if (Victim({"true"}).code != 0 || Victim({mdh_, "version"}).code != 0) {
      GTEST_SKIP() << "another user cannot run the built programs";
    }
  }

  static void MakeFolder(const std::string& path, mode_t mode, uid_t owner) {
    std::filesystem::create_directory(path);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(chown(path.c_str(), owner, owner), 0);
  }
  static void MakeFile(const std::string& path, uid_t owner, const std::string& text = "x") {
    std::ofstream(path) << text;
    EXPECT_EQ(chown(path.c_str(), owner, owner), 0);
    EXPECT_EQ(chmod(path.c_str(), 0644), 0);
  }
  // As the victim, who has no other variables than these.
  std::vector<std::string> AsVictim(const std::vector<std::string>& words,
                                    const std::vector<std::string>& variables) const {
    std::vector<std::string> all = {
        "setpriv", "--reuid=54321",      "--regid=54321", "--clear-groups", "env",
        "-i",      "PATH=/usr/bin:/bin", "HOME=" + home_};
    all.insert(all.end(), variables.begin(), variables.end());
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
  Ended Victim(const std::vector<std::string>& words,
               const std::vector<std::string>& variables = {}) const {
    return RunProgram(AsVictim(words, variables));
  }
  // A daemon of the victim's that must not come to serve.
  Ended VictimsDaemon(std::vector<std::string> words, const std::vector<std::string>& variables) {
    words.insert(words.begin(), {"timeout", "20", ProgramPath("mdhd"), "--devices", "cpu"});
    return Victim(std::move(words), variables);
  }
  // The refusal names what is the attacker's, and by whom.
  static auto IsRefusedFor(const std::string& path) {
    return AllOf(HasSubstr(path), HasSubstr("belongs to " + kAttackerText),
                 HasSubstr("--trusted-users 54322"));
  }

  // Listens for the attacker; nobody may connect.
  class Listener {
   public:
    Listener(const std::string& path, uid_t owner)
        : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
      sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
      path.copy(address.sun_path, sizeof address.sun_path - 1);
      EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
      EXPECT_EQ(chown(path.c_str(), owner, owner), 0);
      EXPECT_EQ(chmod(path.c_str(), 0666), 0);
      EXPECT_EQ(listen(socket_, 8), 0);
    }
    ~Listener() {
      const int caller = accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK);
      EXPECT_LT(caller, 0) << "somebody connected";
      close(socket_);
    }

   private:
    const int socket_;
  };

  const TemporaryDirectory directory_;
  const std::string shared_ = directory_.File("tmp");
  const std::string home_ = directory_.File("home");
  const std::string mdh_ = ProgramPath("mdh");
};

TEST_F(SecondUserTest, ASocketOfTheirsIsNotTalkedTo) {
  const std::string path = shared_ + "/mdhd.sock";
  const Listener listener(path, kAttacker);
  const Ended ended = Victim({mdh_, "--server", "unix:" + path, "jobs"}, {"MDH_TOKEN=secret"});
  EXPECT_EQ(ended.code, 5);
  EXPECT_THAT(ended.err, IsRefusedFor(path));
  // In their folder the victim's own socket could be replaced.
  MakeFolder(shared_ + "/theirs", 0755, kAttacker);
  const Listener replaced(shared_ + "/theirs/s", kVictim);
  EXPECT_THAT(Victim({mdh_, "jobs"}, {"MDH_SERVER=unix:" + shared_ + "/theirs/s"}).err,
              IsRefusedFor(shared_ + "/theirs"));
}

TEST_F(SecondUserTest, ASocketThatIsNotThereYetCouldBecomeTheirs) {
  EXPECT_EQ(Victim({mdh_, "--server", "unix:" + shared_ + "/none", "jobs"}).code, 5);
}

TEST_F(SecondUserTest, TheDefaultsFolderThatTheyMadeFirstIsRefused) {
  // The default of who has no $XDG_RUNTIME_DIR.
  const std::string folder = "/tmp/mdhd-54321";
  ASSERT_FALSE(std::filesystem::exists(folder));
  MakeFolder(folder, 0777, kAttacker);
  {
    const Listener listener(folder + "/mdhd.sock", kAttacker);
    const Ended client = Victim({mdh_, "jobs"}, {"MDH_TOKEN=secret"});
    EXPECT_EQ(client.code, 5);
    if (!std::filesystem::exists("/run/mdhd/mdhd.sock")) {
      EXPECT_THAT(client.err, IsRefusedFor(folder));
    }
    const Ended daemon = VictimsDaemon({"--work-directory", home_ + "/work"}, {});
    EXPECT_EQ(daemon.code, 3);
    EXPECT_THAT(daemon.err, IsRefusedFor(folder));
  }
  std::filesystem::remove_all(folder);
}

TEST_F(SecondUserTest, TheirRuntimeDirectoryIsRefused) {
  const std::string folder = shared_ + "/run";
  MakeFolder(folder, 0777, kAttacker);
  const Listener listener(folder + "/mdhd.sock", kAttacker);
  const Ended ended = Victim({mdh_, "jobs"}, {"XDG_RUNTIME_DIR=" + folder});
  EXPECT_EQ(ended.code, 5);
  if (!std::filesystem::exists("/run/mdhd/mdhd.sock")) {
    EXPECT_THAT(ended.err, IsRefusedFor(folder));
  }
}

TEST_F(SecondUserTest, AnAbstractSocketIsAnybodys) {
  const Ended ended = Victim({mdh_, "--server", "unix-abstract:mdhd", "jobs"});
  EXPECT_EQ(ended.code, 5);
  EXPECT_THAT(ended.err, HasSubstr("anybody can take an abstract name"));
}

TEST_F(SecondUserTest, TheirDatabaseIsNotServed) {
  const std::string listen = "unix:" + home_ + "/s";
  MakeFile(shared_ + "/db", kAttacker);
  const Ended theirs = VictimsDaemon({"--listen", listen, "--database", shared_ + "/db"}, {});
  EXPECT_EQ(theirs.code, 4);
  EXPECT_THAT(theirs.err, IsRefusedFor(shared_ + "/db"));
  // What SQLite would take for the end of the victim's own.
  MakeFile(shared_ + "/own-wal", kAttacker);
  const Ended log = VictimsDaemon({"--listen", listen, "--database", shared_ + "/own"}, {});
  EXPECT_EQ(log.code, 4);
  EXPECT_THAT(log.err, IsRefusedFor(shared_ + "/own-wal"));
  MakeFolder(shared_ + "/state", 0777, kAttacker);
  const Ended state = VictimsDaemon({"--listen", listen}, {"XDG_STATE_HOME=" + shared_ + "/state"});
  EXPECT_EQ(state.code, 4);
  EXPECT_THAT(state.err, IsRefusedFor(shared_ + "/state"));
}

TEST_F(SecondUserTest, TheirPrincipalsAreNobodys) {
  MakeFile(shared_ + "/principals", kAttacker, "certificate * admin\n");
  const Ended ended = VictimsDaemon(
      {"--listen", "unix:" + home_ + "/s", "--principals-file", shared_ + "/principals"}, {});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, IsRefusedFor(shared_ + "/principals"));
}

// Lookups are served; nothing is compiled in their folder.
TEST_F(SecondUserTest, NothingIsCompiledInTheirFolder) {
  MakeFolder(shared_ + "/work", 0777, kAttacker);
  MakeFolder(shared_ + "/temporary", 0777, kAttacker);
  for (const auto& [words, variables, folder] :
       std::vector<std::tuple<std::vector<std::string>, std::vector<std::string>, std::string>>{
           {{"--work-directory", shared_ + "/work"}, {}, shared_ + "/work"},
           {{}, {"TMPDIR=" + shared_ + "/temporary"}, shared_ + "/temporary"}}) {
    std::vector<std::string> all = {ProgramPath("mdhd"),    "--devices",  "cpu",        "--listen",
                                    "unix:" + home_ + "/s", "--database", home_ + "/db"};
    all.insert(all.end(), words.begin(), words.end());
    Program daemon(AsVictim(all, variables));
    EXPECT_TRUE(Eventually([&] {
      return daemon.HasEnded() || daemon.err().find("devices are open") != std::string::npos;
    }));
    EXPECT_FALSE(daemon.HasEnded());
    EXPECT_THAT(daemon.err(), HasSubstr("tuning is refused"));
    EXPECT_THAT(daemon.err(), IsRefusedFor(folder));
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
}

}  // namespace
}  // namespace mdh::second_user_test
