#include "client/c/boundary.h"

#include <cstdlib>

#include "client/c/handles.h"

namespace mdh {

mdh_code Report(const Status& status, mdh_error** error) {
  const auto code = static_cast<mdh_code>(status.code());
  if (code != MDH_OK && error != nullptr) {
    *error = new mdh_error{code, std::string(status.message())};
  }
  return code;
}

std::string TrustedUsersText(const char* given) {
  return TextOr(given != nullptr ? given : std::getenv("MDH_TRUSTED_USERS"), "");
}

}  // namespace mdh

extern "C" {

const char* mdh_version(void) { return MDH_VERSION; }

mdh_code mdh_error_code(const mdh_error* error) { return error->code; }

const char* mdh_error_message(const mdh_error* error) { return error->message.c_str(); }

void mdh_error_free(mdh_error* error) { delete error; }

}  // extern "C"
