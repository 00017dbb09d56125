// Buffers of OpenCL between guard zones.
#pragma once

#include <array>

#include "absl/strings/str_cat.h"
#include "tuner/device/opencl_device.h"

namespace mdh {

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
    const size_t all = static_cast<size_t>(bytes() + 2 * guard_bytes());
    whole_ =
        context_.functions.CreateBuffer(context_.context, opencl::kReadWrite, all, nullptr, &code);
    MDH_RETURN_IF_ERROR(CheckOpenCl(absl::StrCat("clCreateBuffer(", all, " bytes)"), code));
    middle_ = whole_;
    if (guard_bytes() == 0) return absl::OkStatus();
    const std::array<size_t, 2> region = {static_cast<size_t>(guard_bytes()),
                                          static_cast<size_t>(bytes())};
    middle_ = context_.functions.CreateSubBuffer(whole_, opencl::kReadWrite,
                                                 opencl::kBufferCreateRegion, region.data(), &code);
    return CheckOpenCl("clCreateSubBuffer", code);
  }

  void* middle() const { return middle_; }

  Status Fill(std::byte value) override {
    const size_t all = static_cast<size_t>(bytes() + 2 * guard_bytes());
    MDH_RETURN_IF_ERROR(CheckOpenCl("clEnqueueFillBuffer", context_.functions.EnqueueFillBuffer(
                                                               context_.queue, whole_, &value, 1, 0,
                                                               all, 0, nullptr, nullptr)));
    return CheckOpenCl("clFinish", context_.functions.Finish(context_.queue));
  }
  Status Write(absl::Span<const std::byte> contents) override {
    return CheckOpenCl(
        "clEnqueueWriteBuffer",
        context_.functions.EnqueueWriteBuffer(context_.queue, whole_, /*blocking=*/1,
                                              static_cast<size_t>(guard_bytes()), contents.size(),
                                              contents.data(), 0, nullptr, nullptr));
  }
  Status WriteAt(int64_t offset, absl::Span<const std::byte> contents) override {
    return CheckOpenCl("clEnqueueWriteBuffer",
                       context_.functions.EnqueueWriteBuffer(
                           context_.queue, whole_, /*blocking=*/1, static_cast<size_t>(offset),
                           contents.size(), contents.data(), 0, nullptr, nullptr));
  }
  Status Read(int64_t offset, absl::Span<std::byte> to) const override {
    return CheckOpenCl("clEnqueueReadBuffer",
                       context_.functions.EnqueueReadBuffer(context_.queue, whole_, /*blocking=*/1,
                                                            static_cast<size_t>(offset), to.size(),
                                                            to.data(), 0, nullptr, nullptr));
  }

 private:
  const OpenClContext& context_;
  void* whole_ = nullptr;
  void* middle_ = nullptr;
};

}  // namespace mdh
