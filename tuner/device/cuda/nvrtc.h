// NVRTC: CUDA C++ to machine code or PTX, also on machines without a GPU.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "tuner/device/shared_library.h"

namespace mdh {

struct NvrtcFunctions;

// Thread-safe; copies share the library.
class Nvrtc {
 public:
  // Looks for libnvrtc by the names of CUDA 11.2 to 13, also in `folders`. Errors: NotFound.
  static Result<Nvrtc> Load(const std::vector<std::string>& folders);
  // Where CUDA Toolkits are installed: lib64 and lib below `root` (CUDA_PATH; empty: none), then
  // below /usr/local/cuda*.
  static std::vector<std::string> ToolkitFolders(const std::string& root);
  static const std::vector<std::string>& LibraryNames();

  std::string Version() const;  // "13.0"
  const std::string& path() const { return path_; }

  enum class Output : uint8_t { kCubin, kPtx };

  // Compiles one translation unit for sm_<compute_capability>. Errors: InvalidArgument with the
  // compiler's log if the source does not compile; Internal naming another call that failed.
  Result<std::string> Compile(const std::string& source, const std::string& name,
                              int compute_capability, const std::vector<std::string>& options,
                              Output output = Output::kCubin) const;

  struct Report {
    std::string cubin;
    // Ends with what ParseCompilerReport reads; with NVRTC 11.7 and later at least.
    std::string log;
  };
  // The same to a cubin, with what the assembler says of it.
  Result<Report> CompileWithReport(const std::string& source, const std::string& name,
                                   int compute_capability,
                                   const std::vector<std::string>& options) const;

  struct NamedImage {
    std::string image;  // a cubin
    std::string name;   // of the function in it
  };
  // The same for one kernel function, which C++ may call otherwise in the image: also an instance
  // of a template. Errors: as Compile, also if there is no such function.
  Result<NamedImage> CompileFunction(const std::string& source, const std::string& function,
                                     int compute_capability,
                                     const std::vector<std::string>& options) const;

 private:
  Nvrtc(std::string path, const NvrtcFunctions* functions)
      : path_(std::move(path)), functions_(functions) {}

  std::string path_;
  const NvrtcFunctions* functions_;  // lives as long as the process
};

}  // namespace mdh
