// Which role each method of the daemon needs.
#pragma once

#include <string_view>

#include "absl/types/span.h"
#include "server/access/call_kind.h"
#include "server/access/role.h"

namespace mdh {

struct MethodRole {
  std::string_view method;  // "/mdh.v1.KernelService/LookupKernel"
  Role role;                // kNone: everybody may call it
  CallKind kind = CallKind::kCall;
};

// All of them, in the order of their names.
absl::Span<const MethodRole> MethodRoles();

// Null of a method that is not in the table, which nobody may call.
const MethodRole* FindMethodRole(std::string_view method);

}  // namespace mdh
