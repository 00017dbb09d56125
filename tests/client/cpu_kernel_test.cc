#include "client/cpu_kernel.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/kernel/kernel_call.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/temporary_directory.h"

namespace mdh::cpu_kernel_test {
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

// Adds 1000 numbers up, on as many threads as there are, and says who compiled it.
v1::Kernel Summing() {
  v1::Kernel kernel = Doubling();
  kernel.set_entry("mdh_sum");
  kernel.set_source(R"(
#include <stdint.h>
#include <stdlib.h>
int64_t mdh_sum_scratch_bytes(int threads) { return 64 * (int64_t)threads; }
void mdh_sum_body(int stage, int thread, int threads, const int* x, int* y, void* scratch) {
  int* parts = (int*)scratch;
  if (stage == 0) {
    parts[16 * thread] = 0;
    for (int i = 1000 * thread / threads; i < 1000 * (thread + 1) / threads; ++i)
      parts[16 * thread] += x[i];
  } else if (thread == 0) {
    y[0] = 0;
    for (int t = 0; t < threads; ++t) y[0] += parts[16 * t];
    y[1] = threads;
#ifdef __clang__
    y[2] = 1;
#endif
  }
}
int mdh_sum(const int* x, int* y, void* scratch) { (void)x, (void)y, (void)scratch; return 1; }
)");
  kernel.set_stages(2);
  kernel.set_compiler("clang");
  kernel.add_compile_options("-fopenmp");
  return kernel;
}

// What is wrong with a call; empty if nothing is.
std::string JudgeSumming(const KernelCache& cache, int threads) {
  const Result<std::unique_ptr<CpuKernel>> kernel = CpuKernel::Load(Summing(), cache);
  if (!kernel.ok()) return std::string(kernel.status().message());
  std::vector<int> x(1000, 3), y(3, -1);
  for (int call = 0; call < 3; ++call) {
    if (const Status run = (*kernel)->Run({x.data(), y.data()}); !run.ok()) return "does not run";
  }
  if (y != std::vector{3000, threads, 1}) return absl::StrCat(y[0], " ", y[1], " ", y[2]);
  return (*kernel)->warning();
}

int OpenMpRuntimes() {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> found;
  for (std::string line; std::getline(maps, line);) {
    for (const char* name : {"/libgomp", "/libomp"}) {
      if (line.find(name) != std::string::npos) found.insert(name);
    }
  }
  return static_cast<int>(found.size());
}

// Whichever runtime a process has: the kernel's code is the one that was measured, and there are no
// threads of another runtime.
TEST_F(CpuKernelTest, OneCodeRunsOnEveryOpenMp) {
  const auto judge = [&](const char* runtime, int threads) {
    setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 1);
    if (*runtime != '\0' && dlopen(runtime, RTLD_NOW) == nullptr) return std::string(dlerror());
    std::string wrong = JudgeSumming(Cache(), threads);
    if (OpenMpRuntimes() != 1) wrong += " other runtimes";
    return wrong;
  };
  for (const char* runtime : {"libgomp.so.1", "libomp.so.5", ""}) {
    for (const int threads : {1, 3}) {
      const pid_t pid = fork();
      if (pid == 0) {
        const std::string wrong = judge(runtime, threads);
        if (!wrong.empty()) std::cerr << runtime << ": " << wrong << "\n";
        _exit(wrong.empty() ? 0 : 1);
      }
      int status = 0;
      ASSERT_EQ(waitpid(pid, &status, 0), pid);
      EXPECT_EQ(status, 0) << runtime << " " << threads;
    }
  }
  EXPECT_EQ(Files().size(), 1u);
}

