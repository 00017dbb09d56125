#include "client/bundle.h"

#include "client/client.h"
#include "core/device/device_description.h"

namespace mdh {
namespace {

template <typename Message>
Result<Message> Parse(std::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("the bundle has a message that cannot be read");
  }
  return message;
}

}  // namespace

BundleQuery QueryFor(const ComputationView& computation, std::string_view device_fingerprint,
                     v1::NumericsPolicy numerics_policy) {
  return BundleQuery(Client::KeyOf(computation).canonical_form(), device_fingerprint,
                     numerics_policy);
}

Result<std::string> HostCpuFingerprint() {
  MDH_ASSIGN_OR_RETURN(const DeviceDescription cpu, DescribeHostCpu());
  return cpu.Fingerprint();
}

Result<v1::Kernel> KernelOf(const BundleEntry& entry) {
  if (entry.kernel.empty()) {
    return NotFound("the bundle has the record of this kernel, but not its code");
  }
  return Parse<v1::Kernel>(entry.kernel);
}

Result<v1::TuningRecord> RecordOf(const BundleEntry& entry) {
  return Parse<v1::TuningRecord>(entry.record);
}

}  // namespace mdh
