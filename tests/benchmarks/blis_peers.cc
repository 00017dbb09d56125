// BLIS through its typed interface, which takes any strides.
#include <blis.h>

#include <algorithm>
#include <utility>

#include "tests/benchmarks/peers.h"

namespace mdh {
namespace {

float* Mutable(const float* data) { return const_cast<float*>(data); }

void Multiply(const Contraction& shape, const PeerBuffers& buffers) {
  float one = 1, zero = 0;
  bli_sgemm(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, shape.i.size, shape.j.size, shape.k.size, &one,
            Mutable(buffers.a), shape.i.a, shape.k.a, Mutable(buffers.b), shape.k.b, shape.j.b,
            &zero, buffers.result, shape.i.c, shape.j.c);
}

}  // namespace

std::vector<Peer> BlisPeers(const Contraction& given, const PeerBuffers& buffers) {
  Contraction shape = given;
  // Strides of dimensions of size 1 say nothing, but BLIS wants them to be plausible.
  for (Contraction::Dimension* one : {&shape.i, &shape.j, &shape.k}) {
    if (one->size == 1)
      *one = {1, std::max<int64_t>(one->a, 1), std::max<int64_t>(one->b, 1),
              std::max<int64_t>(one->c, 1)};
  }
  // Products of a matrix and a vector, or of two vectors, run on one thread there.
  if (shape.i.size == 1 || shape.j.size == 1) return {};
  return {{"blis_gemm", [shape, buffers] {
             for (int64_t n = 0; n < shape.batch.size; ++n) {
               Multiply(shape, {buffers.a + n * shape.batch.a, buffers.b + n * shape.batch.b,
                                buffers.result + n * shape.batch.c});
             }
           }}};
}

}  // namespace mdh
