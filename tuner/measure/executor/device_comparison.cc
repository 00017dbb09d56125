#include "tuner/measure/executor/device_comparison.h"

#include <array>
#include <cstdint>
#include <utility>

namespace mdh {
namespace {

// What EqualityKernel reads and writes.
struct Answer {
  uint64_t bytes;
  uint64_t differs;
};

}  // namespace

Result<std::unique_ptr<DeviceComparison>> DeviceComparison::Load(ComputeDevice& device,
                                                                 const CompiledKernel& equality) {
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<DeviceProgram> program,
                       device.LoadBinary(equality.kernel, equality.binary));
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> answer, device.Allocate(sizeof(Answer), 0));
  return std::unique_ptr<DeviceComparison>(
      new DeviceComparison(std::move(program), std::move(answer)));
}

Result<bool> DeviceComparison::AreEqual(DeviceMemory& a, DeviceMemory& b) {
  std::array<Answer, 1> answer = {{{static_cast<uint64_t>(a.bytes()), 0}}};
  const auto bytes = absl::MakeSpan(reinterpret_cast<std::byte*>(answer.data()), sizeof(Answer));
  MDH_RETURN_IF_ERROR(answer_->Write(bytes));
  const DeviceArguments arguments = {&a, &b, answer_.get()};
  MDH_RETURN_IF_ERROR(program_->Time({arguments}, 1).status());
  MDH_RETURN_IF_ERROR(answer_->Read(0, bytes));
  return answer[0].differs == 0;
}

Result<KnownContents> KnownContents::Create(ComputeDevice& device, DeviceComparison& comparison,
                                            DeviceBuffer& buffer,
                                            absl::Span<const std::byte> contents) {
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> copy, device.Allocate(buffer.bytes(), 0));
  MDH_RETURN_IF_ERROR(copy->Write(contents));
  // A comparison that does not work must not find everything right: the last byte decides.
  const std::byte last = contents.back(), other = ~last;
  const int64_t at = kDeviceGuardBytes + buffer.bytes() - 1;
  MDH_ASSIGN_OR_RETURN(const bool are_equal, comparison.AreEqual(*copy, *buffer.memory()));
  MDH_RETURN_IF_ERROR(buffer.memory()->WriteAt(at, {&other, 1}));
  MDH_ASSIGN_OR_RETURN(const bool are_still, comparison.AreEqual(*copy, *buffer.memory()));
  MDH_RETURN_IF_ERROR(buffer.memory()->WriteAt(at, {&last, 1}));
  if (!are_equal || are_still) return Internal("the device does not compare its memory rightly");
  return KnownContents(comparison, std::move(copy));
}

}  // namespace mdh
