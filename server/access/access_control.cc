#include "server/access/access_control.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/error_details.h"
#include "server/access/method_roles.h"

namespace mdh {
namespace {

constexpr std::string_view kBearer = "Bearer ";

std::shared_ptr<const Principal> Nobody(Role role) {
  return std::make_shared<const Principal>(Principal{"", role});
}

bool IsOnThisMachine(std::string_view peer) {
  for (const std::string_view local : {"unix:", "ipv4:127.", "ipv6:%5B::1%5D", "ipv6:[::1]"}) {
    if (peer.starts_with(local)) return true;
  }
  return false;
}

// "ipv4:10.0.0.7:4711" without the port, which differs with every connection.
std::string HostOf(const std::string& peer) {
  const bool has_port = peer.starts_with("ipv4:") || peer.starts_with("ipv6:");
  return has_port ? peer.substr(0, peer.rfind(':')) : peer;
}

// The token of the call, if there is one.
Result<std::optional<std::string_view>> FindToken(const grpc::ServerContextBase& context) {
  const auto found = context.client_metadata().find("authorization");
  if (found == context.client_metadata().end()) return std::nullopt;
  const std::string_view value(found->second.data(), found->second.size());
  if (!value.starts_with(kBearer)) {
    return WithReason(Unauthenticated("the authorization of the call is not 'Bearer <token>'"),
                      "CREDENTIALS_UNKNOWN");
  }
  return std::optional<std::string_view>(value.substr(kBearer.size()));
}

Status Refusal(const Principal& principal, Role needed, std::string_view method) {
  const std::map<std::string, std::string> details = {
      {"method", std::string(method)},
      {"role", std::string(RoleName(principal.role))},
      {"neededRole", std::string(RoleName(needed))}};
  const std::string needs =
      absl::StrCat(std::string(method), " needs the role ", std::string(RoleName(needed)));
  if (principal.role == Role::kNone) {
    return WithReason(Unauthenticated(needs, "; give a token or a certificate"),
                      "CREDENTIALS_MISSING", details);
  }
  const std::string who = principal.name.empty() ? "callers without a name" : principal.name;
  return WithReason(
      PermissionDenied(needs, "; ", who, " have ", std::string(RoleName(principal.role))),
      "ROLE_TOO_LOW", details);
}

}  // namespace

std::string Caller::Source(const grpc::ServerContextBase& context) const {
  return principal->name.empty() ? HostOf(context.peer()) : principal->name;
}

std::string Caller::SourceOf(const grpc::ServerContextBase& context,
                             const std::string& asked) const {
  const bool may_choose = principal->name.empty() || principal->role == Role::kAdmin;
  return may_choose && !asked.empty() ? asked : Source(context);
}

AccessControl::AccessControl(AccessOptions options, const PrincipalsFile* file)
    : file_(file),
      anonymous_local_(Nobody(options.anonymous_local)),
      anonymous_remote_(Nobody(options.anonymous_remote)) {}

const std::shared_ptr<const Principal>& AccessControl::Anonymous(
    const grpc::ServerContextBase& context) const {
  if (anonymous_local_->role == anonymous_remote_->role) return anonymous_local_;
  return IsOnThisMachine(context.peer()) ? anonymous_local_ : anonymous_remote_;
}

std::shared_ptr<const Principal> AccessControl::FindCertificate(
    const grpc::ServerContextBase& context, const Principals& principals) const {
  const std::shared_ptr<const grpc::AuthContext> connection = context.auth_context();
  if (connection == nullptr || !connection->IsPeerAuthenticated()) return nullptr;
  for (const char* property : {GRPC_X509_SAN_PROPERTY_NAME, GRPC_X509_CN_PROPERTY_NAME}) {
    for (const grpc::string_ref& name : connection->FindPropertyValues(property)) {
      auto found = principals.FindCertificate({name.data(), name.size()});
      if (found != nullptr) return found;
    }
  }
  return nullptr;
}

RoleLimits AccessControl::LimitsOf(Role role) const {
  return file_ == nullptr ? default_limits_.of(role) : file_->current()->limits().of(role);
}

Result<std::shared_ptr<const Principal>> AccessControl::FindPrincipal(
    const grpc::ServerContextBase& context) const {
  if (file_ == nullptr) return Anonymous(context);
  const std::shared_ptr<const Principals> principals = file_->current();
  MDH_ASSIGN_OR_RETURN(const std::optional<std::string_view> token, FindToken(context));
  if (token.has_value()) {
    std::shared_ptr<const Principal> found = principals->FindToken(*token);
    if (found != nullptr) return found;
    return WithReason(Unauthenticated("nobody has the token of the call"), "TOKEN_UNKNOWN");
  }
  if (principals->certificates() > 0) {
    std::shared_ptr<const Principal> found = FindCertificate(context, *principals);
    if (found != nullptr) return found;
  }
  return Anonymous(context);
}

Result<Caller> AccessControl::Identify(const grpc::ServerContextBase& context) const {
  MDH_ASSIGN_OR_RETURN(std::shared_ptr<const Principal> principal, FindPrincipal(context));
  const RoleLimits limits = LimitsOf(principal->role);
  return Caller{std::move(principal), limits};
}

Status AccessControl::CheckRole(const Caller& caller, std::string_view method) const {
  const MethodRole* entry = FindMethodRole(method);
  if (entry == nullptr) {
    return WithReason(
        PermissionDenied(std::string(method), " is not in the table of methods and roles"),
        "METHOD_UNKNOWN");
  }
  if (caller.principal->role >= entry->role) return absl::OkStatus();
  return Refusal(*caller.principal, entry->role, method);
}

Status AccessControl::CheckOwner(const Caller& caller, const std::string& source,
                                 const std::string& what) const {
  const Principal& principal = *caller.principal;
  // What was stored by a daemon that kept no owners is everybody's.
  if (principal.role == Role::kAdmin || source.empty() || source == principal.name) {
    return absl::OkStatus();
  }
  const bool is_principals = file_ != nullptr && file_->current()->HasName(source);
  if (principal.name.empty() && !is_principals) return absl::OkStatus();
  const std::string who = principal.name.empty() ? "callers without a name" : principal.name;
  return WithReason(PermissionDenied(what, " belongs to ", source, ": ", who,
                                     " may not change it, administrators may"),
                    "NOT_THE_OWNER", {{"name", what}, {"owner", source}});
}

Result<Admission> AccessControl::Enter(const grpc::ServerContextBase& context,
                                       std::string_view method) const {
  MDH_ASSIGN_OR_RETURN(Caller caller, Identify(context));
  MDH_RETURN_IF_ERROR(CheckRole(caller, method));
  if (caller.limits == RoleLimits()) return Admission{std::move(caller), CallLimiter::Slot()};
  MDH_ASSIGN_OR_RETURN(CallLimiter::Slot slot, limiter_.Enter(caller.Source(context), caller.limits,
                                                              FindMethodRole(method)->kind));
  return Admission{std::move(caller), std::move(slot)};
}

Status AccessControl::Admit(const grpc::ServerContextBase& context, std::string_view method) const {
  MDH_ASSIGN_OR_RETURN(const Caller caller, Identify(context));
  MDH_RETURN_IF_ERROR(CheckRole(caller, method));
  if (caller.limits.requests_per_second == 0) return absl::OkStatus();
  return limiter_.Count(caller.Source(context), caller.limits);
}

std::string RequestIdOf(const grpc::ServerContextBase& context) {
  const auto given = context.client_metadata().find("x-request-id");
  return given == context.client_metadata().end()
             ? NextRequestId()
             : RequestIdFrom(std::string(given->second.data(), given->second.size()));
}

}  // namespace mdh
