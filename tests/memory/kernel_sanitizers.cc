#include "tests/memory/kernel_sanitizers.h"

#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "tests/property/kernel_judge.h"
#include "tests/sanitized.h"

namespace mdh {
namespace {

constexpr char kPreload[] = "LD_PRELOAD";

bool IsLibraryOfSanitizers(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file.substr(0, 10) == "libasan.so";
}

}  // namespace

bool HasKernelSanitizers() {
  bool found = false;
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* is_found) {
        if (!IsLibraryOfSanitizers(library->dlpi_name)) return 0;
        *static_cast<bool*>(is_found) = true;
        return 1;
      },
      &found);
  return found;
}

Result<std::string> FindKernelSanitizers() {
  if (kIsSanitized) return FailedPrecondition("this program is compiled for sanitizers itself");
  const TemporaryDirectory directory;
  const std::string stem = directory.path() + "/trial";
  std::ofstream(stem + ".c") << "int main(void) { return 0; }\n";
  const std::string command =
      absl::StrCat("gcc ", kSanitizerOptions, " -o ", stem, " ", stem, ".c >/dev/null 2>&1 && ",
                   stem, " >/dev/null 2>&1 && gcc -print-file-name=libasan.so >", stem, ".txt");
  std::string path;
  if (std::system(command.c_str()) == 0) std::getline(std::ifstream(stem + ".txt"), path);
  std::error_code error;
  path = std::filesystem::canonical(path, error).string();
  if (!error) return path;
  return FailedPrecondition(
      "gcc has no sanitizers here: it is missing, or its libasan or libubsan");
}

Status EnterKernelSanitizers(char** argv) {
  if (HasKernelSanitizers()) {
    unsetenv(kPreload);  // compilers do without
    return absl::OkStatus();
  }
  MDH_ASSIGN_OR_RETURN(const std::string library, FindKernelSanitizers());
  setenv(kPreload, library.c_str(), 1);
  // Blocks contain no numbers before something is written to them.
  setenv("ASAN_OPTIONS",
         "detect_leaks=0:print_legend=0:detect_stack_use_after_return=1:malloc_fill_byte=255:"
         "max_malloc_fill_size=1073741824",
         0);
  setenv("UBSAN_OPTIONS", "print_stacktrace=1", 0);
  execv("/proc/self/exe", argv);
  return FailedPrecondition("this program cannot be started again");
}

}  // namespace mdh
