#include "codegen/lower/tiles/finite_flag.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr int kChains = 4;  // of additions that do not wait for each other

}  // namespace

// Zero times what is finite is zero, and so are their sums.
Block DeclareFinite(const std::string& name, const std::string& pointer, const Buffer& buffer,
                    int lanes) {
  const ScalarType scalar = buffer.type.scalar();
  const int64_t elements = buffer.elements();
  Block block = {{DeclareFlag{name, {}, /*is_mutable=*/true}}};
  const auto add = [&](int width, int count, int64_t begin) {
    const LoopValueType type{scalar, width};
    const std::string at = absl::StrCat("at", width > 1 ? 0 : 1);
    Block loop;
    LoopValue all;
    for (int n = 0; n < count; ++n) {
      const std::string sum = absl::StrCat("total", width > 1 ? n : kChains);
      const LoopValue zero = MakeSplat(MakeLiteral(ScalarValue::Zero(scalar)), width);
      const LoopValue element =
          MakeLoad(pointer, Index::Variable(at) + Index(int64_t{n} * width), type, 1);
      const LoopValue product = MakeOperation(ScalarOp::kMul, scalar, {element, zero});
      const LoopValue own = MakeNamed(sum, type);
      block.push_back({DeclareValue{sum, zero, /*is_mutable=*/true}});
      loop.push_back({Assign{sum, MakeOperation(ScalarOp::kAdd, scalar, {own, product})}});
      all = n == 0 ? own : MakeOperation(ScalarOp::kAdd, scalar, {all, own});
    }
    block.push_back({For{at, Index(begin), Index(elements), int64_t{count} * width, true,
                         ShareBlock(std::move(loop))}});
    block.push_back({IfAny{MakeOperation(ScalarOp::kNe, ScalarType::kBool, {all, all}),
                           ShareBlock({{ClearFlag{name}}})}});
  };
  const int64_t together = int64_t{kChains} * lanes;
  const int64_t whole = lanes > 1 ? elements / together * together : 0;
  if (whole > 0) add(lanes, kChains, 0);
  if (whole < elements) add(1, 1, whole);
  return block;
}

}  // namespace mdh
