#include "client/commands/call/bundle_argument.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/bundle.h"
#include "client/commands/call/command.h"
#include "proto/device_conversion.h"

namespace mdh {
namespace {

// As it is in keys.
Result<std::string> FingerprintOf(const DeviceArgument& device,
                                  const std::vector<std::string>& in_bundle) {
  if (device.selection.has_description()) {
    MDH_ASSIGN_OR_RETURN(const DeviceDescription description,
                         FromProto(device.selection.description()));
    return description.Fingerprint();
  }
  if (!device.text.empty() && device.selection.name() != DeviceNameFromArgument("cpu")) {
    return WithExitCode(ExitCode::kUsage,
                        absl::StrCat("without a daemon '", device.text,
                                     "' is not known: with --bundle a device is cpu, or a file "
                                     "that describes one, as mdh devices --json prints them"));
  }
  Result<std::string> host = HostCpuFingerprint();
  if (!device.text.empty()) return host;
  const bool has_host = host.ok() && std::ranges::find(in_bundle, *host) != in_bundle.end();
  return has_host || in_bundle.size() != 1 ? host : in_bundle.front();
}

}  // namespace

Result<v1::GetKernelResponse> FindInBundle(const std::string& path,
                                           const ComputationView& computation,
                                           v1::NumericsPolicy numerics_policy,
                                           const DeviceArgument& device) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<BundleFile> bundle, BundleFile::Open(path));
  MDH_ASSIGN_OR_RETURN(const std::vector<std::string_view> views, bundle->DeviceFingerprints());
  const std::vector<std::string> devices(views.begin(), views.end());
  MDH_ASSIGN_OR_RETURN(const std::string fingerprint, FingerprintOf(device, devices));
  const Result<BundleEntry> entry =
      bundle->Find(QueryFor(computation, fingerprint, numerics_policy));
  if (absl::IsNotFound(entry.status())) {
    return NotFound(path, " has no kernel of this for ", fingerprint, "; it has ", bundle->size(),
                    " kernels, for ", devices.empty() ? "no device" : absl::StrJoin(devices, "; "));
  }
  MDH_RETURN_IF_ERROR(entry.status());
  v1::GetKernelResponse found;
  found.set_match(v1::MATCH_KIND_COMPATIBLE);
  MDH_ASSIGN_OR_RETURN(*found.mutable_record(), RecordOf(*entry));
  MDH_ASSIGN_OR_RETURN(*found.mutable_kernel(), KernelOf(*entry));
  return found;
}

}  // namespace mdh
