#include "tuner/device/cuda/cuda_function.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

class CudaFunction final : public DeviceFunction {
 public:
  explicit CudaFunction(const CudaDriver& driver) : driver_(driver) {}
  ~CudaFunction() override {
    if (begin_ != nullptr) driver_.functions.EventDestroy(begin_);
    if (end_ != nullptr) driver_.functions.EventDestroy(end_);
    if (module_ != nullptr) driver_.functions.ModuleUnload(module_);
  }

  Status Load(const Nvrtc::NamedImage& image) {
    const CudaFunctions& f = driver_.functions;
    MDH_RETURN_IF_ERROR(
        driver_.Check("cuModuleLoadData", f.ModuleLoadData(&module_, image.image.data())));
    MDH_RETURN_IF_ERROR(
        driver_.Check(absl::StrCat("cuModuleGetFunction(", image.name, ")"),
                      f.ModuleGetFunction(&function_, module_, image.name.c_str())));
    MDH_RETURN_IF_ERROR(driver_.Check("cuEventCreate", f.EventCreate(&begin_, 0)));
    return driver_.Check("cuEventCreate", f.EventCreate(&end_, 0));
  }

  Result<double> Run(absl::Span<const FunctionArgument> arguments,
                     const FunctionLaunch& launch) override {
    MDH_RETURN_IF_ERROR(AllowShared(launch.dynamic_shared_bytes));
    std::vector<CudaPointer> pointers;
    for (const FunctionArgument& argument : arguments) {
      pointers.push_back(
          argument.memory == nullptr ? 0 : static_cast<const CudaMemory*>(argument.memory)->data());
    }
    std::vector<void*> values;
    for (size_t n = 0; n < arguments.size(); ++n) {
      values.push_back(arguments[n].memory == nullptr
                           ? const_cast<std::byte*>(arguments[n].value.data())
                           : static_cast<void*>(&pointers[n]));
    }
    const CudaFunctions& f = driver_.functions;
    const auto extent = [](int64_t value) { return static_cast<unsigned>(value); };
    const auto& grid = launch.blocks;
    const auto& block = *launch.threads;
    MDH_RETURN_IF_ERROR(driver_.Check("cuEventRecord", f.EventRecord(begin_, nullptr)));
    MDH_RETURN_IF_ERROR(driver_.Check(
        "cuLaunchKernel",
        f.LaunchKernel(function_, extent(grid[0]), extent(grid[1]), extent(grid[2]),
                       extent(block[0]), extent(block[1]), extent(block[2]),
                       extent(launch.dynamic_shared_bytes), nullptr, values.data(), nullptr)));
    MDH_RETURN_IF_ERROR(driver_.Check("cuEventRecord", f.EventRecord(end_, nullptr)));
    const Status ended = driver_.Check("cuEventSynchronize", f.EventSynchronize(end_));
    if (!ended.ok()) return Aborted(ended.message());
    float time_ms = 0;
    MDH_RETURN_IF_ERROR(
        driver_.Check("cuEventElapsedTime", f.EventElapsedTime(&time_ms, begin_, end_)));
    return static_cast<double>(time_ms) * 1e6;
  }

 private:
  Status AllowShared(int64_t bytes) {
    if (bytes <= allowed_shared_bytes_) return absl::OkStatus();
    MDH_RETURN_IF_ERROR(driver_.Check(
        absl::StrCat("cuFuncSetAttribute(", bytes, " bytes of dynamic shared memory)"),
        driver_.functions.FuncSetAttribute(function_, cuda::kFunctionDynamicSharedBytes,
                                           static_cast<int>(bytes))));
    allowed_shared_bytes_ = bytes;
    return absl::OkStatus();
  }

  const CudaDriver& driver_;
  void* module_ = nullptr;
  void* function_ = nullptr;
  void* begin_ = nullptr;  // events
  void* end_ = nullptr;
  int64_t allowed_shared_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<DeviceFunction>> CompileCudaFunction(const CudaDriver& driver,
                                                            int compute_capability,
                                                            const FunctionSource& source) {
  MDH_ASSIGN_OR_RETURN(const Nvrtc::NamedImage image,
                       driver.nvrtc.CompileFunction(source.source, source.function,
                                                    compute_capability, source.options));
  auto function = std::make_unique<CudaFunction>(driver);
  MDH_RETURN_IF_ERROR(function->Load(image));
  return function;
}

}  // namespace mdh
