#include "tests/property/kernel_judge.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mdh {
namespace {

constexpr size_t kGuard = 64;
constexpr unsigned char kPoison = 0xA5;

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Memory with guard bytes on both sides, filled with poison.
class GuardedBytes {
 public:
  explicit GuardedBytes(size_t size)
      : size_(size),
        total_((size + 2 * kGuard + 63) / 64 * 64),
        bytes_(static_cast<unsigned char*>(std::aligned_alloc(64, total_))) {
    std::memset(bytes_, kPoison, total_);
  }
  ~GuardedBytes() { std::free(bytes_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  unsigned char* data() { return bytes_ + kGuard; }
  bool GuardsIntact() const {
    for (size_t n = 0; n < total_; ++n) {
      if ((n < kGuard || n >= kGuard + size_) && bytes_[n] != kPoison) return false;
    }
    return true;
  }

 private:
  size_t size_, total_;
  unsigned char* bytes_;
};

// Calls with the kernel's argument list, whose length is only known here.
class LoadedKernel {
 public:
  LoadedKernel(const Kernel& kernel, void* library)
      : stages_(kernel.stages),
        entry_(dlsym(library, kernel.entry.c_str())),
        body_(dlsym(library, (kernel.entry + "_body").c_str())),
        scratch_bytes_(reinterpret_cast<int64_t (*)(int)>(
            dlsym(library, (kernel.entry + "_scratch_bytes").c_str()))) {}

  bool complete() const { return entry_ && body_ && scratch_bytes_; }
  int64_t scratch_bytes(int threads) const { return scratch_bytes_(threads); }

  // threads = 0: the OpenMP entry.
  int Run(int threads, const std::vector<void*>& buffers, void* scratch) const {
    std::vector<void*> arguments = buffers;
    arguments.push_back(scratch);
    if (threads == 0) return CallEntry(arguments);
    for (int stage = 0; stage < stages_; ++stage) {
      for (int thread = 0; thread < threads; ++thread) CallBody(stage, thread, threads, arguments);
    }
    return 0;
  }

 private:
  // Pointer arguments beyond those a function declares are ignored by the calling convention.
  static constexpr size_t kMostArguments = 64;
  template <size_t>
  using Pointer = void*;

  int CallEntry(const std::vector<void*>& a) const {
    return CallEntry(a, std::make_index_sequence<kMostArguments>());
  }
  template <size_t... N>
  int CallEntry(std::vector<void*> a, std::index_sequence<N...>) const {
    if (a.size() > kMostArguments) std::abort();
    a.resize(kMostArguments, nullptr);
    return reinterpret_cast<int (*)(Pointer<N>...)>(entry_)(a[N]...);
  }
  void CallBody(int stage, int thread, int threads, const std::vector<void*>& a) const {
    CallBody(stage, thread, threads, a, std::make_index_sequence<kMostArguments>());
  }
  template <size_t... N>
  void CallBody(int stage, int thread, int threads, std::vector<void*> a,
                std::index_sequence<N...>) const {
    if (a.size() > kMostArguments) std::abort();
    a.resize(kMostArguments, nullptr);
    reinterpret_cast<void (*)(int, int, int, Pointer<N>...)>(body_)(stage, thread, threads,
                                                                    a[N]...);
  }

  int stages_;
  void* entry_;
  void* body_;
  int64_t (*scratch_bytes_)(int);
};

// What is wrong with one run, or an empty string.
std::string RunOnce(const std::vector<JudgedOutput>& judged, const LoadedKernel& kernel,
                    int threads, const std::vector<BufferBytes>& inputs,
                    const std::vector<BufferBytes>& expected, int units) {
  std::vector<void*> buffers;
  for (const BufferBytes& input : inputs) {
    buffers.push_back(const_cast<std::byte*>(input.data()));
  }
  std::vector<std::unique_ptr<GuardedBytes>> outputs;
  for (const JudgedOutput& output : judged) {
    outputs.push_back(std::make_unique<GuardedBytes>(output.buffer.size_bytes()));
    buffers.push_back(outputs.back()->data());
  }
  GuardedBytes scratch(static_cast<size_t>(kernel.scratch_bytes(threads == 0 ? 2 : threads)));
  const int status = kernel.Run(threads, buffers, threads == 0 ? nullptr : scratch.data());
  if (status != 0) return absl::StrCat("the entry returned ", status);
  if (!scratch.GuardsIntact()) return "wrote outside its scratch memory";
  for (size_t b = 0; b < outputs.size(); ++b) {
    if (!outputs[b]->GuardsIntact()) {
      return absl::StrCat("wrote outside ", judged[b].buffer.name);
    }
    const std::string wrong =
        DifferenceOf(judged[b].buffer, reinterpret_cast<const std::byte*>(outputs[b]->data()),
                     expected[b].data(), judged[b].contents, std::byte{kPoison}, units);
    if (!wrong.empty()) {
      return absl::StrCat(
          wrong, threads == 0 ? " (OpenMP entry)" : absl::StrCat(" (body, ", threads, " threads)"));
    }
  }
  return "";
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "mdh-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() { std::filesystem::remove_all(path_); }

bool ClangWorks(const std::string& directory) {
  const std::string program = directory + "/clang_works";
  std::ofstream(program + ".c")
      << "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n";
  const std::string command =
      absl::StrCat("clang -fopenmp -o ", program, " ", program, ".c 2> /dev/null && ", program);
  return std::system(command.c_str()) == 0;
}

Status CompileKernel(const Kernel& kernel, const std::string& directory, const std::string& name) {
  const std::string stem = directory + "/" + name;
  std::ofstream(stem + ".c") << kernel.source;
  const std::string command = absl::StrCat(
      kernel.compiler == Compiler::kGcc ? "gcc" : "clang", " -shared -fPIC -w -o ", stem, ".so ",
      stem, ".c ", absl::StrJoin(kernel.compile_options, " "), " 2> ", stem, ".log");
  if (std::system(command.c_str()) != 0) {
    return absl::InternalError(
        absl::StrCat("the kernel does not compile:\n", ReadFile(stem + ".log")));
  }
  return absl::OkStatus();
}

Status JudgeKernel(const std::vector<JudgedOutput>& outputs, const Kernel& kernel,
                   const std::string& library, const std::vector<BufferBytes>& inputs,
                   const std::vector<BufferBytes>& expected, int units) {
  int channel[2];
  if (pipe(channel) != 0) return absl::InternalError("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    close(channel[0]);
    setenv("OMP_NUM_THREADS", "2", 1);
    std::string wrong;
    void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr) {
      wrong = dlerror();
    } else {
      const LoadedKernel runnable(kernel, loaded);
      if (!runnable.complete()) wrong = "a function is missing";
      for (const int threads : {0, 1, 3, 7}) {
        if (wrong.empty()) wrong = RunOnce(outputs, runnable, threads, inputs, expected, units);
      }
    }
    const ssize_t written = write(channel[1], wrong.data(), wrong.size());
    _exit(written == static_cast<ssize_t>(wrong.size()) && wrong.empty() ? 0 : 1);
  }
  close(channel[1]);
  std::string wrong;
  char chunk[512];
  for (ssize_t n; (n = read(channel[0], chunk, sizeof chunk)) > 0;) wrong.append(chunk, n);
  close(channel[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    return absl::InternalError(absl::StrCat("died of signal ", WTERMSIG(status)));
  if (!wrong.empty()) return absl::InternalError(wrong);
  return absl::OkStatus();
}

}  // namespace mdh
