#include "server/access/principals.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace mdh {
namespace {

constexpr size_t kTokenBytes = 32;
constexpr size_t kMaxPrincipalBytes = 64;

uint64_t FirstBytes(const TokenDigest& digest) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, digest.data(), sizeof(bytes));
  return bytes;
}

Status CheckName(std::string_view name) {
  const auto is_allowed = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           std::string_view(".-_@:/").find(c) != std::string_view::npos;
  };
  if (name.empty() || name.size() > kMaxPrincipalBytes || !std::ranges::all_of(name, is_allowed)) {
    return InvalidArgument("the name '", std::string(name), "' is not one of 1 to ",
                           kMaxPrincipalBytes, " letters, digits and .-_@:/");
  }
  return absl::OkStatus();
}

}  // namespace

TokenDigest DigestOfToken(std::string_view token) {
  // Looked up once: that takes longer than the digest.
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  TokenDigest digest = {};
  const int done = EVP_Digest(token.data(), token.size(), digest.data(), nullptr, sha256, nullptr);
  if (done != 1) std::abort();  // there is no memory
  return digest;
}

std::string ToText(const TokenDigest& digest) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

Result<TokenDigest> ParseTokenDigest(std::string_view text) {
  const bool is_hexadecimal = std::ranges::all_of(
      text, [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); });
  TokenDigest digest = {};
  if (text.size() != 2 * digest.size() || !is_hexadecimal) {
    return InvalidArgument("the SHA-256 of a token has 64 hexadecimal digits");
  }
  const std::string bytes = absl::HexStringToBytes(absl::string_view(text.data(), text.size()));
  std::memcpy(digest.data(), bytes.data(), digest.size());
  return digest;
}

std::string MakeToken() {
  std::array<unsigned char, kTokenBytes> bytes = {};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) std::abort();
  return absl::WebSafeBase64Escape(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Result<std::string> TokenLine(const std::string& name, const std::string& role,
                              std::string_view token) {
  MDH_RETURN_IF_ERROR(CheckName(name));
  MDH_RETURN_IF_ERROR(ParseRole(role).status());
  return absl::StrCat("token ", name, " ", role, " ", ToText(DigestOfToken(token)));
}

Result<std::shared_ptr<const Principals>> Principals::Parse(std::string_view text) {
  auto principals = std::make_shared<Principals>();
  int number = 0;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    const Status added = principals->AddLine({line.data(), line.size()});
    if (!added.ok()) return InvalidArgument("line ", number, ": ", added.message());
  }
  return std::shared_ptr<const Principals>(std::move(principals));
}

Status Principals::AddLine(std::string_view line) {
  const std::string_view before = line.substr(0, line.find('#'));
  const std::vector<std::string> words = absl::StrSplit(
      absl::string_view(before.data(), before.size()), absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  if (words.empty()) return absl::OkStatus();
  if (words[0] == "limits") return AddLimits(words);
  const bool is_token = words[0] == "token" && words.size() == 4;
  const bool is_certificate = words[0] == "certificate" && words.size() == 3;
  if (!is_token && !is_certificate) {
    return InvalidArgument(
        "it is neither 'token <name> <role> <SHA-256>' nor 'certificate <name> <role>' nor "
        "'limits <role> <limit>=<number>'");
  }
  const bool is_every = is_certificate && words[1] == "*";
  if (!is_every) MDH_RETURN_IF_ERROR(CheckName(words[1]));
  MDH_ASSIGN_OR_RETURN(const Role role, ParseRole(words[2]));
  if (const auto [known, is_new] = roles_.emplace(words[1], role);
      !is_new && known->second != role) {
    return InvalidArgument(words[1], " has another role in an earlier line");
  }
  auto principal = std::make_shared<const Principal>(Principal{words[1], role});
  return is_token ? AddToken(std::move(principal), words[3]) : AddCertificate(std::move(principal));
}

Status Principals::AddLimits(const std::vector<std::string>& words) {
  if (words.size() < 3) return InvalidArgument("'limits' has no role, or no limit for it");
  MDH_ASSIGN_OR_RETURN(const Role role, ParseRole(words[1]));
  for (size_t n = 2; n < words.size(); ++n) MDH_RETURN_IF_ERROR(limits_.Set(role, words[n]));
  return absl::OkStatus();
}

Status Principals::AddToken(std::shared_ptr<const Principal> principal, std::string_view digest) {
  MDH_ASSIGN_OR_RETURN(const TokenDigest parsed, ParseTokenDigest(digest));
  if (!by_digest_.try_emplace(FirstBytes(parsed), Token{parsed, std::move(principal)}).second) {
    return InvalidArgument("the token is in an earlier line");
  }
  return absl::OkStatus();
}

Status Principals::AddCertificate(std::shared_ptr<const Principal> principal) {
  const std::string name = principal->name;
  if (!by_certificate_.try_emplace(name, std::move(principal)).second) {
    return InvalidArgument("the certificate is in an earlier line");
  }
  return absl::OkStatus();
}

std::shared_ptr<const Principal> Principals::FindToken(std::string_view token) const {
  const TokenDigest digest = DigestOfToken(token);
  const auto found = by_digest_.find(FirstBytes(digest));
  if (found == by_digest_.end() ||
      CRYPTO_memcmp(found->second.digest.data(), digest.data(), digest.size()) != 0) {
    return nullptr;
  }
  return found->second.principal;
}

std::shared_ptr<const Principal> Principals::FindCertificate(std::string_view name) const {
  auto found = by_certificate_.find(absl::string_view(name.data(), name.size()));
  if (found != by_certificate_.end()) return found->second;
  found = by_certificate_.find("*");
  if (found == by_certificate_.end() || !CheckName(name).ok()) return nullptr;
  return std::make_shared<const Principal>(Principal{std::string(name), found->second->role});
}

}  // namespace mdh
