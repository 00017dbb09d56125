#include "server/access/role.h"

#include <array>
#include <string>

namespace mdh {
namespace {

constexpr std::array<std::string_view, 5> kRoleNames = {"none", "reader", "tuner", "publisher",
                                                        "admin"};

}  // namespace

std::string_view RoleName(Role role) { return kRoleNames[static_cast<size_t>(role)]; }

Result<Role> ParseRole(std::string_view name) {
  for (size_t n = 0; n < kRoleNames.size(); ++n) {
    if (kRoleNames[n] == name) return static_cast<Role>(n);
  }
  return InvalidArgument("'", std::string(name),
                         "' is no role: none, reader, tuner, publisher or admin");
}

}  // namespace mdh
