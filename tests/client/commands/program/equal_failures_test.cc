#include "client/commands/program/equal_failures.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::equal_failures_test {
namespace {

using ::testing::HasSubstr;

v1::StudyTrial Failed(int x, int y, const std::string& failure) {
  v1::StudyTrial trial;
  auto& fields = *trial.mutable_configuration()->mutable_values()->mutable_fields();
  fields["X"].set_number_value(x);
  fields["Y"].set_number_value(y);
  trial.set_failure(failure);
  return trial;
}

TEST(EqualFailures, TheSameCompileErrorAgainAndAgainIsTheEnd) {
  EqualFailures failures;
  for (int n = 0; n < 8; ++n) {
    EXPECT_EQ(failures.Verdict(), "");
    failures.Note(Failed(n, n % 2, absl::StrCat("compile error: a.c:", n, ": no foo.h")));
  }
  EXPECT_THAT(failures.Verdict(),
              HasSubstr("first 8 configurations fail alike: compile error: a.c:0: no foo.h"));
}

TEST(EqualFailures, OneThatWorkedOrFailedOtherwiseIsHope) {
  EqualFailures failures;
  v1::StudyTrial good = Failed(0, 0, "");
  good.set_cost(3);
  failures.Note(good);
  for (int n = 0; n < 100; ++n) failures.Note(Failed(n, n, "compile error: x"));
  EXPECT_EQ(failures.Verdict(), "");

  EqualFailures others;
  others.Note(Failed(1, 1, "crash: exit status 1"));
  for (int n = 0; n < 100; ++n) others.Note(Failed(n, n, "compile error: x"));
  EXPECT_EQ(others.Verdict(), "");

  EqualFailures different;
  different.Note(Failed(1, 1, "compile error: y"));
  for (int n = 0; n < 100; ++n) different.Note(Failed(n, n, "compile error: x"));
  EXPECT_EQ(different.Verdict(), "");
}

// An exhaustive search begins with one value of the first parameter for long.
TEST(EqualFailures, AParameterThatDidNotVaryYetMayBeTheCause) {
  EqualFailures failures;
  for (int n = 0; n < 63; ++n) failures.Note(Failed(0, n, "compile error: x"));
  EXPECT_EQ(failures.Verdict(), "");
  failures.Note(Failed(0, 63, "compile error: x"));
  EXPECT_NE(failures.Verdict(), "");
}

}  // namespace
}  // namespace mdh::equal_failures_test
