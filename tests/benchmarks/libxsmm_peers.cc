// libxsmm: generated kernels for blocks of the result, which the threads share.
#include <libxsmm.h>
#include <omp.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tests/benchmarks/peers.h"

namespace mdh {
namespace {

// One kernel per extents of a block and per whether it adds to the result. libxsmm's matrices are
// column-major, so what it multiplies is c^T = b^T a^T.
class BlockKernels {
 public:
  struct Extents {
    int64_t i, j, k;
    bool adds;
    auto operator<=>(const Extents&) const = default;
  };

  // False if libxsmm has no kernel for these.
  bool Add(const Extents& extents, const Contraction& shape) {
    const auto lda = static_cast<libxsmm_blasint>(shape.k.b),
               ldb = static_cast<libxsmm_blasint>(shape.i.a),
               ldc = static_cast<libxsmm_blasint>(shape.i.c);
    const float alpha = 1, beta = extents.adds ? 1 : 0;
    const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
    const libxsmm_smmfunction kernel = libxsmm_smmdispatch(
        static_cast<libxsmm_blasint>(extents.j), static_cast<libxsmm_blasint>(extents.i),
        static_cast<libxsmm_blasint>(extents.k), &lda, &ldb, &ldc, &alpha, &beta, &flags,
        &prefetch);
    kernels_[extents] = kernel;
    return kernel != nullptr;
  }
  void Run(const Extents& extents, const float* a, const float* b, float* c) const {
    kernels_.at(extents)(b, a, c);
  }

 private:
  std::map<Extents, libxsmm_smmfunction> kernels_;
};

int64_t CeilDiv(int64_t n, int64_t by) { return (n + by - 1) / by; }

// The whole reduction at once and one piece of every row per thread where that is little work, else
// blocks that fit into the second-level cache.
struct Blocking {
  int64_t i, j, k;

  static Blocking Of(const Contraction& shape) {
    constexpr int64_t kLittle = 1 << 22, kVector = 16;
    const int64_t work = shape.i.size * shape.j.size * shape.k.size;
    if (work <= kLittle && shape.batch.size > 1) {
      return {shape.i.size, shape.j.size, shape.k.size};
    }
    if (work <= kLittle) {
      const int64_t piece = CeilDiv(shape.j.size, omp_get_max_threads());
      return {shape.i.size, CeilDiv(piece, kVector) * kVector, shape.k.size};
    }
    return {std::min<int64_t>(shape.i.size, 96), std::min<int64_t>(shape.j.size, 64),
            std::min<int64_t>(shape.k.size, 256)};
  }
};

struct Plan {
  Contraction shape;
  Blocking block;
  BlockKernels kernels;

  BlockKernels::Extents ExtentsAt(int64_t i, int64_t j, int64_t k) const {
    return {std::min(block.i, shape.i.size - i), std::min(block.j, shape.j.size - j),
            std::min(block.k, shape.k.size - k), k > 0};
  }
  // False if a kernel is missing.
  bool AddKernels() {
    // The first, the second and the last block of every dimension have all extents that there are.
    auto firsts = [](int64_t size, int64_t extent) {
      const int64_t last = (CeilDiv(size, extent) - 1) * extent;
      return std::vector<int64_t>{0, std::min(extent, last), last};
    };
    for (const int64_t i : firsts(shape.i.size, block.i)) {
      for (const int64_t j : firsts(shape.j.size, block.j)) {
        for (const int64_t k : firsts(shape.k.size, block.k)) {
          if (!kernels.Add(ExtentsAt(i, j, k), shape)) return false;
        }
      }
    }
    return true;
  }
  void Run(const PeerBuffers& buffers) const {
    const int64_t rows = CeilDiv(shape.i.size, block.i), columns = CeilDiv(shape.j.size, block.j);
    const int64_t blocks = shape.batch.size * rows * columns;
#pragma omp parallel for
    for (int64_t n = 0; n < blocks; ++n) {
      const int64_t batch = n / (rows * columns);
      const int64_t j = n / rows % columns * block.j, i = n % rows * block.i;
      const float* a = buffers.a + batch * shape.batch.a + i * shape.i.a;
      const float* b = buffers.b + batch * shape.batch.b + j;
      float* c = buffers.result + batch * shape.batch.c + i * shape.i.c + j;
      for (int64_t k = 0; k < shape.k.size; k += block.k) {
        kernels.Run(ExtentsAt(i, j, k), a + k, b + k * shape.k.b, c);
      }
    }
  }
};

}  // namespace

std::vector<Peer> LibxsmmPeers(const Contraction& contraction, const PeerBuffers& buffers) {
  // It has kernels for rows of unit stride only.
  if (contraction.k.a != 1 || contraction.j.b != 1 || contraction.j.c != 1) return {};
  if (contraction.i.size == 1) return {};
  Plan plan = {contraction, Blocking::Of(contraction), {}};
  if (!plan.AddKernels()) return {};
  return {{"libxsmm", [plan = std::move(plan), buffers] { plan.Run(buffers); }}};
}

}  // namespace mdh
