// How a program calls a generated kernel in C: on the threads of whichever OpenMP runtime it has,
// so that the kernel's code need not be compiled for one of them by the compiler that goes with it.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"

namespace mdh {

struct KernelCall {
  std::string entry;  // of the kernel
  int arguments = 0;  // inputs and outputs
  int stages = 0;     // 0: the entry function runs them
  // Whether what is called with has scratch memory behind the arguments. Else it is allocated, and
  // kept from call to call.
  bool has_scratch = false;
};

// C source to append to a kernel's, so that kernels with any number of arguments can be called:
//   int mdh_call(void* const* a);                what the entry function gives; thread-safe
//   struct { ... } mdh_call_openmp;              to be set to an OpenMpRuntime before, if it is
//   there
// Kernels on the calling thread alone (MDH_MOST_THREADS in their source) do not have the latter.
// Others run their stages by mdh_call_openmp.
std::string CallSource(const KernelCall& call);

// Options for compiling a kernel together with CallSource: those without -fopenmp, if the call has
// stages.
std::vector<std::string> CallOptions(const KernelCall& call, std::vector<std::string> options);

// Entry points of an OpenMP runtime, under the names that GNU's, LLVM's and Intel's all have. As
// mdh_call_openmp lies in memory.
struct OpenMpRuntime {
  void (*parallel)(void (*task)(void*), void* data, unsigned threads, unsigned flags) = nullptr;
  void (*barrier)() = nullptr;
  int (*most_threads)() = nullptr;
  int (*threads)() = nullptr;
  int (*thread)() = nullptr;
};

// Of the runtime that this process has loaded already, so that there are no threads of another one
// that take each other's cores: both go on to look for work for a while (LLVM's for 200 ms). If
// there is none, GNU's or else LLVM's is loaded, and stays. Errors: FailedPrecondition if there is
// none.
Result<OpenMpRuntime> FindOpenMpRuntime();

// How many threads on cores of their own that runtime gives a kernel here: less than there are
// cores where OMP_NUM_THREADS, OMP_THREAD_LIMIT, OMP_PLACES, GOMP_CPU_AFFINITY or the like say so.
// Errors: as FindOpenMpRuntime.
Result<int> ThreadsOfOpenMp();

// Sets mdh_call_openmp in a loaded library (of dlopen) whose names end with `suffix`, if it has it.
// Errors: as FindOpenMpRuntime.
Status ConnectOpenMp(void* library, const std::string& suffix = "");

}  // namespace mdh
