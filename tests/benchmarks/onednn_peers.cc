#include <dnnl.hpp>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "tests/benchmarks/peers.h"

namespace mdh {
namespace {

using Tag = dnnl::memory::format_tag;
using Dims = dnnl::memory::dims;
constexpr auto kFloat = dnnl::memory::data_type::f32;

// Primitives with their arguments, executed in turn; shared, because std::function must be
// copyable.
struct Step {
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
};

Peer MakePeer(std::string name, const dnnl::engine& engine, std::vector<Step> given) {
  auto steps = std::make_shared<std::vector<Step>>(std::move(given));
  return {std::move(name), [steps, stream = dnnl::stream(engine)]() mutable {
            for (Step& step : *steps) step.primitive.execute(stream, step.arguments);
            stream.wait();
          }};
}

// oneDNN's reference code is there for completeness and thousands of times slower: no peer.
bool IsReferenceCode(const dnnl::primitive_desc& chosen) {
  return std::string_view(chosen.impl_info_str()).starts_with("ref");
}

void* Mutable(const float* data) { return const_cast<float*>(data); }

int64_t Size(const Bindings& sizes, const std::string& name) {
  const auto found = sizes.find(name);
  return found == sizes.end() ? 1 : std::stoll(found->second);
}

std::vector<Peer> ConvolutionPeers(const Bindings& sizes, const PeerBuffers& buffers) {
  const int64_t n = Size(sizes, "N"), p = Size(sizes, "P"), q = Size(sizes, "Q"),
                k = Size(sizes, "K"), r = Size(sizes, "R"), s = Size(sizes, "S"),
                c = Size(sizes, "C"), stride_h = Size(sizes, "SH"), stride_w = Size(sizes, "SW");
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const dnnl::memory::desc image({n, c, (p - 1) * stride_h + r, (q - 1) * stride_w + s}, kFloat,
                                 Tag::nhwc);
  const dnnl::memory::desc plain_filter({k, c, r, s}, kFloat, Tag::ohwi);
  const dnnl::memory::desc any_filter({k, c, r, s}, kFloat, Tag::any);
  const dnnl::memory::desc result({n, k, p, q}, kFloat, Tag::nhwc);
  const dnnl::convolution_forward::primitive_desc chosen(
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference,
                                      dnnl::algorithm::convolution_direct, image, any_filter,
                                      result, Dims{stride_h, stride_w}, Dims{0, 0}, Dims{0, 0}),
      engine);
  if (IsReferenceCode(chosen)) return {};
  dnnl::memory plain(plain_filter, engine, Mutable(buffers.b));
  dnnl::memory packed(chosen.weights_desc(), engine);
  const Step reorder = {dnnl::reorder(plain, packed),
                        {{DNNL_ARG_FROM, plain}, {DNNL_ARG_TO, packed}}};
  const Step convolution = {dnnl::convolution_forward(chosen),
                            {{DNNL_ARG_SRC, dnnl::memory(image, engine, Mutable(buffers.a))},
                             {DNNL_ARG_WEIGHTS, packed},
                             {DNNL_ARG_DST, dnnl::memory(result, engine, buffers.result)}}};
  MakePeer("reorder", engine, {reorder}).run();
  return {MakePeer("onednn_prepacked", engine, {convolution}),
          MakePeer("onednn_plain", engine, {reorder, convolution})};
}

}  // namespace

std::vector<Peer> OneDnnContractionPeers(const Contraction& given, const PeerBuffers& buffers) {
  const bool transposed = given.i.c == 1 && given.j.c > 1;
  const Contraction shape = transposed ? Transposed(given) : given;
  const float* a_data = transposed ? buffers.b : buffers.a;
  const float* b_data = transposed ? buffers.a : buffers.b;
  const int64_t batch = shape.batch.size, i = shape.i.size, j = shape.j.size, k = shape.k.size;
  if (i == 1 && j == 1) return {};  // a dot product is no use of the matmul primitive
  // A dimension of size 1 may have any stride, but oneDNN wants none to be 0.
  auto stride = [](int64_t stride, int64_t other) { return stride == 0 ? other : stride; };
  const Dims a_strides{stride(shape.batch.a, i * k), stride(shape.i.a, k), stride(shape.k.a, 1)};
  const Dims b_strides{stride(shape.batch.b, j * k), stride(shape.k.b, j), stride(shape.j.b, 1)};
  const Dims c_strides{stride(shape.batch.c, i * j), stride(shape.i.c, j), stride(shape.j.c, 1)};
  const dnnl::memory::desc a({batch, i, k}, kFloat, a_strides);
  const dnnl::memory::desc b({batch, k, j}, kFloat, b_strides);
  const dnnl::memory::desc c({batch, i, j}, kFloat, c_strides);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  try {
    const dnnl::matmul::primitive_desc chosen(dnnl::matmul::desc(a, b, c), engine);
    if (IsReferenceCode(chosen)) return {};
    const Step matmul = {dnnl::matmul(chosen),
                         {{DNNL_ARG_SRC, dnnl::memory(a, engine, Mutable(a_data))},
                          {DNNL_ARG_WEIGHTS, dnnl::memory(b, engine, Mutable(b_data))},
                          {DNNL_ARG_DST, dnnl::memory(c, engine, buffers.result)}}};
    return {MakePeer("onednn_matmul", engine, {matmul})};
  } catch (const dnnl::error&) {
    return {};  // it has no implementation for these strides
  }
}

std::vector<Peer> OneDnnConvolutionPeers(const Bindings& sizes, const PeerBuffers& buffers) {
  try {
    return ConvolutionPeers(sizes, buffers);
  } catch (const dnnl::error&) {
    return {};  // it has no implementation for these layouts
  }
}

}  // namespace mdh
