// Rows of daemons, by the server's clock. Errors are those of Store.
#pragma once

#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "mdh/v1/device.pb.h"
#include "server/store/postgres/postgres_connection.h"

namespace mdh::postgres {

Status AnnounceNode(PostgresConnection& connection, const v1::Node& node, absl::Duration lease);
Status RemoveNode(PostgresConnection& connection, std::string_view name);
Result<std::vector<v1::Node>> ListNodes(PostgresConnection& connection);

}  // namespace mdh::postgres
