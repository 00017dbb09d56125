#include "server/store/postgres/postgres_address.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/store/postgres/libpq.h"

namespace mdh {
namespace {

constexpr const char* kHidden = "***";

// user:password@hosts
std::string WithoutPassword(std::string_view authority) {
  const size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return std::string(authority);
  const std::string_view user = authority.substr(0, authority.substr(0, at).find(':'));
  if (user.size() >= at) return std::string(authority);
  return absl::StrCat(std::string(user), ":", kHidden, std::string(authority.substr(at)));
}

std::string WithoutSecretOptions(std::string_view query) {
  std::vector<std::string> options =
      absl::StrSplit(absl::string_view(query.data(), query.size()), '&');
  for (std::string& option : options) {
    const size_t equals = option.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = absl::AsciiStrToLower(option.substr(0, equals));
    // Also if a letter of the name is written as %70.
    if (!absl::StrContains(name, "pass") && !absl::StrContains(name, "%")) continue;
    option = absl::StrCat(option.substr(0, equals + 1), kHidden);
  }
  return absl::StrJoin(options, "&");
}

}  // namespace

bool IsPostgresAddress(std::string_view database) {
  return database.starts_with("postgresql:") || database.starts_with("postgres:");
}

std::string WithoutSecrets(std::string_view address) {
  const size_t slashes = address.find("//");
  const size_t authority = slashes == std::string_view::npos ? address.find(':') + 1 : slashes + 2;
  // A password that is not written as URLs want it may have any character.
  const size_t at = address.rfind('@');
  const size_t after = at == std::string_view::npos || at < authority ? authority : at;
  const size_t end = std::min(address.find_first_of("/?", after), address.size());
  const size_t query = address.find('?', after);
  std::string shown = absl::StrCat(std::string(address.substr(0, authority)),
                                   WithoutPassword(address.substr(authority, end - authority)));
  if (query == std::string_view::npos) {
    return absl::StrCat(shown, std::string(address.substr(end)));
  }
  return absl::StrCat(shown, std::string(address.substr(end, query + 1 - end)),
                      WithoutSecretOptions(address.substr(query + 1)));
}

Status CheckPostgresAddress(const std::string& address) {
  MDH_ASSIGN_OR_RETURN(const Libpq* const libpq, Libpq::Load());
  char* error = nullptr;
  PgOption* const options = libpq->conninfoParse(address.c_str(), &error);
  if (options != nullptr) {
    libpq->conninfoFree(options);
    return absl::OkStatus();
  }
  // libpq quotes what it could not read.
  const std::string shown = WithoutSecrets(address);
  const std::string why = shown == address && error != nullptr
                              ? absl::StrCat(": ", absl::StripAsciiWhitespace(error))
                              : "";
  libpq->freemem(error);
  return absl::InvalidArgumentError(
      absl::StrCat(shown, " is no address of a PostgreSQL database", why,
                   " (postgresql://USER@HOST/DATABASE?NAME=VALUE&...)"));
}

}  // namespace mdh
