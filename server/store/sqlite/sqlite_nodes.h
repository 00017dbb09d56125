// Rows of daemons. Errors are those of Store.
#pragma once

#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "mdh/v1/device.pb.h"
#include "server/store/sqlite/sqlite_database.h"

namespace mdh {

Status AnnounceNodeRow(SqliteDatabase& database, const v1::Node& node, absl::Duration lease);
Status RemoveNodeRow(SqliteDatabase& database, std::string_view name);
Result<std::vector<v1::Node>> ReadNodes(SqliteDatabase& database);

}  // namespace mdh
