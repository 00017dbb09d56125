#include "tuner/measure/executor/device_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tuner/measure/trial/guarded_memory.h"

namespace mdh {
namespace {

constexpr int64_t kChunk = int64_t{16} << 20;

}  // namespace

Result<DeviceBuffer> DeviceBuffer::Create(ComputeDevice& device, std::string name, int64_t bytes) {
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory,
                       device.Allocate(std::max<int64_t>(bytes, 1), kDeviceGuardBytes));
  if (memory->guard_bytes() != kDeviceGuardBytes) {
    return Internal("the device aligns memory to more than ", kDeviceGuardBytes, " bytes");
  }
  return DeviceBuffer(std::move(name), std::move(memory));
}

Status DeviceBuffer::WriteZones() {
  std::vector<std::byte> zone(static_cast<size_t>(kDeviceGuardBytes));
  for (const int64_t begin : {-kDeviceGuardBytes, bytes()}) {
    for (int64_t at = 0; at < kDeviceGuardBytes; ++at) {
      zone[static_cast<size_t>(at)] = ZonePattern(begin + at);
    }
    MDH_RETURN_IF_ERROR(memory_->WriteAt(kDeviceGuardBytes + begin, zone));
  }
  return absl::OkStatus();
}

Status DeviceBuffer::Fill(std::byte value) {
  MDH_RETURN_IF_ERROR(memory_->Fill(value));
  return WriteZones();
}

Status DeviceBuffer::Write(absl::Span<const std::byte> contents) {
  if (!contents.empty()) MDH_RETURN_IF_ERROR(memory_->Write(contents));
  return WriteZones();
}

Status DeviceBuffer::Read(absl::Span<std::byte> accessible) const {
  return memory_->Read(0, accessible);
}

Result<std::optional<std::string>> DeviceBuffer::DamageOfZones() const {
  std::vector<std::byte> zone(static_cast<size_t>(kDeviceGuardBytes));
  const auto overrun = [&](int64_t byte, const std::string& where) {
    return absl::StrCat(name_, " was overrun: byte ", byte, ", ", where, ", was written");
  };
  MDH_RETURN_IF_ERROR(memory_->Read(kDeviceGuardBytes + bytes(), absl::MakeSpan(zone)));
  for (int64_t at = 0; at < kDeviceGuardBytes; ++at) {
    if (zone[static_cast<size_t>(at)] == ZonePattern(bytes() + at)) continue;
    return overrun(bytes() + at, absl::StrCat(at, " bytes behind its end"));
  }
  MDH_RETURN_IF_ERROR(memory_->Read(0, absl::MakeSpan(zone)));
  for (int64_t at = -1; at >= -kDeviceGuardBytes; --at) {
    if (zone[static_cast<size_t>(kDeviceGuardBytes + at)] == ZonePattern(at)) continue;
    return overrun(at, absl::StrCat(-at, " bytes in front of its start"));
  }
  return std::nullopt;
}

Result<std::optional<std::string>> DeviceBuffer::DifferenceFrom(
    absl::Span<const std::byte> expected) const {
  const auto size = static_cast<int64_t>(expected.size());
  std::vector<std::byte> chunk(static_cast<size_t>(std::min(size, kChunk)));
  for (int64_t begin = 0; begin < size; begin += kChunk) {
    const int64_t count = std::min(kChunk, size - begin);
    const absl::Span<std::byte> got = absl::MakeSpan(chunk).first(static_cast<size_t>(count));
    MDH_RETURN_IF_ERROR(memory_->Read(kDeviceGuardBytes + begin, got));
    const std::byte* const wanted = expected.data() + begin;
    if (std::memcmp(got.data(), wanted, got.size()) == 0) continue;
    const auto* const first = std::mismatch(got.begin(), got.end(), wanted).first;
    return absl::StrCat(name_, " was written at byte ", begin + (first - got.begin()));
  }
  return std::nullopt;
}

}  // namespace mdh
