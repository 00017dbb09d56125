#include "tuner/device/cuda/tensor_maps.h"

#include <bit>
#include <vector>

#include "absl/status/status.h"

namespace mdh {
namespace {

constexpr CudaPointer kTensorAlignment = 16;
// CUtensorMapSwizzle: 0 for none, 1, 2, 3 for 32, 64, 128 bytes.
int SwizzleNumber(int bytes) { return bytes == 0 ? 0 : std::countr_zero(unsigned(bytes)) - 4; }
// CU_TENSOR_MAP_DATA_TYPE_UINT8, 16, 32 and 64.
int TypeNumber(int element_bytes) {
  return element_bytes == 8 ? 4 : std::countr_zero(unsigned(element_bytes));
}
constexpr int kPromotedTo128Bytes = 2;  // of lines that the second-level cache gets

}  // namespace

Status EncodeTensorMap(const CudaFunctions& functions, const TensorMap& map, CudaPointer pointer,
                       EncodedTensorMap* encoded) {
  if (functions.TensorMapEncodeTiled == nullptr) {
    return absl::FailedPreconditionError(
        "the kernel needs tensor maps, which drivers of CUDA 12 and later encode");
  }
  const CudaPointer first = pointer + static_cast<CudaPointer>(map.offset_bytes);
  if (first % kTensorAlignment != 0) {
    return InvalidArgument("argument ", map.argument + 1, " is at no multiple of ",
                           kTensorAlignment, " bytes");
  }
  const std::vector<uint64_t> extents(map.extents.begin(), map.extents.end());
  std::vector<uint64_t> strides(map.strides_bytes.begin(), map.strides_bytes.end());
  if (strides.empty()) strides.push_back(0);  // of one dimension none is read
  const std::vector<uint32_t> box(map.box.begin(), map.box.end()), ones(map.box.size(), 1);
  const int code = functions.TensorMapEncodeTiled(
      encoded, TypeNumber(map.element_bytes), static_cast<uint32_t>(map.extents.size()), first,
      extents.data(), strides.data(), box.data(), ones.data(), /*interleave=*/0,
      SwizzleNumber(map.swizzle_bytes), kPromotedTo128Bytes, /*out of bounds, zeros=*/0);
  return CheckCuda(functions, "cuTensorMapEncodeTiled", code);
}

}  // namespace mdh
