// A buffer of a device between guard zones, with what is known of its contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "tuner/device/compute_device.h"

namespace mdh {

inline constexpr int64_t kDeviceGuardBytes = 4096;  // of one zone

// Not thread-safe. Errors of all methods: ResourceExhausted if the device's memory does not
// suffice, else Internal.
class DeviceBuffer {
 public:
  // `name`: "input a", for people.
  static Result<DeviceBuffer> Create(ComputeDevice& device, std::string name, int64_t bytes);

  DeviceMemory* memory() const { return memory_.get(); }
  int64_t bytes() const { return memory_->bytes(); }
  // Fills everything but the zones; then the zones with their pattern.
  Status Fill(std::byte value);
  Status Write(absl::Span<const std::byte> contents);
  // Zone, data, zone: bytes() + 2 * kDeviceGuardBytes.
  Status Read(absl::Span<std::byte> accessible) const;

  // What is wrong with the zones, for people; nullopt: nothing.
  Result<std::optional<std::string>> DamageOfZones() const;
  // Whether the data still is `expected`, for people.
  Result<std::optional<std::string>> DifferenceFrom(absl::Span<const std::byte> expected) const;

 private:
  DeviceBuffer(std::string name, std::unique_ptr<DeviceMemory> memory)
      : name_(std::move(name)), memory_(std::move(memory)) {}
  Status WriteZones();

  std::string name_;
  std::unique_ptr<DeviceMemory> memory_;
};

}  // namespace mdh
