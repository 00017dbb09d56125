#include <cblas.h>

#include <algorithm>
#include <utility>

#include "tests/benchmarks/peers.h"

namespace mdh {
namespace {

// A matrix as the BLAS sees it: rows by columns, row-major with a leading dimension, or transposed.
struct BlasMatrix {
  CBLAS_TRANSPOSE transpose;
  blasint leading;
};

// Strides of a row and of a column; one of them must be 1 (or irrelevant, where a size is 1).
std::optional<BlasMatrix> AsBlasMatrix(int64_t rows, int64_t row_stride, int64_t columns,
                                       int64_t column_stride) {
  if (column_stride == 1 || columns == 1) {
    return BlasMatrix{CblasNoTrans, static_cast<blasint>(std::max(row_stride, columns))};
  }
  if (row_stride == 1 || rows == 1) {
    return BlasMatrix{CblasTrans, static_cast<blasint>(std::max(column_stride, rows))};
  }
  return std::nullopt;
}

struct Gemm {
  BlasMatrix a, b;
  blasint m, n, k, ldc;

  void Run(const float* a_data, const float* b_data, float* c_data) const {
    cblas_sgemm(CblasRowMajor, a.transpose, b.transpose, m, n, k, 1.0f, a_data, a.leading, b_data,
                b.leading, 0.0f, c_data, ldc);
  }
};

std::optional<Gemm> AsGemm(const Contraction& shape) {
  const auto a = AsBlasMatrix(shape.i.size, shape.i.a, shape.k.size, shape.k.a);
  const auto b = AsBlasMatrix(shape.k.size, shape.k.b, shape.j.size, shape.j.b);
  if (!a.has_value() || !b.has_value() || (shape.j.c != 1 && shape.j.size != 1)) {
    return std::nullopt;
  }
  return Gemm{*a,
              *b,
              static_cast<blasint>(shape.i.size),
              static_cast<blasint>(shape.j.size),
              static_cast<blasint>(shape.k.size),
              static_cast<blasint>(std::max(shape.i.c, shape.j.size))};
}

// With j of size 1: c = a * vector b.
std::optional<Peer> GemvPeer(const Contraction& shape, const PeerBuffers& buffers) {
  const auto a = AsBlasMatrix(shape.i.size, shape.i.a, shape.k.size, shape.k.a);
  if (!a.has_value()) return std::nullopt;
  const bool plain = a->transpose == CblasNoTrans;
  const auto rows = static_cast<blasint>(plain ? shape.i.size : shape.k.size);
  const auto columns = static_cast<blasint>(plain ? shape.k.size : shape.i.size);
  return Peer{"openblas_gemv", [=, matrix = *a] {
                cblas_sgemv(CblasRowMajor, matrix.transpose, rows, columns, 1.0f, buffers.a,
                            matrix.leading, buffers.b, static_cast<blasint>(shape.k.b), 0.0f,
                            buffers.result, static_cast<blasint>(shape.i.c));
              }};
}

Peer DotPeer(const Contraction& shape, const PeerBuffers& buffers) {
  return {"openblas_dot", [=] {
            *buffers.result = cblas_sdot(static_cast<blasint>(shape.k.size), buffers.a,
                                         static_cast<blasint>(shape.k.a), buffers.b,
                                         static_cast<blasint>(shape.k.b));
          }};
}

// Batches one after another with all threads each, and side by side with one thread each: OpenBLAS
// uses one thread inside a parallel region.
std::vector<Peer> BatchPeers(const Contraction& shape, const Gemm& gemm,
                             const PeerBuffers& buffers) {
  const Contraction::Dimension batch = shape.batch;
  auto one = [=](int64_t n) {
    gemm.Run(buffers.a + n * batch.a, buffers.b + n * batch.b, buffers.result + n * batch.c);
  };
  Peer in_turn{"openblas_gemm_in_turn", [=] {
                 for (int64_t n = 0; n < batch.size; ++n) one(n);
               }};
  Peer side_by_side{"openblas_gemm_side_by_side", [=] {
#pragma omp parallel for
                      for (int64_t n = 0; n < batch.size; ++n) one(n);
                    }};
  return {in_turn, side_by_side};
}

}  // namespace

std::vector<Peer> OpenBlasPeers(const Contraction& contraction, const PeerBuffers& given) {
  Contraction shape = contraction;
  PeerBuffers buffers = given;
  const bool one_row = shape.i.size == 1 && shape.j.size != 1;
  if (one_row || (!AsGemm(shape).has_value() && AsGemm(Transposed(shape)).has_value())) {
    shape = Transposed(shape);
    std::swap(buffers.a, buffers.b);
  }
  if (shape.batch.size == 1 && shape.j.size == 1 && shape.i.size == 1) {
    return {DotPeer(shape, buffers)};
  }
  if (shape.batch.size == 1 && shape.j.size == 1) {
    const std::optional<Peer> peer = GemvPeer(shape, buffers);
    return peer.has_value() ? std::vector<Peer>{*peer} : std::vector<Peer>{};
  }
  const std::optional<Gemm> gemm = AsGemm(shape);
  if (!gemm.has_value()) return {};
  if (shape.batch.size > 1) return BatchPeers(shape, *gemm, buffers);
  return {{"openblas_gemm",
           [gemm = *gemm, buffers] { gemm.Run(buffers.a, buffers.b, buffers.result); }}};
}

}  // namespace mdh
