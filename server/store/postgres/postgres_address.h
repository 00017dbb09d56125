// The address of a PostgreSQL database, as --database gives it.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace mdh {

// Whether it is one, postgresql://... or postgres://..., and not the path of a file.
bool IsPostgresAddress(std::string_view database);

// The address without what is secret in it, for people to read.
std::string WithoutSecrets(std::string_view address);

// Errors: InvalidArgument if libpq cannot read it; without what is secret in it. FailedPrecondition
// as Libpq::Load.
Status CheckPostgresAddress(const std::string& address);

}  // namespace mdh
