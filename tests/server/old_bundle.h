// Bundles of version 1, as daemons wrote them before there were kernels in bundles.
#pragma once

#include <string>
#include <vector>

#include "core/base/sha256.h"
#include "mdh/v1/admin.pb.h"
#include "mdh/v1/record.pb.h"
#include "proto/bundle_layout.h"

namespace mdh {

// With a checksum that is right.
inline std::string Summed(std::string bytes) {
  const Sha256::Sum sum = Sha256::Of(bytes);
  return bytes.append(reinterpret_cast<const char*>(sum.data()), sum.size());
}

template <typename Message>
void AppendMessage(const Message& message, std::string& bytes) {
  const std::string body = message.SerializeAsString();
  char length[4];
  StoreLittleEndian(static_cast<uint32_t>(body.size()), length);
  bytes.append(length, sizeof(length)).append(body);
}

inline std::string WriteOldBundle(v1::BundleHeader header,
                                  const std::vector<v1::TuningRecord>& records) {
  header.set_version(1);
  header.set_records(static_cast<int64_t>(records.size()));
  std::string bytes = "MDHBNDL1";
  AppendMessage(header, bytes);
  for (const v1::TuningRecord& record : records) AppendMessage(record, bytes);
  return Summed(bytes);
}

}  // namespace mdh