// A kernel stays with the runtime that it began with.
TEST_F(CpuKernelTest, RuntimesThatAreLoadedLaterChangeNothing) {
  for (const auto& [first, second] :
       {std::pair("libgomp.so.1", "libomp.so.5"), std::pair("libomp.so.5", "libgomp.so.1")}) {
    const pid_t pid = fork();
    if (pid == 0) {
      setenv("OMP_NUM_THREADS", "2", 1);
      std::string wrong = dlopen(first, RTLD_NOW) != nullptr ? JudgeSumming(Cache(), 2) : dlerror();
      if (dlopen(second, RTLD_NOW) == nullptr) wrong = dlerror();
      if (wrong.empty()) wrong = JudgeSumming(Cache(), 2);
      if (!wrong.empty()) std::cerr << first << ": " << wrong << "\n";
      _exit(wrong.empty() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0) << first;
  }
}

TEST_F(CpuKernelTest, OneThreadNeedsNoRuntime) {
  v1::Kernel kernel = Doubling();
  kernel.set_source(
      "#include <stdint.h>\n#include <stdlib.h>\n#define MDH_MOST_THREADS 1\n"
      "int64_t mdh_doubling_scratch_bytes(int threads) { return 100000 * threads; }\n" +
      kernel.source());
  kernel.set_stages(1);
  ExpectDoubles(**CpuKernel::Load(kernel, Cache()));
  EXPECT_EQ(OpenMpRuntimes(), 0);
}

TEST_F(CpuKernelTest, AnotherCompilerIsWarnedOf) {
  EXPECT_EQ((*CpuKernel::Load(Doubling(), Cache()))->warning(), "");
  v1::Kernel kernel = Doubling();
  kernel.set_compiler("no-such-compiler");
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ((*CpuKernel::Load(kernel, Cache()))->warning(),
              "the kernel mdh_doubling was measured with no-such-compiler, which cannot be run "
              "here: it is compiled with cc, and may take longer");
  }
  EXPECT_EQ((*CpuKernel::Load(kernel, Cache(), "gcc"))->warning(), "") << "as the caller says";
}

// A kernel that runs on the threads of the process.
v1::Kernel DoublingOnThreads(int threads) {
  v1::Kernel kernel = Doubling();
  kernel.set_source(
      "#include <stdint.h>\n#include <stdlib.h>\n"
      "int64_t mdh_doubling_scratch_bytes(int threads) { return 0 * threads; }\n"
      "void mdh_doubling_body(int stage, int thread, int threads, const float* x, float* y,"
      " void* scratch) {\n(void)stage; (void)threads; (void)scratch;\n"
      "if (thread == 0) for (int n = 0; n < 4; ++n) y[n] = 2 * x[n]; }\n");
  kernel.set_stages(1);
  kernel.set_threads(threads);
  return kernel;
}

TEST_F(CpuKernelTest, FewerThreadsThanItIsForAreWarnedOf) {
  const auto one = CpuKernel::Load(DoublingOnThreads(1), Cache());
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ((*one)->warning(), "");
  ExpectDoubles(**one);
  EXPECT_THAT(
      (*CpuKernel::Load(DoublingOnThreads(5000), Cache()))->warning(),
      ::testing::MatchesRegex("the kernel mdh_doubling is for 5000 threads, of which OpenMP "
                              "gives it [0-9]+ here .OMP_NUM_THREADS, .*"));
  v1::Kernel alone = DoublingOnThreads(5000);
  alone.set_source("#define MDH_MOST_THREADS 1\n" + alone.source() +
                   "int mdh_doubling(const float* x, float* y, void* scratch) {\n"
                   "mdh_doubling_body(0, 0, 1, x, y, scratch); return 0; }\n");
  EXPECT_EQ((*CpuKernel::Load(alone, Cache()))->warning(), "");
}

TEST(OpenMpDeathTest, WhatTheEnvironmentLeavesIsCounted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, whose runtime reads it anew
  const auto exit_with_threads = [] {
    const Result<int> threads = ThreadsOfOpenMp();
    std::exit(threads.ok() && *threads == 1 ? 0 : 1);
  };
  for (const auto& [name, value] :
       {std::pair("OMP_NUM_THREADS", "1"), std::pair("OMP_THREAD_LIMIT", "1"),
        std::pair("OMP_PLACES", "{0}"), std::pair("GOMP_CPU_AFFINITY", "0")}) {
    setenv(name, value, 1);
    EXPECT_EXIT(exit_with_threads(), ::testing::ExitedWithCode(0), "") << name;
    unsetenv(name);
  }
}

TEST_F(CpuKernelTest, ADamagedFileIsMadeAnew) {
  ASSERT_TRUE(CpuKernel::Load(Doubling(), Cache()).ok());
  const std::string file = directory_.File("cache/" + Files()[0]);
  std::ostringstream read;
  read << std::ifstream(file, std::ios::binary).rdbuf();
  const std::string whole = read.str();
  std::string zeroed = whole;
  zeroed.replace(4096, 4096, 4096, '\0');
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  const std::string sum = whole.substr(whole.size() - 77);
  // Mapping half a file, or a page of zeros, would end this process.
  for (const std::string& damaged :
       {std::string(), std::string("no shared object"), whole.substr(0, whole.size() / 2),
        whole.substr(0, 4096), zeroed, std::string(whole.size(), '\0'), flipped, sum,
        whole.substr(0, whole.size() - 1)}) {
    std::filesystem::remove(file);  // the one before stays mapped
    std::ofstream(file, std::ios::binary) << damaged;
    ExpectDoubles(**CpuKernel::Load(Doubling(), Cache()));
    EXPECT_EQ(std::filesystem::file_size(file), whole.size());
  }
}

