// Libraries of vendors, found by name at run time: programs start on machines that have none.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"

namespace mdh {

// A loaded library; it stays loaded until the process ends, because drivers keep threads.
class SharedLibrary {
 public:
  // Tries every name as the dynamic linker finds it, then in every folder. Errors: NotFound, naming
  // what was tried and the linker's first reason that is not a missing file.
  static Result<SharedLibrary> Open(const std::vector<std::string>& names,
                                    const std::vector<std::string>& folders = {});

  const std::string& path() const { return path_; }

  // Errors: NotFound, naming symbol and library.
  template <typename Function>
  Status Load(const char* symbol, Function** function) const {
    void* const address = Address(symbol);
    if (address == nullptr) return NotFound(path_, " has no function ", symbol);
    *function = reinterpret_cast<Function*>(address);
    return absl::OkStatus();
  }

  // nullptr if the library has no such function.
  template <typename Function>
  void LoadIfPresent(const char* symbol, Function** function) const {
    *function = reinterpret_cast<Function*>(Address(symbol));
  }

 private:
  SharedLibrary(std::string path, void* handle) : path_(std::move(path)), handle_(handle) {}
  void* Address(const char* symbol) const;

  std::string path_;
  void* handle_;
};

}  // namespace mdh
