#include "client/cpu_kernel.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/temporary_directory.h"

namespace mdh {
namespace {

using ::testing::HasSubstr;

// y = 2 x, for four numbers.
v1::Kernel Doubling(const std::string& body = "for (int n = 0; n < 4; ++n) y[n] = 2 * x[n];") {
  v1::Kernel kernel;
  kernel.set_entry("mdh_doubling");
  kernel.set_language("OpenMP C");
  kernel.set_source("int mdh_doubling(const float* x, float* y, void* scratch) {\n" + body +
                    "\n(void)scratch; return 0; }\n");
  kernel.set_compiler("gcc");
  kernel.add_compile_options("-O1");
  for (const char* name : {"x", "y"}) kernel.add_arguments()->set_name(name);
  return kernel;
}

class CpuKernelTest : public ::testing::Test {
 protected:
  KernelCache Cache() const { return *KernelCache::Open(directory_.File("cache")); }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.File("cache"))) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  static void ExpectDoubles(const CpuKernel& kernel) {
    float x[] = {1, 2, 3, 4}, y[] = {0, 0, 0, 0};
    EXPECT_TRUE(kernel.Run({x, y}).ok());
    EXPECT_THAT(y, ::testing::ElementsAre(2, 4, 6, 8));
  }

  const TemporaryDirectory directory_;
};

TEST_F(CpuKernelTest, IsCompiledOnce) {
  const Result<std::unique_ptr<CpuKernel>> first = CpuKernel::Load(Doubling(), Cache());
  ASSERT_TRUE(first.ok()) << first.status();
  ExpectDoubles(**first);
  ASSERT_EQ(Files().size(), 1u);
  EXPECT_THAT(Files()[0], HasSubstr(".so"));
  // A compiler that is not there is not needed for a kernel that is.
  v1::Kernel kernel = Doubling();
  ExpectDoubles(**CpuKernel::Load(kernel, Cache()));
  kernel.add_compile_options("-O2");
  ExpectDoubles(**CpuKernel::Load(kernel, Cache()));
  EXPECT_EQ(Files().size(), 2u);
}

TEST_F(CpuKernelTest, AProcessHasTheThreadsOfOneOpenMp) {
  void* const openmp = dlopen("libgomp.so.1", RTLD_NOW);
  ASSERT_NE(openmp, nullptr) << dlerror();
  v1::Kernel kernel =
      Doubling("#ifdef __clang__\n  y[0] = 1;\n#else\n  y[0] = 2;\n#endif\n  (void)x;");
  kernel.set_compiler("clang");
  const auto compiled_by = [&](const std::string& compiler) {
    const Result<std::unique_ptr<CpuKernel>> loaded = CpuKernel::Load(kernel, Cache(), compiler);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    float x[] = {0}, y[] = {0};
    EXPECT_TRUE(loaded.ok() && (*loaded)->Run({x, y}).ok());
    return y[0] == 1 ? "clang" : "gcc";
  };
  EXPECT_STREQ(compiled_by(""), "gcc") << "although clang was better";
  EXPECT_STREQ(compiled_by("clang"), "clang") << "if the caller says so";
  dlclose(openmp);
}

TEST_F(CpuKernelTest, ADamagedFileIsMadeAnew) {
  ASSERT_TRUE(CpuKernel::Load(Doubling(), Cache()).ok());
  const std::string file = directory_.File("cache/" + Files()[0]);
  std::filesystem::remove(file);
  std::ofstream(file) << "no shared object";
  ExpectDoubles(**CpuKernel::Load(Doubling(), Cache()));
}

TEST_F(CpuKernelTest, ManyProcessesAndThreadsCompileAtOnce) {
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      const Result<std::unique_ptr<CpuKernel>> kernel = CpuKernel::Load(Doubling(), Cache());
      float x[] = {1, 2, 3, 4}, y[] = {0, 0, 0, 0};
      _exit(kernel.ok() && (*kernel)->Run({x, y}).ok() && y[3] == 8 ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Files().size(), 1u);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] { ExpectDoubles(**CpuKernel::Load(Doubling(), Cache())); });
  }
}

TEST_F(CpuKernelTest, ErrorsOfTheCompilerAreShown) {
  const Status error = CpuKernel::Load(Doubling("nonsense"), Cache()).status();
  EXPECT_EQ(error.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(error.message()),
              HasSubstr("gcc does not compile the kernel mdh_doubling"));
  EXPECT_THAT(std::string(error.message()), HasSubstr("error:"));
  EXPECT_TRUE(Files().empty());
}

TEST_F(CpuKernelTest, CompilersThatAreNotThere) {
  const Status error = CpuKernel::Load(Doubling(), Cache(), "/no/such/compiler").status();
  EXPECT_THAT(std::string(error.message()), HasSubstr("/no/such/compiler cannot be run"));
  // The kernel's own may be missing where another one is there.
  v1::Kernel kernel = Doubling();
  kernel.set_compiler("no-such-compiler");
  ExpectDoubles(**CpuKernel::Load(kernel, Cache()));
}

TEST_F(CpuKernelTest, OnlyKernelsInCAreRun) {
  v1::Kernel kernel = Doubling();
  kernel.set_language("CUDA C++");
  EXPECT_EQ(CpuKernel::Load(kernel, Cache()).status().message(),
            "the kernel mdh_doubling is in CUDA C++, not in OpenMP C");
}

TEST_F(CpuKernelTest, AFolderThatOthersWriteToIsNotUsed) {
  const std::string folder = directory_.File("open");
  mkdir(folder.c_str(), 0777);
  chmod(folder.c_str(), 0777);
  const Status error = KernelCache::Open(folder).status();
  EXPECT_EQ(error.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(error.message()), HasSubstr("others may write to"));
  std::ofstream(directory_.File("file")) << "";
  EXPECT_THAT(std::string(KernelCache::Open(directory_.File("file")).status().message()),
              HasSubstr("is no folder"));
  EXPECT_THAT(std::string(KernelCache::Open(directory_.File("file/below")).status().message()),
              HasSubstr("cannot make the folder"));
  EXPECT_EQ(std::filesystem::status(Cache().directory()).permissions(),
            std::filesystem::perms::owner_all);
}

TEST_F(CpuKernelTest, AKernelThatFindsNoScratchMemorySaysSo) {
  const auto kernel = CpuKernel::Load(Doubling("return 1;"), Cache());
  float x[4] = {}, y[4] = {};
  EXPECT_EQ((*kernel)->Run({x, y}).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ((*kernel)->Run({x}).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mdh
