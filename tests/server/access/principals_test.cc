#include "server/access/principals.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::principals_test {
namespace {

using ::testing::HasSubstr;

std::string Line(const std::string& name, const std::string& role, const std::string& token) {
  return *TokenLine(name, role, token) + "\n";
}

TEST(PrincipalsTest, DigestsAreSha256) {
  EXPECT_EQ(ToText(DigestOfToken("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const TokenDigest digest = DigestOfToken("");
  EXPECT_EQ(*ParseTokenDigest(ToText(digest)), digest);
}

TEST(PrincipalsTest, MadeTokensDifferAndFitIntoAHeader) {
  std::set<std::string> made;
  for (int n = 0; n < 100; ++n) {
    const std::string token = MakeToken();
    EXPECT_EQ(token.size(), 43U);
    EXPECT_EQ(token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789-_"),
              std::string::npos)
        << token;
    made.insert(token);
  }
  EXPECT_EQ(made.size(), 100U);
}

TEST(PrincipalsTest, TokensAndCertificatesNamePrincipals) {
  const auto principals = *Principals::Parse(absl::StrCat(
      "# of the farm\n\n", Line("farm", "publisher", "old"), Line("farm", "publisher", "new"),
      Line("ann", "tuner", "secret"), "  certificate\tbuild.example.org  reader  # a comment\r\n"));
  EXPECT_EQ(principals->tokens(), 3U);
  EXPECT_EQ(principals->FindToken("old")->name, "farm");
  EXPECT_EQ(principals->FindToken("new")->role, Role::kPublisher);
  EXPECT_EQ(principals->FindToken("secret")->name, "ann");
  EXPECT_EQ(principals->FindToken("Secret"), nullptr);
  EXPECT_EQ(principals->FindToken(""), nullptr);
  EXPECT_EQ(principals->FindToken(ToText(DigestOfToken("secret"))), nullptr)
      << "what the file says is no token";
  EXPECT_EQ(principals->FindCertificate("build.example.org")->role, Role::kReader);
  EXPECT_EQ(principals->FindCertificate("other.example.org"), nullptr);
}

TEST(PrincipalsTest, LinesForTokensAreChecked) {
  EXPECT_EQ(*TokenLine("ann", "tuner", "abc"),
            "token ann tuner ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_FALSE(TokenLine("ann b", "tuner", "abc").ok());
  EXPECT_FALSE(TokenLine("", "tuner", "abc").ok());
  EXPECT_FALSE(TokenLine("ann", "boss", "abc").ok());
}

TEST(PrincipalsTest, AStarMeansEveryOtherCertificate) {
  const auto principals = *Principals::Parse("certificate * reader\ncertificate root admin\n");
  EXPECT_EQ(principals->FindCertificate("root")->role, Role::kAdmin);
  EXPECT_EQ(principals->FindCertificate("worker-7")->role, Role::kReader);
  EXPECT_EQ(principals->FindCertificate("worker-7")->name, "worker-7");
  EXPECT_EQ(principals->FindCertificate("a name\nthat breaks logs"), nullptr);
}

TEST(PrincipalsTest, LimitsAreSetForRoles) {
  const auto principals =
      *Principals::Parse("limits tuner calls=7 queued_jobs=0\nlimits admin calls=9\n");
  EXPECT_EQ(principals->limits().of(Role::kTuner).calls, 7);
  EXPECT_EQ(principals->limits().of(Role::kTuner).queued_jobs, 0);
  EXPECT_EQ(principals->limits().of(Role::kTuner).watches, LimitTable().of(Role::kTuner).watches);
  EXPECT_EQ(principals->limits().of(Role::kAdmin).calls, 9);
}

TEST(PrincipalsTest, WrongLinesAreNamed) {
  const std::string good = Line("ann", "tuner", "secret");
  const std::pair<std::string, const char*> cases[] = {
      {"token ann tuner", "neither"},
      {"token ann tuner 12", "64 hexadecimal digits"},
      {absl::StrCat("token ann tuner ", std::string(64, 'g')), "64 hexadecimal digits"},
      {"certificate ann boss", "no role"},
      {"certificate a,b reader", "the name 'a,b'"},
      {absl::StrCat("certificate ", std::string(65, 'a'), " reader"), "the name"},
      {"password ann tuner secret", "neither"},
      {"certificate ann reader", "another role"},
      {"limits tuner", "no role, or no limit"},
      {"limits boss calls=1", "no role"},
      {"limits tuner calls", "no number"},
      {"limits tuner colour=1", "is no limit"},
      {good, "earlier line"},
      {"certificate b reader\ncertificate b reader", "earlier line"}};
  for (const auto& [line, expected] : cases) {
    const auto parsed = Principals::Parse(good + line);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(expected)) << line;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("line ")) << line;
  }
}

}  // namespace
}  // namespace mdh::principals_test
