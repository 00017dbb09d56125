// nvcc, the CUDA Toolkit's compiler of files, as another way from CUDA C++ to machine code.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"

namespace mdh {

// The files of toolkits, below `root` (CUDA_PATH) and where they are installed, that CUDA C++ is
// compiled with, NVRTC's libraries and nvcc: another one makes other code.
std::vector<std::string> FilesOfCudaCompilers(const std::string& root);

class Nvcc {
 public:
  // Looks for the program in `folders`. Errors: NotFound, naming them.
  static Result<Nvcc> Find(const std::vector<std::string>& folders);
  // Where CUDA Toolkits have it: bin below `root` (CUDA_PATH; empty: none), then below
  // /usr/local/cuda*, the newest first.
  static std::vector<std::string> ToolkitFolders(const std::string& root);

  const std::string& path() const { return path_; }

  // A cubin of one translation unit for sm_<compute_capability>. `directory`: exists; for files
  // that are gone afterwards. nvcc runs in the calling process's group, with its environment.
  // Errors: InvalidArgument with the compiler's log; FailedPrecondition, naming what failed, if it
  // cannot be run or leaves no cubin.
  Result<std::string> Compile(const std::string& source, const std::string& name,
                              int compute_capability, const std::vector<std::string>& options,
                              const std::string& directory) const;

 private:
  explicit Nvcc(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace mdh
