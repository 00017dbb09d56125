#include "tuner/device/opencl/opencl_functions.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

struct ErrorName {
  int code;
  const char* name;
};

// The OpenCL specification, appendix of error codes.
constexpr ErrorName kErrors[] = {{-1, "CL_DEVICE_NOT_FOUND"},
                                 {-2, "CL_DEVICE_NOT_AVAILABLE"},
                                 {-3, "CL_COMPILER_NOT_AVAILABLE"},
                                 {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
                                 {-5, "CL_OUT_OF_RESOURCES"},
                                 {-6, "CL_OUT_OF_HOST_MEMORY"},
                                 {-11, "CL_BUILD_PROGRAM_FAILURE"},
                                 {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
                                 {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
                                 {-30, "CL_INVALID_VALUE"},
                                 {-33, "CL_INVALID_DEVICE"},
                                 {-34, "CL_INVALID_CONTEXT"},
                                 {-36, "CL_INVALID_COMMAND_QUEUE"},
                                 {-38, "CL_INVALID_MEM_OBJECT"},
                                 {-43, "CL_INVALID_BUILD_OPTIONS"},
                                 {-44, "CL_INVALID_PROGRAM"},
                                 {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
                                 {-46, "CL_INVALID_KERNEL_NAME"},
                                 {-48, "CL_INVALID_KERNEL"},
                                 {-49, "CL_INVALID_ARG_INDEX"},
                                 {-51, "CL_INVALID_ARG_SIZE"},
                                 {-52, "CL_INVALID_KERNEL_ARGS"},
                                 {-54, "CL_INVALID_WORK_GROUP_SIZE"},
                                 {-55, "CL_INVALID_WORK_ITEM_SIZE"},
                                 {-61, "CL_INVALID_BUFFER_SIZE"},
                                 {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
                                 {-1001, "CL_PLATFORM_NOT_FOUND_KHR"}};

}  // namespace

Status LoadOpenClFunctions(const SharedLibrary& library, OpenClFunctions* f) {
  MDH_RETURN_IF_ERROR(library.Load("clGetPlatformIDs", &f->GetPlatformIDs));
  MDH_RETURN_IF_ERROR(library.Load("clGetPlatformInfo", &f->GetPlatformInfo));
  MDH_RETURN_IF_ERROR(library.Load("clGetDeviceIDs", &f->GetDeviceIDs));
  MDH_RETURN_IF_ERROR(library.Load("clGetDeviceInfo", &f->GetDeviceInfo));
  MDH_RETURN_IF_ERROR(library.Load("clCreateContext", &f->CreateContext));
  MDH_RETURN_IF_ERROR(library.Load("clReleaseContext", &f->ReleaseContext));
  MDH_RETURN_IF_ERROR(library.Load("clCreateCommandQueue", &f->CreateCommandQueue));
  MDH_RETURN_IF_ERROR(library.Load("clReleaseCommandQueue", &f->ReleaseCommandQueue));
  MDH_RETURN_IF_ERROR(library.Load("clCreateProgramWithSource", &f->CreateProgramWithSource));
  MDH_RETURN_IF_ERROR(library.Load("clCreateProgramWithBinary", &f->CreateProgramWithBinary));
  MDH_RETURN_IF_ERROR(library.Load("clGetProgramInfo", &f->GetProgramInfo));
  MDH_RETURN_IF_ERROR(library.Load("clBuildProgram", &f->BuildProgram));
  MDH_RETURN_IF_ERROR(library.Load("clGetProgramBuildInfo", &f->GetProgramBuildInfo));
  MDH_RETURN_IF_ERROR(library.Load("clReleaseProgram", &f->ReleaseProgram));
  MDH_RETURN_IF_ERROR(library.Load("clCreateKernel", &f->CreateKernel));
  MDH_RETURN_IF_ERROR(library.Load("clReleaseKernel", &f->ReleaseKernel));
  MDH_RETURN_IF_ERROR(library.Load("clSetKernelArg", &f->SetKernelArg));
  MDH_RETURN_IF_ERROR(library.Load("clGetKernelWorkGroupInfo", &f->GetKernelWorkGroupInfo));
  MDH_RETURN_IF_ERROR(library.Load("clCreateBuffer", &f->CreateBuffer));
  MDH_RETURN_IF_ERROR(library.Load("clCreateSubBuffer", &f->CreateSubBuffer));
  MDH_RETURN_IF_ERROR(library.Load("clReleaseMemObject", &f->ReleaseMemObject));
  MDH_RETURN_IF_ERROR(library.Load("clEnqueueWriteBuffer", &f->EnqueueWriteBuffer));
  MDH_RETURN_IF_ERROR(library.Load("clEnqueueReadBuffer", &f->EnqueueReadBuffer));
  MDH_RETURN_IF_ERROR(library.Load("clEnqueueFillBuffer", &f->EnqueueFillBuffer));
  MDH_RETURN_IF_ERROR(library.Load("clEnqueueNDRangeKernel", &f->EnqueueNDRangeKernel));
  MDH_RETURN_IF_ERROR(library.Load("clFinish", &f->Finish));
  MDH_RETURN_IF_ERROR(library.Load("clWaitForEvents", &f->WaitForEvents));
  MDH_RETURN_IF_ERROR(library.Load("clGetEventProfilingInfo", &f->GetEventProfilingInfo));
  return library.Load("clReleaseEvent", &f->ReleaseEvent);
}

Status CheckOpenCl(absl::string_view call, int code) {
  if (code == 0) return absl::OkStatus();
  const auto* known = std::ranges::find(kErrors, code, &ErrorName::code);
  const std::string message = absl::StrCat(
      call, ": ",
      known != std::end(kErrors) ? std::string(known->name) : absl::StrCat("error ", code));
  const bool is_memory = code == opencl::kAllocationFailure || code == opencl::kOutOfHostMemory ||
                         code == opencl::kInvalidBufferSize;
  return is_memory ? ResourceExhausted(message) : Internal(message);
}

}  // namespace mdh
