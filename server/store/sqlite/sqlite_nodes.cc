#include "server/store/sqlite/sqlite_nodes.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "server/records/timestamp.h"
#include "server/store/sqlite/sqlite_connection.h"
#include "server/store/stored_node.h"

namespace mdh {

Status AnnounceNodeRow(SqliteDatabase& database, const v1::Node& node, absl::Duration lease) {
  const absl::Time now = absl::Now();
  MDH_RETURN_IF_ERROR(RunSql(database, "DELETE FROM nodes WHERE lease_ns < ?1",
                             absl::ToUnixNanos(now - kKeepGoneNodes)));
  return RunSql(database,
                "INSERT OR REPLACE INTO nodes (name, node, crc32, seen_ns, lease_ns)"
                " VALUES (?1, ?2, crc32(?2), ?3, ?4)",
                node.name(), BytesOf(node), absl::ToUnixNanos(now), absl::ToUnixNanos(now + lease));
}

Status RemoveNodeRow(SqliteDatabase& database, std::string_view name) {
  return RunSql(database, "DELETE FROM nodes WHERE name = ?1", name);
}

Result<std::vector<v1::Node>> ReadNodes(SqliteDatabase& database) {
  const int64_t now_ns = absl::ToUnixNanos(absl::Now());
  std::vector<v1::Node> nodes;
  MDH_ASSIGN_OR_RETURN(
      SqliteUse rows,
      SqliteUse::Of(database,
                    "SELECT name, node, crc32 = crc32(node), seen_ns, lease_ns FROM nodes"
                    " ORDER BY name"));
  MDH_RETURN_IF_ERROR(ForEachRow(*rows, [&](const SqliteStatement& row) {
    Result<v1::Node> node = ParseChecked<v1::Node>(row, 1, "node");
    if (!node.ok()) {
      spdlog::error("{}: {}", row.Bytes(0), std::string(node.status().message()));
      return absl::OkStatus();
    }
    *node->mutable_seen_time() = ToProto(absl::FromUnixNanos(row.Integer(3)));
    node->set_is_gone(row.Integer(4) < now_ns);
    nodes.push_back(*std::move(node));
    return absl::OkStatus();
  }));
  return nodes;
}

}  // namespace mdh
