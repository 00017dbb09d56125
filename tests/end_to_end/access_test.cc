// Tokens, roles and certificates as people meet them: the flags of mdhd and mdh.
#include <fstream>

#include "gmock/gmock.h"
#include "tests/end_to_end/daemon_test_fixture.h"

namespace mdh::access_test {
namespace {

using ::testing::HasSubstr;

struct MadeToken {
  std::string token;
  std::string line;  // of the file of principals
};

class AccessTest : public DaemonTest {
 protected:
  static MadeToken MakeToken(const std::string& name, const std::string& role) {
    const Ended ended = RunProgram({ProgramPath("mdhd"), "make-token", name, role});
    EXPECT_EQ(ended.code, 0) << ended.err;
    const size_t end = ended.out.find('\n');
    return {ended.out.substr(0, end), ended.out.substr(end + 1)};
  }
  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = directory_.File(name);
    std::ofstream(path) << text;
    return path;
  }
  Ended CheckWith(const std::string& token) const {
    return RunProgram(MdhWords({"admin", "check"}), {"MDH_TOKEN=" + token});
  }
};

TEST_F(AccessTest, TokensGiveRolesAndAFileThatChangesIsReadAgain) {
  const MadeToken ann = MakeToken("ann", "admin");
  const MadeToken bob = MakeToken("bob", "tuner");
  const std::string principals = Write("principals", ann.line + bob.line);
  StartDaemon({"--principals-file", principals, "--anonymous-role", "none"});
  EXPECT_EQ(CheckWith(ann.token).code, 0);
  const Ended refused = CheckWith(bob.token);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("CheckIntegrity needs the role admin; bob have tuner"));
  EXPECT_THAT(CheckWith("guessed").err, HasSubstr("nobody has the token"));
  EXPECT_THAT(Mdh({"jobs"}).err, HasSubstr("give a token or a certificate"));
  EXPECT_EQ(Mdh({"jobs", "--token-file", Write("token", bob.token + "\n")}).code, 0);
  EXPECT_EQ(Mdh({"jobs", "--token-file", Write("empty", "\n")}).code, 2);

  Write("principals", ann.line + "token bob boss\n");
  daemon_->Signal(SIGHUP);
  EXPECT_TRUE(Eventually([&] {
    return daemon_->err().find("line 2: it is neither") != std::string::npos;
  })) << daemon_->err();
  EXPECT_EQ(CheckWith(ann.token).code, 0) << "what was read before goes on to hold";
  Write("principals", MakeToken("bob", "admin").line);
  daemon_->Signal(SIGHUP);
  EXPECT_TRUE(Eventually([&] { return CheckWith(ann.token).code == 1; }));
}

TEST_F(AccessTest, JobsOfOthersAreNotCancelled) {
  const MadeToken ann = MakeToken("ann", "tuner");
  const MadeToken bob = MakeToken("bob", "tuner");
  const std::string principals = Write("principals", ann.line + bob.line);
  StartDaemon({"--devices", "cpu", "--principals-file", principals});
  const auto as = [&](const MadeToken& who, const std::vector<std::string>& words) {
    return RunProgram(MdhWords(words), {"MDH_TOKEN=" + who.token});
  };
  const Ended created = as(ann, OnMatMul("tune", 64, {"--budget", "60s", "--detach"}));
  ASSERT_EQ(created.code, 0) << created.err;
  const std::string job = created.out.substr(0, created.out.find('\n'));
  for (const char* command : {"cancel", "pause", "resume"}) {
    const Ended refused = as(bob, {command, job});
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr(job + " belongs to ann: bob may not change it"));
  }
  EXPECT_EQ(as(ann, {"cancel", job}).code, 0);
}

TEST_F(AccessTest, WrongFlagsAreNamed) {
  const auto refusal = [&](const std::vector<std::string>& more) {
    const Ended ended = RunProgram(DaemonWords(more));
    EXPECT_EQ(ended.code, 2) << ended.err;
    return ended.err;
  };
  EXPECT_THAT(refusal({"--principals-file", "/nothing"}), HasSubstr("/nothing: No such file"));
  EXPECT_THAT(refusal({"--principals-file", Write("principals", "nonsense")}),
              HasSubstr("line 1: it is neither"));
  EXPECT_THAT(refusal({"--anonymous-role", "boss"}), HasSubstr("'boss' is no role"));
  EXPECT_THAT(refusal({"--confinement", "some"}), HasSubstr("'some' is none of"));
  EXPECT_THAT(refusal({"--tls-certificate", "/nothing"}), HasSubstr("--tls-key"));
  EXPECT_THAT(refusal({"--tls-certificate", "/nothing", "--tls-key", "/nothing"}),
              HasSubstr("/nothing: No such file"));
  EXPECT_EQ(RunProgram({ProgramPath("mdhd"), "make-token", "two words", "tuner"}).code, 2);
  EXPECT_EQ(RunProgram({ProgramPath("mdhd"), "make-token", "ann", "boss"}).code, 2);
}

TEST_F(AccessTest, DevicesTellHowTheyAreConfined) {
  StartDaemon({"--confinement", "off"});
  EXPECT_EQ(MdhJson({"devices"})["devices"][0]["confinement"], "none, as configured");
  EXPECT_THAT(Mdh({"devices"}).out, HasSubstr("none, as configured"));
}

}  // namespace
}  // namespace mdh::access_test
