#include "core/device/backends.h"

#include <array>

namespace mdh {
namespace {

constexpr std::array<BackendInfo, 4> kBackends = {{
    {.kind = DeviceKind::kCpu,
     .name = "cpu",
     .title = "CPU",
     .system_model = "OpenMP+SIMD+RM",
     .has_blocks = false,
     .features = {.dot_products = true},
     .language = Language::kOpenMpC,
     .language_name = "OpenMP C",
     .suffix = "c",
     .compiler = "gcc",
     .compile_command = "$0$1 -c $2.c -o $2.o"},
    {.kind = DeviceKind::kOpenCl,
     .name = "opencl",
     .title = "OpenCL",
     .system_model = "OpenCL",
     .features = {.atomics_32 = true, .private_registers = true},
     .with_ptx = {.shuffles_down = true, .async_copies = true, .atomic_additions = true},
     .language = Language::kOpenClC,
     .language_name = "OpenCL C",
     .suffix = "cl"},
    {.kind = DeviceKind::kCuda,
     .name = "cuda",
     .title = "CUDA",
     .system_model = "CUDA",
     .limits_registers = true,
     .features = {.shuffles_down = true,
                  .shuffles_up = true,
                  .async_copies = true,
                  .atomic_additions = true,
                  .atomics_32 = true,
                  .atomics_64 = true,
                  .resident_blocks = true,
                  .last_block = true,
                  .clusters = true,
                  .group_units = true,
                  .early_launches = true,
                  .branches_around_barriers = true,
                  .private_registers = true},
     .language = Language::kCudaCxx,
     .language_name = "CUDA C++",
     .suffix = "cu",
     .compiler = "nvrtc",
     .for_isa = "--gpu-architecture=",
     .compile_command = "nvcc$1 -cubin $2.cu -o $2.cubin"},
    {.kind = DeviceKind::kHip,
     .name = "hip",
     .title = "HIP",
     .system_model = "HIP",
     .is_attached = false,
     .limits_registers = true,
     .lanes = 64,
     .features = {.shuffles_down = true,
                  .shuffles_up = true,
                  .atomic_additions = true,
                  .atomics_32 = true,
                  .atomics_64 = true,
                  .last_block = true,
                  .private_registers = true},
     .language = Language::kHipCxx,
     .language_name = "HIP C++",
     .suffix = "hip",
     .compiler = "hipcc",
     .for_isa = "--offload-arch=",
     .compile_command = "hipcc$1 --genco $2.hip -o $2.hsaco"},
}};

template <typename IsIt>
const BackendInfo* FindWhere(IsIt is_it) {
  for (const BackendInfo& backend : kBackends) {
    if (is_it(backend)) return &backend;
  }
  return nullptr;
}

}  // namespace

absl::Span<const BackendInfo> Backends() { return kBackends; }

const BackendInfo* FindBackend(DeviceKind kind) {
  return FindWhere([&](const BackendInfo& backend) { return backend.kind == kind; });
}

const BackendInfo* FindBackend(absl::string_view language_name) {
  return FindWhere(
      [&](const BackendInfo& backend) { return backend.language_name == language_name; });
}

const BackendInfo& BackendOf(DeviceKind kind) { return *FindBackend(kind); }

const BackendInfo& BackendOf(Language language) {
  return *FindWhere([&](const BackendInfo& backend) { return backend.language == language; });
}

}  // namespace mdh
