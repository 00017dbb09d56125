// The entry points of OpenCL 1.2 that are used, with their prototypes and constants.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/status.h"
#include "tuner/device/shared_library.h"

namespace mdh {

// Handles are opaque pointers; error codes are negative, 0 is success.
struct OpenClFunctions {
  int (*GetPlatformIDs)(uint32_t, void**, uint32_t*);
  int (*GetPlatformInfo)(void*, uint32_t, size_t, void*, size_t*);
  int (*GetDeviceIDs)(void*, uint64_t, uint32_t, void**, uint32_t*);
  int (*GetDeviceInfo)(void*, uint32_t, size_t, void*, size_t*);
  void* (*CreateContext)(const intptr_t*, uint32_t, void* const*,
                         void (*)(const char*, const void*, size_t, void*), void*, int*);
  int (*ReleaseContext)(void*);
  void* (*CreateCommandQueue)(void*, void*, uint64_t, int*);
  int (*ReleaseCommandQueue)(void*);
  void* (*CreateProgramWithSource)(void*, uint32_t, const char**, const size_t*, int*);
  void* (*CreateProgramWithBinary)(void*, uint32_t, void* const*, const size_t*,
                                   const unsigned char**, int*, int*);
  int (*GetProgramInfo)(void*, uint32_t, size_t, void*, size_t*);
  int (*BuildProgram)(void*, uint32_t, void* const*, const char*, void (*)(void*, void*), void*);
  int (*GetProgramBuildInfo)(void*, void*, uint32_t, size_t, void*, size_t*);
  int (*ReleaseProgram)(void*);
  void* (*CreateKernel)(void*, const char*, int*);
  int (*ReleaseKernel)(void*);
  int (*SetKernelArg)(void*, uint32_t, size_t, const void*);
  int (*GetKernelWorkGroupInfo)(void*, void*, uint32_t, size_t, void*, size_t*);
  void* (*CreateBuffer)(void*, uint64_t, size_t, void*, int*);
  void* (*CreateSubBuffer)(void*, uint64_t, uint32_t, const void*, int*);
  int (*ReleaseMemObject)(void*);
  int (*EnqueueWriteBuffer)(void*, void*, uint32_t, size_t, size_t, const void*, uint32_t,
                            void* const*, void**);
  int (*EnqueueReadBuffer)(void*, void*, uint32_t, size_t, size_t, void*, uint32_t, void* const*,
                           void**);
  int (*EnqueueFillBuffer)(void*, void*, const void*, size_t, size_t, size_t, uint32_t,
                           void* const*, void**);
  int (*EnqueueNDRangeKernel)(void*, void*, uint32_t, const size_t*, const size_t*, const size_t*,
                              uint32_t, void* const*, void**);
  int (*Finish)(void*);
  int (*WaitForEvents)(uint32_t, void* const*);
  int (*GetEventProfilingInfo)(void*, uint32_t, size_t, void*, size_t*);
  int (*ReleaseEvent)(void*);
};

namespace opencl {
inline constexpr uint32_t kPlatformVersion = 0x0901;
inline constexpr uint32_t kPlatformName = 0x0902;
inline constexpr uint32_t kDeviceType = 0x1000;
inline constexpr uint32_t kComputeUnits = 0x1002;
inline constexpr uint32_t kMaxWorkGroupSize = 0x1004;
inline constexpr uint32_t kMaxWorkItemSizes = 0x1005;
inline constexpr uint32_t kClockMhz = 0x100C;
inline constexpr uint32_t kAddressBits = 0x100D;
inline constexpr uint32_t kAlignmentBits = 0x1019;
inline constexpr uint32_t kGlobalCacheBytes = 0x101E;
inline constexpr uint32_t kGlobalMemoryBytes = 0x101F;
inline constexpr uint32_t kLocalMemoryBytes = 0x1023;
inline constexpr uint32_t kDeviceName = 0x102B;
inline constexpr uint32_t kDriverVersion = 0x102D;
inline constexpr uint32_t kDeviceVersion = 0x102F;
inline constexpr uint32_t kExtensions = 0x1030;
inline constexpr uint32_t kDoubleConfig = 0x1032;
inline constexpr uint32_t kNvidiaCapabilityMajor = 0x4000;
inline constexpr uint32_t kNvidiaCapabilityMinor = 0x4001;
inline constexpr uint32_t kNvidiaRegistersPerBlock = 0x4002;
inline constexpr uint32_t kNvidiaWarpSize = 0x4003;
inline constexpr uint32_t kAmdWavefrontWidth = 0x4043;
inline constexpr uint32_t kProgramBinarySizes = 0x1165;
inline constexpr uint32_t kProgramBinaries = 0x1166;
inline constexpr uint32_t kBuildLog = 0x1183;
inline constexpr uint32_t kKernelLocalMemoryBytes = 0x11B2;
inline constexpr uint32_t kKernelPrivateMemoryBytes = 0x11B4;
inline constexpr uint32_t kBufferCreateRegion = 0x1220;
inline constexpr uint64_t kAllDevices = 0xFFFFFFFF;
inline constexpr uint64_t kCpuDevice = 2;
inline constexpr uint64_t kReadWrite = 1;
inline constexpr uint64_t kQueueProfiling = 2;
inline constexpr uint32_t kProfilingStart = 0x1282;
inline constexpr uint32_t kProfilingEnd = 0x1283;
inline constexpr int kDeviceNotFound = -1;
inline constexpr int kAllocationFailure = -4;
inline constexpr int kOutOfResources = -5;
inline constexpr int kOutOfHostMemory = -6;
inline constexpr int kBuildFailure = -11;
inline constexpr int kInvalidWorkGroupSize = -54;
inline constexpr int kInvalidBufferSize = -61;
inline constexpr int kNoPlatform = -1001;
}  // namespace opencl

// Errors: NotFound, naming the function that is missing.
Status LoadOpenClFunctions(const SharedLibrary& library, OpenClFunctions* functions);

// OK or Internal: "clFinish: CL_OUT_OF_RESOURCES"; ResourceExhausted if memory is short.
Status CheckOpenCl(absl::string_view call, int code);

}  // namespace mdh
