#include "tuner/device/cuda/cuda_graph.h"

#include <utility>

namespace mdh {

bool HasGraphs(const CudaFunctions& f) {
  return f.StreamCreate != nullptr && f.StreamDestroy != nullptr &&
         f.StreamBeginCapture != nullptr && f.StreamEndCapture != nullptr &&
         f.GraphInstantiate != nullptr && f.GraphUpload != nullptr && f.GraphLaunch != nullptr &&
         f.GraphDestroy != nullptr && f.GraphExecDestroy != nullptr;
}

CudaStream::~CudaStream() {
  if (handle_ != nullptr) functions_.StreamDestroy(handle_);
}

Status CudaStream::Open() {
  if (handle_ != nullptr || !HasGraphs(functions_)) return absl::OkStatus();
  return CheckCuda(functions_, "cuStreamCreate", functions_.StreamCreate(&handle_, 0));
}

Status CudaGraph::Record(const CudaStream& stream, const std::function<Status()>& launch) {
  Clear();
  MDH_RETURN_IF_ERROR(
      CheckCuda(functions_, "cuStreamBeginCapture",
                functions_.StreamBeginCapture(stream.handle(), cuda::kCaptureOfThread)));
  const Status launched = launch();
  // Also ends a capture that failed, which nothing else does.
  void* graph = nullptr;
  Status status = CheckCuda(functions_, "cuStreamEndCapture",
                            functions_.StreamEndCapture(stream.handle(), &graph));
  if (!launched.ok()) status = launched;
  if (status.ok()) {
    status = CheckCuda(functions_, "cuGraphInstantiateWithFlags",
                       functions_.GraphInstantiate(&executable_, graph, 0));
  }
  if (graph != nullptr) functions_.GraphDestroy(graph);
  // The first start would pay for it otherwise.
  if (status.ok()) {
    status = CheckCuda(functions_, "cuGraphUpload",
                       functions_.GraphUpload(executable_, stream.handle()));
  }
  if (!status.ok()) Clear();
  return status;
}

Status CudaGraph::Launch(const CudaStream& stream) const {
  return CheckCuda(functions_, "cuGraphLaunch",
                   functions_.GraphLaunch(executable_, stream.handle()));
}

void CudaGraph::Clear() {
  if (void* const executable = std::exchange(executable_, nullptr); executable != nullptr) {
    functions_.GraphExecDestroy(executable);
  }
}

}  // namespace mdh
