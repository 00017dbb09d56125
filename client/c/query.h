// Queries from text.
#pragma once

#include "client/c/handles.h"
#include "core/base/status.h"

namespace mdh {

// As mdh_query_create. Errors: InvalidArgument and what ParseExpression says.
Result<mdh_query> ReadQuery(const char* text, const char* const* bindings,
                            const mdh_query_options* options);

}  // namespace mdh
