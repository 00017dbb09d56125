#include "core/decomposition/unit_tensor.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

using Along = TensorDimension::Along;
constexpr int64_t kTensorAlignmentBytes = 16;
constexpr int64_t kRowsAlike = 8;                       // that are swizzled alike
constexpr int64_t kMostCoordinate = int64_t{1} << 31;   // of coordinates
constexpr int64_t kMostStrideBytes = int64_t{1} << 40;  // and one byte less

// The dimensions of a composite, the innermost one first: neighbours along which elements are
// equally far from each other are one.
std::vector<TensorDimension> DimensionsAlong(const Expression& e, Along along,
                                             const std::vector<int>& composite,
                                             const AffineIndex& offset) {
  std::vector<TensorDimension> found;
  int64_t inner = 1;
  for (size_t x = composite.size(); x-- > 0;) {
    const int64_t size = e.dimensions()[composite[x]].size;
    const int64_t stride = offset.coefficients[composite[x]];
    if (!found.empty() && stride == found.back().stride * found.back().points) {
      found.back().points *= size;
    } else {
      found.push_back({along, size, stride, inner, false});
    }
    inner *= size;
  }
  if (!found.empty()) found.back().is_outermost = true;
  return found;
}

class TensorBuilder {
 public:
  TensorBuilder(const Expression& expression, const UnitPlan& plan, const UnitParameters& unit,
                bool is_a)
      : e_(expression),
        plan_(plan),
        is_a_(is_a),
        operand_(is_a ? plan.a : plan.b),
        own_(is_a ? unit.rows : unit.columns),
        sharers_(unit.sharers_of(is_a)),
        name_(is_a ? "operand A" : "operand B") {}

  Result<UnitTensor> Build() const {
    if (operand_.is_computed) return InvalidArgument(name_, " is computed by threads");
    MDH_ASSIGN_OR_RETURN(UnitTensor tensor, operand_.packed_row > 0 ? Packed() : InMemory());
    const int64_t rows = operand_.is_across ? plan_.depth() : operand_.rows;
    if (rows % (sharers_ * kRowsAlike) != 0) {
      return InvalidArgument(name_, " has ", rows, " rows in a stage, no multiple of ", kRowsAlike,
                             " for each of ", sharers_, " blocks of a cluster");
    }
    tensor.row = plan_.depth();
    tensor.is_shared_along_k = operand_.is_across && operand_.rows % (sharers_ * tensor.row) != 0;
    tensor.rows = !operand_.is_across        ? own_ / CopiesOfRows()
                  : tensor.is_shared_along_k ? rows / sharers_
                                             : rows;
    MDH_RETURN_IF_ERROR(Check(tensor));
    return tensor;
  }

 private:
  int64_t CopiesOfRows() const {
    int64_t copies = RoundUp(CeilDivide(own_, kMostBoxPoints), sharers_);
    while (own_ % (kRowsAlike * copies) != 0) copies += sharers_;
    return copies;
  }

  using Dimensions = std::vector<TensorDimension>;

  // Rows, the contiguous dimension of the composite that they lie along first.
  UnitTensor InOrder(int64_t offset, Dimensions own, Dimensions k, const Dimensions& batch) const {
    UnitTensor tensor{offset, std::move(operand_.is_across ? own : k), 0, 0};
    const Dimensions& other = operand_.is_across ? k : own;
    tensor.dimensions.insert(tensor.dimensions.end(), other.begin(), other.end());
    tensor.dimensions.insert(tensor.dimensions.end(), batch.begin(), batch.end());
    return tensor;
  }

  // Behind the last point rows have zeros.
  Result<UnitTensor> Packed() const {
    const int64_t points = is_a_ ? plan_.m : plan_.n, row = operand_.packed_row;
    const int64_t rows = operand_.is_across ? plan_.k : points;
    const auto one = [](Along along, int64_t count, int64_t stride) {
      return Dimensions{{along, count, stride, 1, true}};
    };
    const Dimensions batch =
        plan_.batches == 1 ? Dimensions() : one(Along::kBatch, plan_.batches, rows * row);
    return operand_.is_across ? InOrder(0, one(Along::kOwn, operand_.packed_points, 1),
                                        one(Along::kK, rows, row), batch)
                              : InOrder(0, one(Along::kOwn, rows, row),
                                        one(Along::kK, operand_.packed_points, 1), batch);
  }

  Result<UnitTensor> InMemory() const {
    const Expression::AccessRef access = e_.input_access(operand_.parameter);
    const Buffer& buffer = e_.inputs()[access.buffer];
    if (operand_.is_made) return InvalidArgument(name_, " is not in memory as units take it");
    if (buffer.boundary.kind != Boundary::Kind::kNone) {
      return InvalidArgument(name_,
                             " is of a buffer with a boundary, inside of which are no zeros");
    }
    const AffineIndex offset = buffer.Linearized(access.access);
    const auto& [batch, m, n, k] =
        std::tie(plan_.form.batch, plan_.form.m, plan_.form.n, plan_.form.k);
    return InOrder(offset.constant, DimensionsAlong(e_, Along::kOwn, is_a_ ? m : n, offset),
                   DimensionsAlong(e_, Along::kK, k, offset),
                   DimensionsAlong(e_, Along::kBatch, batch, offset));
  }

