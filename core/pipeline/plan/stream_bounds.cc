#include "core/pipeline/plan/stream_bounds.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/pipeline/plan/joint_uses.h"

namespace mdh {
namespace {

class BoundFinder {
 public:
  BoundFinder(const Pipeline& pipeline, const JointGroup& group, const ScaledSums& sums)
      : pipeline_(pipeline), group_(group), sums_(sums) {}

  std::vector<StreamBound> Run() {
    if (sums_.reference < 0 || WantsAll()) return {};
    const Expression& e = ExpressionOf(sums_.reference);
    neutral_ = (*e.reduction().identity())[0].as_double();
    OfValue(sums_.reference, e.function(), /*is_store=*/false,
            e.function().result_instructions()[0]);
    return std::move(bounds_);
  }

 private:
  const Expression& ExpressionOf(int s) const { return pipeline_.steps()[s].expression; }
  int Streamed(int s) const { return group_.streamed[s - group_.first]; }

  bool WantsAll() const {
    for (int s = group_.first; s <= group_.last; ++s) {
      if (Streamed(s) < 0) continue;
      if (ExpressionOf(s).is_reduction(Streamed(s))) {
        if (s != sums_.reference && !sums_.is_scaled[s - group_.first]) return true;
        continue;
      }
      for (const int b : pipeline_.steps()[s].outputs) {
        if (pipeline_.buffers()[b].role != PipelineBuffer::Role::kTemporary) return true;
        if (pipeline_.Readers(b).back() > group_.last) return true;
      }
    }
    return false;
  }

  // Of instruction `n` of f of the step, or of its store function.
  void OfValue(int s, const ScalarFunction& f, bool is_store, int n) {
    const ScalarInstruction& value = f.instructions()[n];
    const auto is_neutral = [&](int operand) {
      const ScalarInstruction& constant = f.instructions()[operand];
      return constant.op == ScalarOp::kConstant && constant.constant.as_double() == neutral_;
    };
    if (value.op == ScalarOp::kCast) return OfValue(s, f, is_store, value.operands[0]);
    if (value.op == ScalarOp::kSelect) {
      for (const bool holds : {true, false}) {
        if (!is_neutral(value.operands[holds ? 2 : 1])) continue;
        OfCondition(s, f, is_store, value.operands[0], holds);
        return OfValue(s, f, is_store, value.operands[holds ? 1 : 2]);
      }
    }
    if (value.op != ScalarOp::kParameter) return;
    const Expression& e = ExpressionOf(s);
    if (!is_store && !e.is_index(value.parameter)) {
      const Expression::AccessRef access = e.input_access(value.parameter);
      return OfBuffer(s, e.inputs()[access.buffer], pipeline_.steps()[s].inputs[access.buffer]);
    }
    if (is_store && !e.has_reduction() &&
        e.store_parameter(value.parameter) == Expression::StoreParameter::kResult) {
      OfValue(s, e.function(), false, e.function().result_instructions()[value.parameter]);
    }
  }

  // What the step reads for a point another one has written for the same point of all common
  // dimensions (CheckJointGroup) and of the streamed one (StreamedStepsOf).
  void OfBuffer(int s, const Buffer& view, int buffer) {
    const int writer = pipeline_.writer(buffer);
    if (writer < group_.first || writer > group_.last || Streamed(writer) < 0) return;
    const Expression& e = ExpressionOf(writer);
    const bool is_plain = view.accesses.size() == 1 && e.stored().size() == 1 &&
                          view.extents.size() == group_.part.size() + 1 && Streamed(s) >= 0 &&
                          !e.is_reduction(Streamed(writer));
    if (!is_plain) return;
    if (e.store() != nullptr) {
      const ScalarFunction& store = e.store()->function;
      return OfValue(writer, store, true, store.result_instructions()[0]);
    }
    if (!e.has_reduction()) {
      OfValue(writer, e.function(), false, e.function().result_instructions()[0]);
    }
  }

