#include "server/store/stored_record.h"

#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"
#include "server/records/wire_reader.h"

namespace mdh {

std::string_view NameIn(std::string_view message) {
  constexpr int kName = v1::TuningRecord::kNameFieldNumber;
  static_assert(kName == int{v1::Kernel::kNameFieldNumber});
  WireReader fields(message);
  while (fields.Next()) {
    if (fields.number() == kName) return fields.bytes();
  }
  return {};
}

std::string Pinned(std::string_view record) {
  v1::TuningRecord parsed;
  parsed.ParseFromArray(record.data(), static_cast<int>(record.size()));
  parsed.set_is_pinned(true);
  return parsed.SerializeAsString();
}

}  // namespace mdh
