// How clients reach the daemon and what they wait for.
#pragma once

#include <cstdint>
#include <string>

namespace mdh {

// Whom a client trusts and who it is. Unix sockets ignore the TLS part.
struct ClientSecurity {
  // Users whose Unix sockets are trusted, beside root's, one's own and the system service's, see
  // TrustedUsers::Parse: a daemon's kernels are code that its clients run.
  std::string trusted_users = "";
  // File in PEM with the authority of the daemon's certificate: TCP connections use TLS; empty: no
  // TLS.
  std::string tls_ca = "";
  // Files in PEM with the client's own certificate and key; both or none.
  std::string tls_certificate = "";
  std::string tls_key = "";
  // Sent with every call; empty: none.
  std::string token = "";
  // Sends it even over TCP without TLS to another machine, where others can read it.
  bool allow_token_in_clear = false;
};

struct ClientOptions {
  int64_t connect_limit_ns = 5'000'000'000;
  // Of one call, but for Watch and Tune, which last as long as the job, and ListDevices and
  // GetDevice, which may have to measure first.
  int64_t call_limit_ns = 30'000'000'000;
  ClientSecurity security = {};
};

}  // namespace mdh
