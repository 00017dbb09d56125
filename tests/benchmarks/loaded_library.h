// A C source, compiled to a shared library and loaded into this process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"

namespace mdh {

class LoadedLibrary {
 public:
  // Writes the source to a file of its own in `directory`, whose name begins with `name`, and
  // compiles it there. The loader knows libraries by their paths: two with one path would be one.
  // Errors: FailedPrecondition with the compiler's or the loader's message.
  static Result<LoadedLibrary> Compile(const std::string& source, Compiler compiler,
                                       const std::vector<std::string>& options,
                                       const std::string& directory, const std::string& name);

  void* handle() const { return library_.get(); }  // of dlopen
  // Null if there is none; valid as long as this object lives.
  void* Symbol(const std::string& name) const;

 private:
  struct Close {
    void operator()(void* library) const;
  };
  std::unique_ptr<void, Close> library_;
};

}  // namespace mdh
