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
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/kernel/kernel_call.h"
#include "tests/memory/guarded_bytes.h"
#include "tests/memory/kernel_sanitizers.h"
#include "tests/memory/scratch_gaps.h"

namespace mdh {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Ways to run a kernel beside the body with some number of threads, one after the other.
constexpr int kEntry = 0;  // the OpenMP entry, which allocates scratch memory
constexpr int kCall = -1;  // as programs that load kernels do: CallSource keeps scratch memory

// Calls with the kernel's argument list, whose length is only known here.
class LoadedKernel {
 public:
  LoadedKernel(const Kernel& kernel, void* library)
      : stages_(kernel.stages),
        entry_(dlsym(library, kernel.entry.c_str())),
        body_(dlsym(library, (kernel.entry + "_body").c_str())),
        scratch_bytes_(reinterpret_cast<int64_t (*)(int)>(
            dlsym(library, (kernel.entry + "_scratch_bytes").c_str()))),
        call_(reinterpret_cast<int (*)(void* const*)>(dlsym(library, "mdh_call"))) {}

  bool complete() const { return entry_ && body_ && scratch_bytes_ && call_; }
  int64_t scratch_bytes(int threads) const { return scratch_bytes_(threads); }

  // threads: or kEntry, or kCall.
  int Run(int threads, const std::vector<void*>& buffers, void* scratch) const {
    if (threads == kCall) return call_(buffers.data());
    std::vector<void*> arguments = buffers;
    arguments.push_back(scratch);
    if (threads == kEntry) return CallEntry(arguments);
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
  int (*call_)(void* const*);
};

std::string NameOfRun(int threads) {
  if (threads == kCall) return "call";
  return threads == kEntry ? "OpenMP entry" : absl::StrCat("body, ", threads, " threads");
}

struct Judgement {
  const std::vector<JudgedOutput>& outputs;
  const Kernel& kernel;
  const std::vector<BufferBytes>& inputs;
  const std::vector<BufferBytes>& expected;
  int units;
};

// The arguments of one run, and scratch memory, which the body alone is given.
class Buffers {
 public:
  Buffers(const Judgement& judged, int64_t scratch_bytes, Placement placement)
      : inputs_(judged.inputs.size()) {
    for (size_t b = 0; b < judged.inputs.size(); ++b) {
      const BufferBytes& input = judged.inputs[b];
      Add(judged.kernel.arguments[b].name, input.size(), placement);
      if (!input.empty()) std::memcpy(all_[b]->data(), input.data(), input.size());
      all_[b]->ForbidWriting();
    }
    for (const JudgedOutput& output : judged.outputs) {
      Add(output.buffer.name, static_cast<size_t>(output.buffer.size_bytes()), placement);
    }
    Add("its scratch memory", static_cast<size_t>(scratch_bytes), placement);
    // What nothing was written to is no number.
    std::memset(scratch(), 0xFF, static_cast<size_t>(scratch_bytes));
  }

  std::vector<void*> Arguments() const {
    std::vector<void*> arguments;
    for (size_t b = 0; b + 1 < all_.size(); ++b) arguments.push_back(all_[b]->data());
    return arguments;
  }
  void* scratch() const { return all_.back()->data(); }
  const std::byte* output(size_t number) const {
    return reinterpret_cast<const std::byte*>(all_[inputs_ + number]->data());
  }
  const std::vector<NamedBytes>& named() const { return named_; }

 private:
  void Add(const std::string& name, size_t size, Placement placement) {
    all_.push_back(std::make_unique<GuardedBytes>(size, placement));
    named_.push_back({name, all_.back().get()});
  }

  size_t inputs_;
  std::vector<std::unique_ptr<GuardedBytes>> all_;  // inputs, outputs, scratch memory
  std::vector<NamedBytes> named_;
};

// What is wrong with one run, or an empty string.
std::string RunOnce(const Judgement& judged, const LoadedKernel& kernel, int threads,
                    const Buffers& buffers) {
  const int status =
      kernel.Run(threads, buffers.Arguments(), threads > 0 ? buffers.scratch() : nullptr);
  if (status != 0) return absl::StrCat("the entry returned ", status);
  for (const NamedBytes& named : buffers.named()) {
    if (!named.bytes->IsRestIntact()) return absl::StrCat("wrote outside ", named.name);
  }
  for (size_t b = 0; b < judged.outputs.size(); ++b) {
    const JudgedOutput& output = judged.outputs[b];
    const std::string wrong =
        DifferenceOf(output.buffer, buffers.output(b), judged.expected[b].data(), output.contents,
                     std::byte{GuardedBytes::kPoison}, judged.units);
    if (!wrong.empty()) return absl::StrCat(wrong, " (", NameOfRun(threads), ")");
  }
  return "";
}

// Two calls at once, which share the scratch memory that is kept.
class TwoCalls {
 public:
  TwoCalls(const Judgement& judged, const LoadedKernel& kernel) : judged_(judged), kernel_(kernel) {
    for (auto& buffers : buffers_) {
      buffers = std::make_unique<Buffers>(judged, 0, Placement::kAtEnd);
    }
    if (!HasKernelSanitizers()) ReportFaults(&buffers_[0]->named());
  }