  // Where condition `n` holds, or does not.
  void OfCondition(int s, const ScalarFunction& f, bool is_store, int n, bool holds) {
    const ScalarInstruction& value = f.instructions()[n];
    const auto both = [&] {
      for (const int operand : value.operands) OfCondition(s, f, is_store, operand, holds);
    };
    // left - right >= least.
    const auto add = [&](int left, int right, int64_t least) {
      const auto a = OfIndex(s, f, is_store, value.operands[left]),
                 b = OfIndex(s, f, is_store, value.operands[right]);
      if (!a || !b) return;
      StreamBound bound = *a;
      for (size_t k = 0; k < bound.coefficients.size(); ++k) {
        bound.coefficients[k] -= b->coefficients[k];
      }
      bound.streamed -= b->streamed;
      bound.constant -= b->constant + least;
      if (bound.streamed != 0) bounds_.push_back(std::move(bound));
    };
    switch (value.op) {
      case ScalarOp::kNot:
        return OfCondition(s, f, is_store, value.operands[0], !holds);
      case ScalarOp::kAnd:
        if (holds) both();
        return;
      case ScalarOp::kOr:
        if (!holds) both();
        return;
      case ScalarOp::kLt:
        return holds ? add(1, 0, 1) : add(0, 1, 0);
      case ScalarOp::kLe:
        return holds ? add(1, 0, 0) : add(0, 1, 1);
      case ScalarOp::kGt:
        return holds ? add(0, 1, 1) : add(1, 0, 0);
      case ScalarOp::kGe:
        return holds ? add(0, 1, 0) : add(1, 0, 1);
      default:
        return;
    }
  }

  // An integer as an affine function of the common and the streamed indices.
  std::optional<StreamBound> OfIndex(int s, const ScalarFunction& f, bool is_store, int n) const {
    constexpr int64_t kMost = int64_t{1} << 40;
    const ScalarInstruction& value = f.instructions()[n];
    if (value.type != ScalarType::kInt64) return std::nullopt;
    StreamBound own{std::vector<int64_t>(group_.part.size(), 0)};
    const auto operand = [&](int k) { return OfIndex(s, f, is_store, value.operands[k]); };
    switch (value.op) {
      case ScalarOp::kConstant:
        own.constant = value.constant.as_int64();
        if (own.constant > kMost || own.constant < -kMost) return std::nullopt;
        return own;
      case ScalarOp::kParameter: {
        const int d = IndexDimension(s, is_store, value.parameter);
        const std::vector<int>& common = group_.dimensions[s - group_.first];
        const auto found = std::ranges::find(common, d);
        if (d >= 0 && d == Streamed(s)) {
          own.streamed = 1;
        } else if (d >= 0 && found != common.end()) {
          own.coefficients[found - common.begin()] = 1;
        } else {
          return std::nullopt;
        }
        return own;
      }
      case ScalarOp::kAdd:
      case ScalarOp::kSub: {
        const auto a = operand(0), b = operand(1);
        if (!a || !b) return std::nullopt;
        return Sum(*a, *b, value.op == ScalarOp::kAdd ? 1 : -1);
      }
      case ScalarOp::kNeg: {
        const auto a = operand(0);
        if (!a) return std::nullopt;
        return Sum(own, *a, -1);
      }
      case ScalarOp::kMul: {
        const auto a = operand(0), b = operand(1);
        if (!a || !b) return std::nullopt;
        if (IsConstant(*b)) return Times(*a, b->constant);
        return IsConstant(*a) ? Times(*b, a->constant) : std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  // -1: the parameter is no index.
  int IndexDimension(int s, bool is_store, int parameter) const {
    const Expression& e = ExpressionOf(s);
    if (!is_store) return e.is_index(parameter) ? e.index_dimension(parameter) : -1;
    const bool is_index = e.store_parameter(parameter) == Expression::StoreParameter::kIndex;
    return is_index ? e.store_index_dimension(parameter) : -1;
  }

  static bool IsConstant(const StreamBound& a) {
    return a.streamed == 0 && std::ranges::all_of(a.coefficients, [](int64_t c) { return c == 0; });
  }
  static StreamBound Sum(StreamBound a, const StreamBound& b, int64_t sign) {
    for (size_t k = 0; k < a.coefficients.size(); ++k) {
      a.coefficients[k] += sign * b.coefficients[k];
    }
    a.streamed += sign * b.streamed;
    a.constant += sign * b.constant;
    return a;
  }
  // nullopt: too large.
  static std::optional<StreamBound> Times(StreamBound a, int64_t factor) {
    constexpr int64_t kMostFactor = int64_t{1} << 20;
    if (factor > kMostFactor || factor < -kMostFactor) return std::nullopt;
    for (int64_t& c : a.coefficients) c *= factor;
    a.streamed *= factor;
    a.constant *= factor;
    return a;
  }

  const Pipeline& pipeline_;
  const JointGroup& group_;
  const ScaledSums& sums_;
  double neutral_ = 0;
  std::vector<StreamBound> bounds_;
};

}  // namespace

std::vector<StreamBound> StreamBoundsOf(const Pipeline& pipeline, const JointGroup& group,
                                        const ScaledSums& sums) {
  return BoundFinder(pipeline, group, sums).Run();
}

}  // namespace mdh
