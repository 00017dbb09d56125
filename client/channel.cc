#include "client/channel.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "client/retry_policy.h"
#include "core/base/trusted_path.h"
#include "proto/endpoint.h"

namespace mdh {
namespace {

// Who could change the authority would be the daemon whose kernels are run.
Result<std::string> ReadPem(const std::string& path, const TrustedUsers& trusted) {
  if (path.empty()) return std::string();
  MDH_RETURN_IF_ERROR(CheckTrustedPath(path, trusted));
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad() || bytes.find("-----BEGIN ") == std::string::npos) {
    return InvalidArgument(path, ": ", errno == 0 ? "there is no PEM in it" : std::strerror(errno));
  }
  return bytes;
}

Result<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(const std::string& target,
                                                                  const ClientSecurity& security) {
  if (security.tls_certificate.empty() != security.tls_key.empty()) {
    return InvalidArgument("a client's certificate and its key are given together");
  }
  if (security.tls_ca.empty() && !security.tls_certificate.empty()) {
    return InvalidArgument(
        "a client's certificate needs TLS: give the authority of the daemon's certificate");
  }
  if (security.tls_ca.empty() || IsUnixEndpoint(target)) return grpc::InsecureChannelCredentials();
  MDH_ASSIGN_OR_RETURN(const TrustedUsers trusted, TrustedUsers::Parse(security.trusted_users));
  grpc::SslCredentialsOptions options;
  MDH_ASSIGN_OR_RETURN(options.pem_root_certs, ReadPem(security.tls_ca, trusted));
  MDH_ASSIGN_OR_RETURN(options.pem_cert_chain, ReadPem(security.tls_certificate, trusted));
  MDH_ASSIGN_OR_RETURN(options.pem_private_key, ReadPem(security.tls_key, trusted));
  return grpc::SslCredentials(options);
}

// Errors: InvalidArgument if it cannot be in a header; FailedPrecondition if others could read it.
Status CheckToken(const std::string& target, const ClientSecurity& security) {
  const auto is_visible = [](char c) { return c > ' ' && c <= '~'; };
  if (!std::ranges::all_of(security.token, is_visible)) {
    return InvalidArgument("the token has characters that tokens do not have");
  }
  if (security.token.empty() || security.allow_token_in_clear || !security.tls_ca.empty() ||
      IsLocalEndpoint(target)) {
    return absl::OkStatus();
  }
  return FailedPrecondition(
      "the token is not sent to ", target, " without TLS, where others could read it; give the ",
      "authority of the daemon's certificate, or allow it (--allow-token-in-clear)");
}

Status CannotConnect(const std::string& target, const std::string& more) {
  return Unavailable("cannot connect to ", target, "; is mdhd running there", more, "?");
}

Status CheckListener(const std::string& target, const ClientSecurity& security) {
  MDH_ASSIGN_OR_RETURN(TrustedUsers trusted, TrustedUsers::Parse(security.trusted_users));
  const Status checked = CheckTrustedEndpoint(target, std::move(trusted));
  return absl::IsNotFound(checked) ? CannotConnect(target, "") : checked;
}

// Of one call.
class TokenSender final : public grpc::experimental::Interceptor {
 public:
  explicit TokenSender(const std::string& authorization) : authorization_(authorization) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->insert({"authorization", authorization_});
    }
    methods->Proceed();
  }

 private:
  const std::string& authorization_;
};

// gRPC's own credentials of calls are for TLS only: tokens go over Unix sockets, too.
class TokenSenders final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit TokenSenders(const std::string& token) : authorization_("Bearer " + token) {}

  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return new TokenSender(authorization_);  // gRPC owns it
  }

 private:
  const std::string authorization_;
};

// Ends a call, before it begins, of a process that did not open the connection: it would write into
// that of its parent.
class RefusalInOtherProcess final : public grpc::experimental::Interceptor {
 public:
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Hook = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Hook::PRE_RECV_MESSAGE)) {
      methods->FailHijackedRecvMessage();
    }
    if (methods->QueryInterceptionHookPoint(Hook::PRE_RECV_STATUS)) {
      *methods->GetRecvStatus() =
          grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                       "the connection is that of the process that this one was forked from; "
                       "connect again here");
    }
    if (methods->QueryInterceptionHookPoint(Hook::PRE_SEND_INITIAL_METADATA)) {
      methods->Hijack();
    } else {
      methods->Proceed();
    }
  }
};

class RefusalsInOtherProcesses final
    : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return getpid() == process_ ? nullptr : new RefusalInOtherProcess();  // gRPC owns it
  }

 private:
  const pid_t process_ = getpid();
};

}  // namespace

Result<std::shared_ptr<grpc::Channel>> ConnectChannel(const std::string& target,
                                                      const ClientOptions& options) {
  MDH_RETURN_IF_ERROR(CheckToken(target, options.security));
  MDH_RETURN_IF_ERROR(CheckListener(target, options.security));
  MDH_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ChannelCredentials> credentials,
                       MakeCredentials(target, options.security));
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(std::make_unique<RefusalsInOtherProcesses>());
  if (!options.security.token.empty()) {
    interceptors.push_back(std::make_unique<TokenSenders>(options.security.token));
  }
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(RetryServiceConfig());
  // A daemon that was restarted is found again while calls are still repeated.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  // A forked process that connects again shares nothing with its parent.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // What does not leave the machine goes through no proxy, whatever $http_proxy says.
  if (IsLocalEndpoint(target)) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  std::shared_ptr<grpc::Channel> channel = grpc::experimental::CreateCustomChannelWithInterceptors(
      target, credentials, arguments, std::move(interceptors));
  const auto limit = After(options.connect_limit_ns);
  grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
  // A first failure is final: nobody waits for a daemon that is not there.
  while (state == GRPC_CHANNEL_IDLE || state == GRPC_CHANNEL_CONNECTING) {
    if (!channel->WaitForStateChange(state, limit)) break;
    state = channel->GetState(/*try_to_connect=*/true);
  }
  if (state != GRPC_CHANNEL_READY) {
    const bool is_tls = !options.security.tls_ca.empty() && !IsUnixEndpoint(target);
    return CannotConnect(target,
                         is_tls ? ", with TLS and a certificate that is valid for this name" : "");
  }
  return channel;
}

}  // namespace mdh
