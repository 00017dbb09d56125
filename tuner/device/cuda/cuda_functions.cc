#include "tuner/device/cuda/cuda_functions.h"

#include "absl/strings/str_cat.h"

namespace mdh {

Status LoadCudaFunctions(const SharedLibrary& library, CudaFunctions* f) {
  MDH_RETURN_IF_ERROR(library.Load("cuInit", &f->Init));
  MDH_RETURN_IF_ERROR(library.Load("cuDriverGetVersion", &f->DriverGetVersion));
  MDH_RETURN_IF_ERROR(library.Load("cuGetErrorName", &f->GetErrorName));
  MDH_RETURN_IF_ERROR(library.Load("cuGetErrorString", &f->GetErrorString));
  MDH_RETURN_IF_ERROR(library.Load("cuDeviceGetCount", &f->DeviceGetCount));
  MDH_RETURN_IF_ERROR(library.Load("cuDeviceGet", &f->DeviceGet));
  MDH_RETURN_IF_ERROR(library.Load("cuDeviceGetName", &f->DeviceGetName));
  MDH_RETURN_IF_ERROR(library.Load("cuDeviceTotalMem_v2", &f->DeviceTotalMem));
  MDH_RETURN_IF_ERROR(library.Load("cuDeviceGetAttribute", &f->DeviceGetAttribute));
  library.LoadIfPresent("cuDeviceGetPCIBusId", &f->DeviceGetPciBusId);
  MDH_RETURN_IF_ERROR(library.Load("cuDevicePrimaryCtxRetain", &f->DevicePrimaryCtxRetain));
  MDH_RETURN_IF_ERROR(library.Load("cuCtxSetCurrent", &f->CtxSetCurrent));
  MDH_RETURN_IF_ERROR(library.Load("cuCtxSynchronize", &f->CtxSynchronize));
  MDH_RETURN_IF_ERROR(library.Load("cuModuleLoadData", &f->ModuleLoadData));
  MDH_RETURN_IF_ERROR(library.Load("cuModuleUnload", &f->ModuleUnload));
  MDH_RETURN_IF_ERROR(library.Load("cuModuleGetFunction", &f->ModuleGetFunction));
  MDH_RETURN_IF_ERROR(library.Load("cuFuncSetAttribute", &f->FuncSetAttribute));
  MDH_RETURN_IF_ERROR(library.Load("cuFuncGetAttribute", &f->FuncGetAttribute));
  MDH_RETURN_IF_ERROR(library.Load("cuMemAlloc_v2", &f->MemAlloc));
  MDH_RETURN_IF_ERROR(library.Load("cuMemFree_v2", &f->MemFree));
  MDH_RETURN_IF_ERROR(library.Load("cuMemsetD8_v2", &f->MemsetD8));
  MDH_RETURN_IF_ERROR(library.Load("cuMemcpyHtoD_v2", &f->MemcpyHtoD));
  MDH_RETURN_IF_ERROR(library.Load("cuMemcpyDtoH_v2", &f->MemcpyDtoH));
  MDH_RETURN_IF_ERROR(library.Load("cuLaunchKernel", &f->LaunchKernel));
  library.LoadIfPresent("cuLaunchKernelEx", &f->LaunchKernelEx);
  library.LoadIfPresent("cuTensorMapEncodeTiled", &f->TensorMapEncodeTiled);
  MDH_RETURN_IF_ERROR(library.Load("cuEventCreate", &f->EventCreate));
  MDH_RETURN_IF_ERROR(library.Load("cuEventDestroy_v2", &f->EventDestroy));
  MDH_RETURN_IF_ERROR(library.Load("cuEventRecord", &f->EventRecord));
  MDH_RETURN_IF_ERROR(library.Load("cuEventSynchronize", &f->EventSynchronize));
  MDH_RETURN_IF_ERROR(library.Load("cuEventElapsedTime", &f->EventElapsedTime));
  library.LoadIfPresent("cuStreamCreate", &f->StreamCreate);
  library.LoadIfPresent("cuStreamDestroy_v2", &f->StreamDestroy);
  library.LoadIfPresent("cuStreamBeginCapture_v2", &f->StreamBeginCapture);
  library.LoadIfPresent("cuStreamEndCapture", &f->StreamEndCapture);
  library.LoadIfPresent("cuGraphInstantiateWithFlags", &f->GraphInstantiate);
  library.LoadIfPresent("cuGraphUpload", &f->GraphUpload);
  library.LoadIfPresent("cuGraphLaunch", &f->GraphLaunch);
  library.LoadIfPresent("cuGraphDestroy", &f->GraphDestroy);
  library.LoadIfPresent("cuGraphExecDestroy", &f->GraphExecDestroy);
  return absl::OkStatus();
}

Status CheckCuda(const CudaFunctions& functions, absl::string_view call, int code) {
  if (code == 0) return absl::OkStatus();
  const char* name = nullptr;
  const char* text = nullptr;
  if (functions.GetErrorName(code, &name) != 0) name = nullptr;
  if (functions.GetErrorString(code, &text) != 0) text = nullptr;
  const std::string message =
      absl::StrCat(call, ": ", name != nullptr ? name : absl::StrCat("error ", code).c_str(), " (",
                   text != nullptr ? text : "unknown", ")");
  const bool is_short = code == cuda::kOutOfMemory || code == cuda::kLaunchOutOfResources;
  return is_short ? ResourceExhausted(message) : Internal(message);
}

}  // namespace mdh
