#include "core/device/features.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/device/backends.h"
#include "core/device/device_description.h"
#include "core/device/matrix_instruction.h"

namespace mdh {
namespace {

constexpr std::array<FeatureName, 14> kFeatureNames = {{
    {"shuffles_down", &DeviceFeatures::shuffles_down},
    {"shuffles_up", &DeviceFeatures::shuffles_up},
    {"async_copies", &DeviceFeatures::async_copies},
    {"atomic_additions", &DeviceFeatures::atomic_additions},
    {"atomics_32", &DeviceFeatures::atomics_32},
    {"atomics_64", &DeviceFeatures::atomics_64},
    {"resident_blocks", &DeviceFeatures::resident_blocks},
    {"last_block", &DeviceFeatures::last_block},
    {"clusters", &DeviceFeatures::clusters},
    {"group_units", &DeviceFeatures::group_units},
    {"dot_products", &DeviceFeatures::dot_products},
    {"early_launches", &DeviceFeatures::early_launches},
    {"branches_around_barriers", &DeviceFeatures::branches_around_barriers},
    {"private_registers", &DeviceFeatures::private_registers},
}};
static_assert(kFeatureNames.size() == sizeof(DeviceFeatures) / sizeof(bool));

// Of the language, with what NVIDIA's compiler adds to it.
DeviceFeatures OfLanguage(const DeviceDescription& device) {
  const BackendInfo& backend = BackendOf(device.kind);
  DeviceFeatures features = backend.features;
  if (ComputeCapability(device) == 0) return features;
  for (const auto& [name, field] : kFeatureNames) features.*field |= backend.with_ptx.*field;
  return features;
}

bool HasDotInstructions(const DeviceDescription& device) {
  const absl::Span<const MatrixInstruction> rows = MatrixInstructions();
  return std::ranges::any_of(rows, [&](const MatrixInstruction& row) {
    return row.unit == MatrixUnit::kVector && HasInstruction(row, device);
  });
}

std::string Contradiction(const DeviceDescription& device, bool DeviceFeatures::*field) {
  const BackendInfo& backend = BackendOf(device.kind);
  if (!(backend.features.*field || backend.with_ptx.*field)) {
    return absl::StrCat("kind is ", backend.name);
  }
  if (field == &DeviceFeatures::private_registers) {
    return absl::StrCat("registers_per_thread is ", device.blocks.registers_per_thread);
  }
  if (OfLanguage(device).*field &&
      (field == &DeviceFeatures::shuffles_down || field == &DeviceFeatures::shuffles_up)) {
    return absl::StrCat("warp_size is ", device.blocks.warp_size);
  }
  return absl::StrCat("isa is '", device.isa, "'");
}

}  // namespace

absl::Span<const FeatureName> FeatureNames() { return kFeatureNames; }

DeviceFeatures FeaturesOf(const DeviceDescription& device) {
  constexpr int kScanLanes = 32;  // that exchange prefix sums (codegen/lower/scan/scan_cut.cc)
  // Compute capabilities.
  constexpr int kFirstWithAsyncCopies = 80, kFirstWithClusters = 90, kOnlyWithGroupUnits = 90;
  DeviceFeatures features = OfLanguage(device);
  const int capability = ComputeCapability(device), warp = device.blocks.warp_size;
  features.async_copies &= capability >= kFirstWithAsyncCopies;
  features.clusters &= capability >= kFirstWithClusters;
  features.group_units &= capability == kOnlyWithGroupUnits;
  const int lanes = BackendOf(device.kind).lanes;
  features.shuffles_down &= warp > 1 && warp <= lanes;
  features.shuffles_up &= warp >= kScanLanes && warp <= lanes;
  features.private_registers &= device.blocks.registers_per_thread > 0;
  features.dot_products &= HasDotInstructions(device);
  return features;
}

Status ValidateFeatures(const DeviceDescription& device) {
  const DeviceFeatures has = FeaturesOf(device);
  for (const auto& [name, field] : kFeatureNames) {
    if (has.*field || !(device.features.*field)) continue;
    return InvalidArgument("device description: features.", name, " is true, but ",
                           Contradiction(device, field));
  }
  return absl::OkStatus();
}

}  // namespace mdh
