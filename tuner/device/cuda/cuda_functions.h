// The entry points of the CUDA driver API that are used, with their prototypes and constants.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/status.h"
#include "tuner/device/shared_library.h"

namespace mdh {

using CudaPointer = unsigned long long;  // CUdeviceptr

namespace cuda {

// CUlaunchAttribute, with the one value that is used of its union.
struct LaunchAttribute {
  int id;  // CUlaunchAttributeID
  char pad[8 - sizeof(int)];
  union Value {
    alignas(8) char bytes[64];
    int programmatic_stream_serialization_allowed;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72 && offsetof(LaunchAttribute, value) == 8);

// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3];   // x, y, z
  unsigned block[3];  // x, y, z
  unsigned dynamic_shared_bytes;
  void* stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, stream) == 32);

}  // namespace cuda

// Handles are opaque pointers; 0 is success. Names without the suffixes _v2 of the library.
struct CudaFunctions {
  int (*Init)(unsigned);
  int (*DriverGetVersion)(int*);
  int (*GetErrorName)(int, const char**);
  int (*GetErrorString)(int, const char**);
  int (*DeviceGetCount)(int*);
  int (*DeviceGet)(int*, int);
  int (*DeviceGetName)(char*, int, int);
  int (*DeviceTotalMem)(size_t*, int);
  int (*DeviceGetAttribute)(int*, int, int);
  int (*DeviceGetPciBusId)(char*, int, int);  // may be nullptr
  int (*DevicePrimaryCtxRetain)(void**, int);
  int (*CtxSetCurrent)(void*);
  int (*CtxSynchronize)();
  int (*ModuleLoadData)(void**, const void*);
  int (*ModuleUnload)(void*);
  int (*ModuleGetFunction)(void**, void*, const char*);
  int (*FuncSetAttribute)(void*, int, int);
  int (*FuncGetAttribute)(int*, int, void*);
  int (*MemAlloc)(CudaPointer*, size_t);
  int (*MemFree)(CudaPointer);
  int (*MemsetD8)(CudaPointer, unsigned char, size_t);
  int (*MemcpyHtoD)(CudaPointer, const void*, size_t);
  int (*MemcpyDtoH)(void*, CudaPointer, size_t);
  int (*LaunchKernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      void*, void**, void**);
  // Of CUDA 11.8 and later; nullptr where the driver is older.
  int (*LaunchKernelEx)(const cuda::LaunchConfig*, void*, void**, void**);
  // cuTensorMapEncodeTiled of CUDA 12.0 and later; nullptr where the driver is older.
  int (*TensorMapEncodeTiled)(void*, int, unsigned, CudaPointer, const uint64_t*, const uint64_t*,
                              const uint32_t*, const uint32_t*, int, int, int, int);
  int (*EventCreate)(void**, unsigned);
  int (*EventDestroy)(void*);
  int (*EventRecord)(void*, void*);
  int (*EventSynchronize)(void*);
  int (*EventElapsedTime)(float*, void*, void*);
  // Of CUDA 11.4 and later; nullptr where the driver is older. GraphInstantiate is
  // cuGraphInstantiateWithFlags.
  int (*StreamCreate)(void**, unsigned);
  int (*StreamDestroy)(void*);
  int (*StreamBeginCapture)(void*, int);
  int (*StreamEndCapture)(void*, void**);
  int (*GraphInstantiate)(void**, void*, unsigned long long);
  int (*GraphUpload)(void*, void*);
  int (*GraphLaunch)(void*, void*);
  int (*GraphDestroy)(void*);
  int (*GraphExecDestroy)(void*);
};

// CUdevice_attribute, CUfunction_attribute, CUresult, CUlaunchAttributeID and
// CUstreamCaptureMode.
namespace cuda {
inline constexpr int kMaxThreadsPerBlock = 1;
inline constexpr int kMaxBlockX = 2;
inline constexpr int kMaxGridX = 5;
inline constexpr int kSharedBytesPerBlock = 8;
inline constexpr int kWarpSize = 10;
inline constexpr int kRegistersPerBlock = 12;
inline constexpr int kClockKhz = 13;
inline constexpr int kMultiprocessors = 16;
inline constexpr int kMemoryClockKhz = 36;
inline constexpr int kMemoryBusBits = 37;
inline constexpr int kL2Bytes = 38;
inline constexpr int kCapabilityMajor = 75;
inline constexpr int kCapabilityMinor = 76;
inline constexpr int kSharedBytesPerBlockOptIn = 97;
inline constexpr int kFunctionSharedBytes = 1;
inline constexpr int kFunctionLocalBytes = 3;
inline constexpr int kFunctionRegisters = 4;
inline constexpr int kFunctionDynamicSharedBytes = 8;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kLaunchOutOfResources = 701;
inline constexpr int kProgrammaticStreamSerialization = 6;
inline constexpr int kCaptureOfThread = 1;
}  // namespace cuda

// Errors: NotFound, naming the function that is missing.
Status LoadCudaFunctions(const SharedLibrary& library, CudaFunctions* functions);

// OK or Internal: "cuMemAlloc: CUDA_ERROR_... (...)"; ResourceExhausted if memory or
// registers do not suffice.
Status CheckCuda(const CudaFunctions& functions, absl::string_view call, int code);

}  // namespace mdh
