// Launches that are recorded once and started as a whole (CUDA graphs): the device then waits for
// none of them to be submitted, so that even kernels of a microsecond follow one another at once.
#pragma once

#include <functional>

#include "core/base/status.h"
#include "tuner/device/cuda/cuda_functions.h"

namespace mdh {

// A stream that waits for the default stream's work, and that the default stream waits for. Where
// the driver has no graphs, it is the default stream itself. Bound to the context that was current.
class CudaStream {
 public:
  // `functions` must outlive the stream.
  explicit CudaStream(const CudaFunctions& functions) : functions_(functions) {}
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  // Errors: as CheckCuda.
  Status Open();
  void* handle() const { return handle_; }

 private:
  const CudaFunctions& functions_;
  void* handle_ = nullptr;
};

// Whether the driver records launches: CUDA 11.4 and later.
bool HasGraphs(const CudaFunctions& functions);

// What was recorded. May be replaced by another recording.
class CudaGraph {
 public:
  // `functions` must outlive the graph.
  explicit CudaGraph(const CudaFunctions& functions) : functions_(functions) {}
  ~CudaGraph() { Clear(); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  // Records what `launch` starts in the stream, which is not the default stream, instead of
  // starting it; arguments keep the values that they have now. Errors: those of `launch`; as
  // CheckCuda if something cannot be recorded. Then nothing is recorded, and the stream is as
  // before.
  Status Record(const CudaStream& stream, const std::function<Status()>& launch);
  bool is_recorded() const { return executable_ != nullptr; }
  // Does not wait for the end. Errors: as CheckCuda.
  Status Launch(const CudaStream& stream) const;
  // Forgets what was recorded: before its functions are unloaded.
  void Clear();

 private:
  const CudaFunctions& functions_;
  void* executable_ = nullptr;
};

}  // namespace mdh
