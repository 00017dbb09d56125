#include <dnnl.hpp>
#include <memory>
#include <unordered_map>
#include <utility>

#include "tests/benchmarks/peers.h"

namespace mdh {
namespace {

using Tag = dnnl::memory::format_tag;
using Dims = dnnl::memory::dims;
constexpr auto kFloat = dnnl::memory::data_type::f32;

// A primitive with its arguments bound; shared, because std::function must be copyable.
struct BoundPrimitive {
  dnnl::stream stream;
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
};

Peer MakePeer(std::string name, const dnnl::engine& engine, const dnnl::primitive& primitive,
              std::unordered_map<int, dnnl::memory> arguments) {
  auto bound = std::make_shared<BoundPrimitive>(
      BoundPrimitive{dnnl::stream(engine), primitive, std::move(arguments)});
  return {std::move(name), [bound] {
            bound->primitive.execute(bound->stream, bound->arguments);
            bound->stream.wait();
          }};
}

void* Mutable(const float* data) { return const_cast<float*>(data); }

int64_t Size(const Bindings& sizes, const std::string& name) {
  const auto found = sizes.find(name);
  return found == sizes.end() ? 1 : std::stoll(found->second);
}

// `weights_tag`: the layout of the filter in the timed calls; any: what oneDNN likes best.
Peer ConvolutionPeer(const std::string& name, const Bindings& sizes, Tag weights_tag,
                     const PeerBuffers& buffers) {
  const int64_t n = Size(sizes, "N"), p = Size(sizes, "P"), q = Size(sizes, "Q"),
                k = Size(sizes, "K"), r = Size(sizes, "R"), s = Size(sizes, "S"),
                c = Size(sizes, "C"), stride_h = Size(sizes, "SH"), stride_w = Size(sizes, "SW");
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const dnnl::memory::desc image({n, c, (p - 1) * stride_h + r, (q - 1) * stride_w + s}, kFloat,
                                 Tag::nhwc);
  const dnnl::memory::desc plain_filter({k, c, r, s}, kFloat, Tag::ohwi);
  const dnnl::memory::desc filter({k, c, r, s}, kFloat, weights_tag);
  const dnnl::memory::desc result({n, k, p, q}, kFloat, Tag::nhwc);
  const dnnl::convolution_forward::primitive_desc chosen(
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference,
                                      dnnl::algorithm::convolution_direct, image, filter, result,
                                      Dims{stride_h, stride_w}, Dims{0, 0}, Dims{0, 0}),
      engine);
  dnnl::memory weights(plain_filter, engine, Mutable(buffers.b));
  if (chosen.weights_desc() != plain_filter) {
    dnnl::memory packed(chosen.weights_desc(), engine);
    dnnl::stream stream(engine);
    dnnl::reorder(weights, packed).execute(stream, weights, packed);
    stream.wait();
    weights = packed;
  }
  return MakePeer(name, engine, dnnl::convolution_forward(chosen),
                  {{DNNL_ARG_SRC, dnnl::memory(image, engine, Mutable(buffers.a))},
                   {DNNL_ARG_WEIGHTS, weights},
                   {DNNL_ARG_DST, dnnl::memory(result, engine, buffers.result)}});
}

}  // namespace

std::vector<Peer> OneDnnContractionPeers(const Contraction& shape, const PeerBuffers& buffers) {
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
    return {MakePeer("onednn_matmul", engine, dnnl::matmul(chosen),
                     {{DNNL_ARG_SRC, dnnl::memory(a, engine, Mutable(buffers.a))},
                      {DNNL_ARG_WEIGHTS, dnnl::memory(b, engine, Mutable(buffers.b))},
                      {DNNL_ARG_DST, dnnl::memory(c, engine, buffers.result)}})};
  } catch (const dnnl::error&) {
    return {};  // it has no implementation for these strides
  }
}

std::vector<Peer> OneDnnConvolutionPeers(const Bindings& sizes, const PeerBuffers& buffers) {
  std::vector<Peer> peers;
  const std::pair<const char*, Tag> variants[] = {{"onednn_prepacked", Tag::any},
                                                  {"onednn_plain", Tag::ohwi}};
  for (const auto& [name, weights_tag] : variants) {
    try {
      peers.push_back(ConvolutionPeer(name, sizes, weights_tag, buffers));
    } catch (const dnnl::error&) {
      continue;  // it has no implementation for this layout
    }
  }
  return peers;
}

}  // namespace mdh
