// Who calls, and whether they may: every call to a service of the daemon passes here before it does
// anything. gRPC 1.51 has no place that all calls pass and that can refuse them with a status: a
// processor of metadata sees calls with secure credentials alone, and an interceptor can only
// cancel. So each method begins with IfAdmitted, and those that answer on a completion queue of
// their own call Admit; a test calls every method that the daemon has and expects to be refused.
// Health and reflection are gRPC's own and open to all.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "core/base/exhaustion.h"
#include "core/base/status.h"
#include "proto/grpc_status.h"
#include "server/access/call_limiter.h"
#include "server/access/principals_file.h"
#include "server/access/role.h"
#include "server/operate/log_context.h"

namespace mdh {

// Who calls.
struct Caller {
  std::shared_ptr<const Principal> principal;
  RoleLimits limits;
  // Whom jobs are counted for: the principal's name; without one, the address, without its port.
  std::string Source(const grpc::ServerContextBase& context) const;
  // That of the request, if the caller may speak for others: administrators, and whoever has no
  // name either. Else as Source.
  std::string SourceOf(const grpc::ServerContextBase& context, const std::string& asked) const;
};

// Somebody who was let in.
struct Admission {
  Caller caller;
  CallLimiter::Slot slot;
};

struct AccessOptions {
  // Those who give no credentials, on Unix sockets and from this machine's loopback addresses.
  Role anonymous_local = Role::kAdmin;
  // From elsewhere.
  Role anonymous_remote = Role::kReader;
};

// Thread-safe. Admit takes about a microsecond of a caller with a token, less of others.
class AccessControl {
 public:
  // Everybody is anonymous.
  explicit AccessControl(AccessOptions options) : AccessControl(options, nullptr) {}
  // `file` must outlive this; null: none.
  AccessControl(AccessOptions options, const PrincipalsFile* file);

  // By token ("authorization: Bearer <token>"), else by the name in the certificate, else
  // anonymous. Errors: Unauthenticated if there is a token that nobody has.
  Result<Caller> Identify(const grpc::ServerContextBase& context) const;

  // `method`: "/mdh.v1.KernelService/LookupKernel". Errors: Unauthenticated if the caller has no
  // role; PermissionDenied if the role is too low, or the method is not in the table of
  // method_roles.h; ResourceExhausted if the caller asks for more than its role may.
  Status Admit(const grpc::ServerContextBase& context, std::string_view method) const;
  // Admit for a call that lasts: it counts until the admission is destroyed. Errors: as Admit.
  Result<Admission> Enter(const grpc::ServerContextBase& context, std::string_view method) const;
  // Whether the caller may end or delete what `source` asked for (Caller::Source), named `what`:
  // administrators may, those with a name what is theirs, those without what is no principal's.
  // Errors: PermissionDenied, naming the owner.
  Status CheckOwner(const Caller& caller, const std::string& source, const std::string& what) const;
  // Whether a caller that was admitted to another method may call this one, too. Errors: as Admit.
  Status CheckRole(const Caller& caller, std::string_view method) const;

 private:
  Result<std::shared_ptr<const Principal>> FindPrincipal(
      const grpc::ServerContextBase& context) const;
  std::shared_ptr<const Principal> FindCertificate(const grpc::ServerContextBase& context,
                                                   const Principals& principals) const;
  const std::shared_ptr<const Principal>& Anonymous(const grpc::ServerContextBase& context) const;

  RoleLimits LimitsOf(Role role) const;

  const PrincipalsFile* const file_;
  const LimitTable default_limits_;
  mutable CallLimiter limiter_;
  const std::shared_ptr<const Principal> anonymous_local_;
  const std::shared_ptr<const Principal> anonymous_remote_;
};

// What the client calls its request, in the metadata x-request-id; else an id of the daemon's.
std::string RequestIdOf(const grpc::ServerContextBase& context);

// Calls `work(caller)`, which gives the Status of the call, if the caller may call `method`. A call
// that needs more memory than there is is refused with ResourceExhausted.
template <typename Work>
grpc::Status IfAdmitted(const AccessControl& access, const grpc::ServerContextBase& context,
                        std::string_view method, Work&& work) {
  const LogContext log("request", RequestIdOf(context));
  const Result<Admission> admission = access.Enter(context, method);
  if (!admission.ok()) return ToGrpcStatus(admission.status());
  try {
    return ToGrpcStatus(work(admission->caller));
  } catch (const std::bad_alloc&) {
    return ToGrpcStatus(OutOfMemory());
  }
}

}  // namespace mdh
