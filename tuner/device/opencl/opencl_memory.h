// Buffers of OpenCL between guard zones.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "tuner/device/opencl/opencl_device.h"

namespace mdh {

// Filling more than 2 GiB at once takes NVIDIA's driver minutes.
inline constexpr int64_t kMostOfOpenClCommand = int64_t{1} << 30;

// command(begin, size) for one piece after another of [0, bytes), of at most `most` each, until the
// first error.
template <typename Command>
Status InPieces(int64_t bytes, int64_t most, const Command& command) {
  for (int64_t begin = 0; begin < bytes; begin += most) {
    MDH_RETURN_IF_ERROR(command(begin, std::min(most, bytes - begin)));
  }
  return absl::OkStatus();
}

// A buffer with its zones, and the part between them as kernels see it.
class OpenClMemory final : public DeviceMemory {
 public:
  OpenClMemory(const OpenClContext& context, int64_t bytes, int64_t guard_bytes)
      : DeviceMemory(bytes, guard_bytes), context_(context) {}
  ~OpenClMemory() override {
    if (middle_ != nullptr && middle_ != whole_) context_.functions.ReleaseMemObject(middle_);
    if (whole_ != nullptr) context_.functions.ReleaseMemObject(whole_);
  }

  Status Create() {
    int code = 0;
    // There is no empty buffer.
    const int64_t size = std::max<int64_t>(bytes(), 1);
    const size_t all = static_cast<size_t>(size + 2 * guard_bytes());
    whole_ =
        context_.functions.CreateBuffer(context_.context, opencl::kReadWrite, all, nullptr, &code);
    MDH_RETURN_IF_ERROR(CheckOpenCl(absl::StrCat("clCreateBuffer(", all, " bytes)"), code));
    middle_ = whole_;
    if (guard_bytes() == 0) return absl::OkStatus();
    const std::array<size_t, 2> region = {static_cast<size_t>(guard_bytes()),
                                          static_cast<size_t>(size)};
    middle_ = context_.functions.CreateSubBuffer(whole_, opencl::kReadWrite,
                                                 opencl::kBufferCreateRegion, region.data(), &code);
    return CheckOpenCl("clCreateSubBuffer", code);
  }

  void* middle() const { return middle_; }

  Status Fill(std::byte value) override {
    const int64_t all = bytes() + 2 * guard_bytes();
    MDH_RETURN_IF_ERROR(InPieces(all, kMostOfOpenClCommand, [&](int64_t begin, int64_t size) {
      return CheckOpenCl("clEnqueueFillBuffer",
                         context_.functions.EnqueueFillBuffer(
                             context_.queue, whole_, &value, 1, static_cast<size_t>(begin),
                             static_cast<size_t>(size), 0, nullptr, nullptr));
    }));
    return CheckOpenCl("clFinish", context_.functions.Finish(context_.queue));
  }
  Status Write(absl::Span<const std::byte> contents) override {
    return WriteAt(guard_bytes(), contents);
  }
  Status WriteAt(int64_t offset, absl::Span<const std::byte> contents) override {
    const auto all = static_cast<int64_t>(contents.size());
    return InPieces(all, kMostOfOpenClCommand, [&](int64_t begin, int64_t size) {
      return CheckOpenCl(
          "clEnqueueWriteBuffer",
          context_.functions.EnqueueWriteBuffer(
              context_.queue, whole_, /*blocking=*/1, static_cast<size_t>(offset + begin),
              static_cast<size_t>(size), contents.data() + begin, 0, nullptr, nullptr));
    });
  }
  Status Read(int64_t offset, absl::Span<std::byte> to) const override {
    const auto all = static_cast<int64_t>(to.size());
    return InPieces(all, kMostOfOpenClCommand, [&](int64_t begin, int64_t size) {
      return CheckOpenCl(
          "clEnqueueReadBuffer",
          context_.functions.EnqueueReadBuffer(
              context_.queue, whole_, /*blocking=*/1, static_cast<size_t>(offset + begin),
              static_cast<size_t>(size), to.data() + begin, 0, nullptr, nullptr));
    });
  }

 private:
  const OpenClContext& context_;
  void* whole_ = nullptr;
  void* middle_ = nullptr;
};

}  // namespace mdh
