#include "tuner/device/shared_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include "absl/strings/str_join.h"

namespace mdh {

Result<SharedLibrary> SharedLibrary::Open(const std::vector<std::string>& names,
                                          const std::vector<std::string>& folders) {
  std::string reason;
  for (const std::string& name : names) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return SharedLibrary(name, handle);
    }
    for (const std::string& folder : folders) {
      const std::string path = absl::StrCat(folder, "/", name);
      if (access(path.c_str(), R_OK) != 0) continue;
      if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        return SharedLibrary(path, handle);
      }
      if (reason.empty()) reason = dlerror();
    }
  }
  std::string message = absl::StrCat("there is no library ", absl::StrJoin(names, " or "));
  if (!folders.empty()) absl::StrAppend(&message, ", nor in ", absl::StrJoin(folders, ", "));
  if (!reason.empty()) absl::StrAppend(&message, ": ", reason);
  return NotFound(message);
}

void* SharedLibrary::Address(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace mdh
