// Other libraries that compute what a case computes, on the same data and with all cores.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/expression/expression.h"
#include "tests/benchmarks/benchmark_case.h"

namespace mdh {

// What a peer reads and writes: dense fp32 buffers in the layout of the expression. They must
// outlive the peer.
struct PeerBuffers {
  const float* a;
  const float* b;
  float* result;
};

struct Peer {
  std::string name;
  std::function<void()> run;
};

// c[batch,i,j] = sum over k of a[batch,i,k] * b[batch,k,j] with element strides; an absent
// dimension has size 1 and stride 0.
struct Contraction {
  struct Dimension {
    int64_t size = 1;
    int64_t a = 0, b = 0, c = 0;  // strides in the three buffers
  };
  Dimension batch, i, j, k;
};

// The expression as a contraction of two fp32 buffers with at most one dimension of each kind;
// nullopt if it is none. Looks at views and combine operators; that f multiplies is the caller's
// business.
std::optional<Contraction> AsContraction(const Expression& expression);

// The same computation as c^T = b^T a^T: the two inputs change places.
Contraction Transposed(const Contraction& contraction);

// Each gives every way that its library offers; none if it has none for the case.
std::vector<Peer> OpenBlasPeers(const Contraction& contraction, const PeerBuffers& buffers);
std::vector<Peer> BlisPeers(const Contraction& contraction, const PeerBuffers& buffers);
// Blocks of the result by kernels that libxsmm generates, shared by all threads.
std::vector<Peer> LibxsmmPeers(const Contraction& contraction, const PeerBuffers& buffers);
std::vector<Peer> OneDnnContractionPeers(const Contraction& contraction,
                                         const PeerBuffers& buffers);
// Of two plain fp32 buffers with any number of dimensions of each kind, batches apart: transposes
// both to matrices, multiplies, and transposes the product.
std::vector<Peer> TransposingPeers(const Expression& expression, const PeerBuffers& buffers);
// For mcc.mdh (image NHWC, filter KRSC, result NPQK; parameters N P Q K R S C SH SW) and conv2d.mdh
// (the same with N = K = C = SH = SW = 1). `onednn_prepacked` keeps the filter in the layout that
// oneDNN likes best, reordered once, outside the timed calls; `onednn_plain` takes it as it is, so
// every call reorders it. (Convolving with the plain layout itself is left to oneDNN's reference
// code, which takes seconds.)
std::vector<Peer> OneDnnConvolutionPeers(const Bindings& sizes, const PeerBuffers& buffers);

}  // namespace mdh
