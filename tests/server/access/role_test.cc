#include "server/access/role.h"

#include "gtest/gtest.h"

namespace mdh::role_test {
namespace {

TEST(RoleTest, EachIsWrittenAndReadAgain) {
  for (const Role role :
       {Role::kNone, Role::kReader, Role::kTuner, Role::kPublisher, Role::kAdmin}) {
    EXPECT_EQ(*ParseRole(RoleName(role)), role);
  }
  EXPECT_LT(Role::kReader, Role::kTuner);
  EXPECT_LT(Role::kPublisher, Role::kAdmin);
}

TEST(RoleTest, OthersAreRefused) {
  for (const char* name : {"", "Admin", "root", "reader "}) {
    EXPECT_EQ(ParseRole(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

}  // namespace
}  // namespace mdh::role_test
