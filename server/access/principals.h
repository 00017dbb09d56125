// Who may call the daemon: the names behind tokens and certificates, and their roles.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/status.h"
#include "server/access/role.h"
#include "server/access/role_limits.h"

namespace mdh {

// SHA-256 of a token. The daemon keeps no tokens.
using TokenDigest = std::array<uint8_t, 32>;

TokenDigest DigestOfToken(std::string_view token);
// 64 hexadecimal digits.
std::string ToText(const TokenDigest& digest);
// Errors: InvalidArgument.
Result<TokenDigest> ParseTokenDigest(std::string_view text);
// 256 random bits in 43 letters, digits, '-' and '_'.
std::string MakeToken();

// The line of a principal's file that gives `token` to `name`. Errors: InvalidArgument.
Result<std::string> TokenLine(const std::string& name, const std::string& role,
                              std::string_view token);

// Somebody with a role.
struct Principal {
  std::string name;  // empty: nobody in particular
  Role role = Role::kNone;
};

// Immutable and thread-safe.
class Principals {
 public:
  // One of these in a line; empty lines and what follows a '#' mean nothing:
  //   token <name> <role> <SHA-256 of the token>   several of one name, while tokens are replaced
  //   certificate <name> <role>                    of a client's certificate, see FindCertificate;
  //                                                "*": every certificate that no other line names
  //   limits <role> <limit>=<number>...            see RoleLimits; others stay as they are
  // Names have at most 64 letters, digits and ".-_@:/". Errors: InvalidArgument with the line.
  static Result<std::shared_ptr<const Principals>> Parse(std::string_view text);

  // Null if nobody has this token. How long it takes says nothing of the tokens that there are.
  std::shared_ptr<const Principal> FindToken(std::string_view token) const;
  // `name`: a subject alternative name or the common name of a certificate that was verified.
  std::shared_ptr<const Principal> FindCertificate(std::string_view name) const;

  // Whether a line names somebody so.
  bool HasName(const std::string& name) const { return roles_.contains(name); }

  const LimitTable& limits() const { return limits_; }
  size_t tokens() const { return by_digest_.size(); }
  size_t certificates() const { return by_certificate_.size(); }

 private:
  Status AddLine(std::string_view line);
  Status AddLimits(const std::vector<std::string>& words);
  Status AddToken(std::shared_ptr<const Principal> principal, std::string_view digest);
  Status AddCertificate(std::shared_ptr<const Principal> principal);

  struct Token {
    TokenDigest digest;
    std::shared_ptr<const Principal> principal;
  };
  // By the first bytes of the digest, which nobody can choose; the rest is compared.
  absl::flat_hash_map<uint64_t, Token> by_digest_;
  absl::flat_hash_map<std::string, std::shared_ptr<const Principal>> by_certificate_;
  std::map<std::string, Role> roles_;  // of each name
  LimitTable limits_;
};

}  // namespace mdh