  Status Check(const UnitTensor& tensor) const {
    const int64_t bytes = plan_.element_bytes();
    if (std::ssize(tensor.dimensions) > kMostTensorDimensions) {
      return InvalidArgument(name_, " is an array of ", tensor.dimensions.size(),
                             " dimensions, and tensor copies are of at most ",
                             kMostTensorDimensions);
    }
    if (tensor.offset * bytes % kTensorAlignmentBytes != 0) {
      return InvalidArgument(name_, " begins ", tensor.offset * bytes,
                             " bytes behind its buffer's first element, no multiple of ",
                             kTensorAlignmentBytes);
    }
    if (tensor.dimensions[0].stride != 1) {
      return InvalidArgument(name_, " is contiguous neither along k nor along ", is_a_ ? "m" : "n");
    }
    for (size_t d = 0; d < tensor.dimensions.size(); ++d) {
      MDH_RETURN_IF_ERROR(CheckDimension(tensor.dimensions[d], d == 0));
    }
    return absl::OkStatus();
  }

  Status CheckDimension(const TensorDimension& d, bool is_first) const {
    const int64_t pitch = d.stride * plan_.element_bytes();
    const bool is_pitch =
        pitch > 0 && pitch % kTensorAlignmentBytes == 0 && pitch < kMostStrideBytes;
    if (!is_first && !is_pitch) {
      return InvalidArgument(name_, " has rows ", pitch, " bytes from each other, no multiple of ",
                             kTensorAlignmentBytes);
    }
    if (d.points >= kMostCoordinate) {
      return InvalidArgument(name_, " has ", d.points, " points along a dimension");
    }
    // Boxes are along the innermost dimension of a composite.
    const int64_t step = d.along == Along::kK ? plan_.depth() : own_;
    if (d.along == Along::kBatch || d.inner > 1 || d.is_outermost || d.points % step == 0) {
      return absl::OkStatus();
    }
    return InvalidArgument(name_, " has ", d.points, " points in a row of rows along ",
                           d.along == Along::kK ? "k"
                           : is_a_              ? "m"
                                                : "n",
                           ", no multiple of the ", step, " of a tile");
  }

  const Expression& e_;
  const UnitPlan& plan_;
  const bool is_a_;
  const UnitOperandPlan& operand_;
  const int64_t own_, sharers_;
  const std::string name_;
};

}  // namespace

Result<UnitTensor> TensorOfUnit(const Expression& expression, const UnitPlan& plan,
                                const UnitParameters& unit, bool is_a) {
  return TensorBuilder(expression, plan, unit, is_a).Build();
}

namespace {

// Blocks of a cluster are neighbours along m and n. Tiles of the last clusters may have no points,
// but there are as many that have some as a cluster has blocks.
std::string ClusterObstacle(const UnitParameters& u, const UnitPlan& plan) {
  if (u.cluster() == 1) return "";
  if (!u.has_producer()) {
    return "cluster: blocks have in common what producers bring, and there is none";
  }
  if (u.cluster() > kMaxClusterBlocks) {
    return absl::StrCat("cluster: ", u.cluster_m, " x ", u.cluster_n, " blocks are more than ",
                        kMaxClusterBlocks);
  }
  const auto obstacle = [](const char* key, int64_t tiles, const char* along, int blocks) {
    if (blocks <= tiles) return std::string();
    return absl::StrCat(key, ": ", tiles, " tiles along ", along, " are fewer than ", blocks);
  };
  std::string why = obstacle("cluster_m", CeilDivide(plan.m, u.rows), "m", u.cluster_m);
  return why.empty() ? obstacle("cluster_n", CeilDivide(plan.n, u.columns), "n", u.cluster_n) : why;
}

}  // namespace

std::string TensorObstacle(const Expression& e, const UnitParameters& u, const UnitPlan& plan) {
  if (u.has_producer() && u.tensors != UnitOperands::kBoth) {
    return "producer: threads that multiply copy operands, too";
  }
  if (u.producer == UnitProducer::kGroup && u.groups == 1) {
    return "producer: one group has all the registers that it can have";
  }
  if (u.has_producer() && plan.sharers > 1) {
    return "producer: blocks of a cluster meet with all of their threads";
  }
  if (std::string why = ClusterObstacle(u, plan); !why.empty()) return why;
  if (u.tensors == UnitOperands::kNone) return "";
  if (u.has_warps()) return "tensor: operands of units of warps are copied by threads";
  for (const bool is_a : {true, false}) {
    if (!Has(u.tensors, is_a ? UnitOperands::kA : UnitOperands::kB)) continue;
    const Status made = TensorOfUnit(e, plan, u, is_a).status();
    if (!made.ok()) return absl::StrCat("tensor: ", made.message());
  }
  return "";
}

}  // namespace mdh
