#include "tuner/device/cuda/cuda_launcher.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "tuner/device/cuda/tensor_maps.h"

namespace mdh {
namespace {

constexpr int kFirstWithDependentLaunch = 90;  // compute capability

unsigned Extent(int64_t value) { return static_cast<unsigned>(value); }

}  // namespace

CudaLauncher::CudaLauncher(const CudaFunctions& functions, int capability)
    : functions_(functions),
      overlaps_stages_(functions.LaunchKernelEx != nullptr &&
                       capability >= kFirstWithDependentLaunch) {}

Status CudaLauncher::Launch(void* function, const KernelLaunch& launch, absl::Span<void*> values,
                            void* stream) const {
  if (launch.tensor_maps.empty()) return Start(function, launch, values.data(), stream);
  std::vector<EncodedTensorMap> maps(launch.tensor_maps.size());
  std::vector<void*> all(values.begin(), values.end());
  for (size_t n = 0; n < maps.size(); ++n) {
    const TensorMap& map = launch.tensor_maps[n];
    if (map.argument < 0 || map.argument >= std::ssize(values)) {
      return InvalidArgument(launch.function, " has no argument ", map.argument + 1);
    }
    const auto* pointer = static_cast<const CudaPointer*>(values[map.argument]);
    MDH_RETURN_IF_ERROR(EncodeTensorMap(functions_, map, *pointer, &maps[n]));
    all.push_back(&maps[n]);
  }
  return Start(function, launch, all.data(), stream);
}

Status CudaLauncher::Start(void* function, const KernelLaunch& launch, void** values,
                           void* stream) const {
  const auto& grid = launch.geometry.grid;
  const auto& block = launch.geometry.block;
  const unsigned shared_bytes = Extent(launch.dynamic_shared_bytes);
  if (launch.starts_early && overlaps_stages_) {
    cuda::LaunchAttribute early = {};
    early.id = cuda::kProgrammaticStreamSerialization;
    early.value.programmatic_stream_serialization_allowed = 1;
    const cuda::LaunchConfig config = {{Extent(grid[0]), Extent(grid[1]), Extent(grid[2])},
                                       {Extent(block[0]), Extent(block[1]), Extent(block[2])},
                                       shared_bytes,
                                       stream,
                                       &early,
                                       1};
    const int code = functions_.LaunchKernelEx(&config, function, values, nullptr);
    if (code == 0) return absl::OkStatus();
    return CheckCuda(functions_, absl::StrCat("cuLaunchKernelEx(", launch.function, ")"), code);
  }
  const int code = functions_.LaunchKernel(function, Extent(grid[0]), Extent(grid[1]),
                                           Extent(grid[2]), Extent(block[0]), Extent(block[1]),
                                           Extent(block[2]), shared_bytes, stream, values, nullptr);
  if (code == 0) return absl::OkStatus();
  return CheckCuda(functions_, absl::StrCat("cuLaunchKernel(", launch.function, ")"), code);
}

}  // namespace mdh
