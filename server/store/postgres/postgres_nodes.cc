#include "server/store/postgres/postgres_nodes.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "server/records/timestamp.h"
#include "server/store/postgres/stored_messages.h"
#include "server/store/stored_node.h"

namespace mdh::postgres {

Status AnnounceNode(PostgresConnection& connection, const v1::Node& node, absl::Duration lease) {
  const PgChecked stored(node);
  return connection
      .RunTogether({{{"DELETE FROM mdhd.nodes WHERE lease_until <"
                      " clock_timestamp() - $1::bigint * interval '1 microsecond'",
                      {absl::ToInt64Microseconds(kKeepGoneNodes)}},
                     {"INSERT INTO mdhd.nodes VALUES ($1, $2, $3, clock_timestamp(),"
                      " clock_timestamp() + $4::bigint * interval '1 microsecond')"
                      " ON CONFLICT (name) DO UPDATE SET node = excluded.node,"
                      " crc32 = excluded.crc32, seen_at = excluded.seen_at,"
                      " lease_until = excluded.lease_until",
                      {node.name(), PgValue::Bytes(stored.bytes), stored.crc32,
                       absl::ToInt64Microseconds(lease)}}}})
      .status();
}

Status RemoveNode(PostgresConnection& connection, std::string_view name) {
  return connection.Run("DELETE FROM mdhd.nodes WHERE name = $1", name).status();
}

Result<std::vector<v1::Node>> ListNodes(PostgresConnection& connection) {
  MDH_ASSIGN_OR_RETURN(
      const PgRows rows,
      connection.Run("SELECT name, node, crc32,"
                     " (extract(epoch FROM seen_at) * 1000000)::bigint,"
                     " lease_until < clock_timestamp() FROM mdhd.nodes ORDER BY name"));
  std::vector<v1::Node> nodes;
  for (int n = 0; n < rows.size(); ++n) {
    Result<v1::Node> node = ParseChecked<v1::Node>(rows[n], 1, "node");
    if (!node.ok()) {
      spdlog::error("{}: {}", rows[n].Bytes(0), std::string(node.status().message()));
      continue;
    }
    *node->mutable_seen_time() = ToProto(absl::FromUnixMicros(rows[n].Integer(3)));
    node->set_is_gone(rows[n].Integer(4) != 0);
    nodes.push_back(*std::move(node));
  }
  return nodes;
}

}  // namespace mdh::postgres
