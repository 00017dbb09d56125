// C of which a test calls the functions, as gcc and clang compile it for this machine and for any.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"

namespace mdh {

// Calls `check` with each shared library, as dlopen gives it, and how it was compiled. Compilers
// that are not there are left out; one must be.
inline void ForEachCompiler(const std::string& source,
                            const std::function<void(void*, const std::string&)>& check) {
  std::string folder = (std::filesystem::temp_directory_path() / "mdh-prelude-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/test.c") << "#include <stdint.h>\n#include <string.h>\n" << source;
  int compiled = 0;
  for (const char* compiler : {"gcc", "clang"}) {
    const std::string version = absl::StrCat(compiler, " --version > /dev/null 2>&1");
    if (std::system(version.c_str()) != 0) continue;
    for (const char* target : {"-march=native", ""}) {
      const std::string how = absl::StrCat(compiler, " ", target);
      const std::string library = absl::StrCat(folder, "/", ++compiled, ".so");
      const std::string command = absl::StrCat(
          how,
          " -O2 -w -Wno-psabi -shared -fPIC -fno-math-errno -fno-trapping-math -ffp-contract=fast",
          " -o ", library, " ", folder, "/test.c -lm");
      ASSERT_EQ(std::system(command.c_str()), 0) << command;
      void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
      ASSERT_NE(loaded, nullptr) << dlerror();
      check(loaded, how);
      dlclose(loaded);
    }
  }
  EXPECT_GT(compiled, 0);
  std::filesystem::remove_all(folder);
}

}  // namespace mdh