TEST_F(CpuKernelTest, WithoutAFolderItIsCompiledInATemporaryOne) {
  const auto nowhere = CpuKernel::Load(Doubling(), KernelCache::Nowhere("there is no home"));
  ASSERT_TRUE(nowhere.ok()) << nowhere.status();
  ExpectDoubles(**nowhere);
  EXPECT_EQ((*nowhere)->warning(), "the compiled kernel is not kept: there is no home");
  std::string path;
  {
    const auto object = KernelCache::Nowhere("").SharedObject(Doubling(), "", "cpu");
    ASSERT_TRUE(object.ok()) << object.status();
    path = object->path;
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(CpuKernelTest, AFullOrReadOnlyFolderIsDoneWithout) {
  const KernelCache cache = Cache();
  const pid_t child = fork();
  if (child == 0) {
    // A mount of its own; root writes to any folder, whatever its mode.
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", cache.directory().c_str(), "tmpfs", 0, "size=4k,mode=700") != 0) {
      _exit(77);
    }
    const auto full = CpuKernel::Load(Doubling(), cache);
    if (!full.ok() || (*full)->warning().find("No space left") == std::string::npos) _exit(1);
    mount("none", cache.directory().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr);
    const auto read_only = CpuKernel::Load(Doubling(), cache);
    _exit(read_only.ok() && (*read_only)->warning().find("Read-only") != std::string::npos ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "mounting is not allowed here";
  EXPECT_EQ(status, 0);
}

// GNU's runtime would wait for the parent's threads.
TEST_F(CpuKernelTest, AForkedProcessRunsIt) {
  v1::Kernel parallel = Doubling(
      "#pragma omp parallel for num_threads(2)\nfor (int n = 0; n < 4; ++n) y[n] = 2 * x[n];");
  parallel.add_compile_options("-fopenmp");
  const auto kernel = CpuKernel::Load(parallel, Cache());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectDoubles(**kernel);
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    float x[] = {1, 2, 3, 4}, y[] = {0, 0, 0, 0};
    bool is_right = true;
    for (int again = 0; again < 3; ++again) is_right &= (*kernel)->Run({x, y}).ok() && y[3] == 8;
    _exit(is_right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ExpectDoubles(**kernel);
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

// What one of many threads that call a kernel at once, loading and freeing it in between, finds
// wrong. Scratch memory that two calls shared would mix their sums up.
std::string JudgeAmongOthers(const v1::Kernel& source, const KernelCache& cache, int value) {
  constexpr int kLoads = 5, kCalls = 40;
  std::vector<int> x(1000, value), y(3, -1);
  for (int load = 0; load < kLoads; ++load) {
    const Result<std::unique_ptr<CpuKernel>> kernel = CpuKernel::Load(source, cache);
    if (!kernel.ok()) return std::string(kernel.status().message());
    for (int call = 0; call < kCalls; ++call) {
      if (!(*kernel)->Run({x.data(), y.data()}).ok()) return "does not run";
      if (y[0] != 1000 * value) return absl::StrCat(y[0], " is no sum of ", value, "s");
    }
  }
  return "";
}

TEST_F(CpuKernelTest, ManyThreadsCallAndLoadOneKernel) {
  v1::Kernel on_threads = Summing(), alone = Summing();
  // More than a stack is asked for, so that it is a block that calls keep for each other.
  alone.set_source(absl::StrReplaceAll(absl::StrCat("#define MDH_MOST_THREADS 1\n", alone.source()),
                                       {{"return 64 * (int64_t)threads", "return 65536"},
                                        {"return 1;",
                                         "mdh_sum_body(0, 0, 1, x, y, scratch);\n"
                                         "mdh_sum_body(1, 0, 1, x, y, scratch); return 0;"}}));
  for (const v1::Kernel& kernel : {on_threads, alone}) {
    std::vector<std::string> wrong(6);
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < std::ssize(wrong); ++thread) {
      threads.emplace_back(
          [&, thread] { wrong[thread] = JudgeAmongOthers(kernel, Cache(), thread + 1); });
    }
    threads.clear();
    EXPECT_THAT(wrong, ::testing::Each(""));
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
  EXPECT_EQ(error.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(error.message()), HasSubstr("code from the cache is not run: " + folder));
  EXPECT_THAT(std::string(error.message()), HasSubstr("may write it (mode 0777)"));
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
}  // namespace mdh::cpu_kernel_test