  // By threads of this program.
  std::string ByThreads() {
    std::thread other([this] { Call(1); });
    Call(0);
    other.join();
    return Wrong();
  }
  // By threads of the OpenMP runtime that the kernel runs on, inside of a parallel region.
  std::string InParallelRegion(const OpenMpRuntime& openmp) {
    thread_ = openmp.thread;
    const auto call = [](void* self) {
      auto* const calls = static_cast<TwoCalls*>(self);
      calls->Call(calls->thread_());
    };
    openmp.parallel(call, this, 2, 0);
    return Wrong();
  }

 private:
  void Call(int number) { wrong_[number] = RunOnce(judged_, kernel_, kCall, *buffers_[number]); }
  std::string Wrong() const {
    const std::string wrong = wrong_[0] + wrong_[1];
    return wrong.empty() ? "" : absl::StrCat(wrong, ", of two at once");
  }

  const Judgement& judged_;
  const LoadedKernel& kernel_;
  std::unique_ptr<Buffers> buffers_[2];
  std::string wrong_[2];
  int (*thread_)() = nullptr;
};

// The same for all ways to run it, in all kinds of memory that this process has.
std::string RunAll(const Judgement& judged, const LoadedKernel& kernel) {
  std::vector<Placement> placements = {Placement::kAtEnd, Placement::kAtBegin};
  if (HasKernelSanitizers()) placements.push_back(Placement::kHeap);
  for (const Placement placement : placements) {
    for (const int threads : {kEntry, kCall, 1, 3, 7}) {
      const Buffers buffers(judged, threads > 0 ? kernel.scratch_bytes(threads) : 0, placement);
      if (!HasKernelSanitizers()) ReportFaults(&buffers.named());
      const std::string wrong = RunOnce(judged, kernel, threads, buffers);
      if (!wrong.empty()) return wrong;
    }
  }
  return TwoCalls(judged, kernel).ByThreads();
}

// Loads, runs and unloads it, twice.
std::string JudgeLibrary(const Judgement& judged, const std::string& library) {
  for (int n = 0; n < 2; ++n) {
    void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr) return dlerror();
    const LoadedKernel kernel(judged.kernel, loaded);
    if (!kernel.complete()) return "a function is missing";
    // The runtime stays: its threads wait in its code.
    const Result<OpenMpRuntime> openmp = FindOpenMpRuntime();
    Status connected = openmp.status();
    if (connected.ok()) connected = ConnectOpenMp(loaded);
    if (!connected.ok()) return std::string(connected.message());
    const std::string wrong =
        n == 0 ? RunAll(judged, kernel) : TwoCalls(judged, kernel).InParallelRegion(*openmp);
    if (!wrong.empty()) return wrong;
    dlclose(loaded);
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
  // The sanitizers are gcc's, which compiles what is for clang, too.
  const bool is_sanitized = HasKernelSanitizers();
  std::ofstream(stem + ".c") << (is_sanitized ? WithScratchGaps(kernel.source) : kernel.source)
                             << CallSource({.entry = kernel.entry,
                                            .arguments = static_cast<int>(kernel.arguments.size()),
                                            .stages = kernel.stages});
  const bool by_gcc = kernel.compiler == Compiler::kGcc || is_sanitized;
  const std::string command =
      absl::StrCat(by_gcc ? "gcc" : "clang", " -shared -fPIC -w -o ", stem, ".so ", stem, ".c ",
                   absl::StrJoin(kernel.compile_options, " "), " ",
                   is_sanitized ? kSanitizerOptions : "", " 2> ", stem, ".log");
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
    dup2(channel[1], STDERR_FILENO);  // reports of sanitizers
    setenv("OMP_NUM_THREADS", "2", 1);
    setenv("OMP_WAIT_POLICY", "passive", 1);  // others compute at the same time
    const std::string wrong = JudgeLibrary({outputs, kernel, inputs, expected, units}, library);
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
  if (WIFSIGNALED(status)) {
    return absl::InternalError(absl::StrCat("died of signal ", WTERMSIG(status), " ", wrong));
  }
  if (wrong.empty() && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::InternalError(wrong.empty() ? "ended without a result" : wrong);
}

}  // namespace mdh
