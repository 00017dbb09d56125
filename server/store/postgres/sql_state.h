// What the errors of a PostgreSQL server mean to who calls.
#pragma once

#include <string_view>

#include "core/base/status.h"

namespace mdh {

// `state`: the five characters of SQLSTATE; empty if the connection broke, which has none.
// Unavailable: nothing of the transaction was done, or it is not known whether it was; it may be
// repeated over another connection. ResourceExhausted: the server has no room. AlreadyExists: of a
// unique column. FailedPrecondition: what is stored is damaged, or the role may not. Else Internal.
Status StatusOfSqlState(std::string_view state, std::string_view message);

}  // namespace mdh
