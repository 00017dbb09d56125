// Random valid expressions.
#include "tests/random_expression.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/random_function.h"

namespace mdh {
namespace {

using Dimensions = std::vector<Dimension>;

const std::vector<ScalarType>& InputTypes() {
  static const std::vector<ScalarType> types = {
      ScalarType::kFloat32, ScalarType::kFloat32, ScalarType::kFloat32, ScalarType::kFloat64,
      ScalarType::kInt32,   ScalarType::kInt64,   ScalarType::kInt8,    ScalarType::kInt16,
      ScalarType::kUint8,   ScalarType::kUint16,  ScalarType::kUint32,  ScalarType::kUint64,
      ScalarType::kBool};
  return types;
}

Dimensions RandomDimensions(Rng& rng, const RandomExpressionOptions& options) {
  const std::vector<int64_t> sizes = {1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 23, 31, 32};
  Dimensions dimensions;
  const int rank = 1 + static_cast<int>(Below(rng, options.max_rank));
  int64_t points = 1;
  for (int d = 0; d < rank; ++d) {
    int64_t size = AnyOf(rng, sizes);
    while (points * size > options.max_points) size = (size + 1) / 2 == size ? 1 : (size + 1) / 2;
    points *= size;
    dimensions.push_back({absl::StrCat("i", d + 1), size});
  }
  return dimensions;
}

// Shifts the index so that it is never negative: its smallest value becomes `smallest`.
void Place(const Dimensions& dimensions, int64_t smallest, AffineIndex* index) {
  index->constant = smallest;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    index->constant -= std::min<int64_t>(0, index->coefficients[d] * (dimensions[d].size - 1));
  }
}

AffineIndex RandomInputIndex(Rng& rng, const Dimensions& dimensions) {
  const std::vector<int64_t> coefficients = {1, 1, 1, 1, 2, 3, -1, -2};
  AffineIndex index{std::vector<int64_t>(dimensions.size(), 0), 0};
  const int64_t kind = Below(rng, 8);  // mostly one plain dimension, as in real views
  const int terms = kind == 0 ? 0 : kind < 6 ? 1 : 2;
  for (int t = 0; t < terms; ++t) {
    index.coefficients[Below(rng, static_cast<int64_t>(dimensions.size()))] =
        kind < 4 ? 1 : AnyOf(rng, coefficients);
  }
  Place(dimensions, kind < 3 ? 0 : Below(rng, 3), &index);
  return index;
}

Buffer RandomInput(Rng& rng, const Dimensions& dimensions, std::string name) {
  Buffer buffer{std::move(name), AnyOf(rng, InputTypes()), {}, {}};
  const int64_t most = std::min<int64_t>(3, static_cast<int64_t>(dimensions.size()) + 1);
  const int rank = Below(rng, 10) == 0 ? 0 : 1 + static_cast<int>(Below(rng, most));
  IndexFunction access;
  for (int x = 0; x < rank; ++x) access.indices.push_back(RandomInputIndex(rng, dimensions));
  buffer.accesses.push_back(access);
  while (buffer.accesses.size() < 4 && Below(rng, 4) == 0) {
    // A neighbour, as in stencils, or something unrelated.
    for (AffineIndex& index : access.indices) {
      if (Below(rng, 3) == 0)
        index = RandomInputIndex(rng, dimensions);
      else
        index.constant += Below(rng, 3);
    }
    buffer.accesses.push_back(access);
  }
  return buffer;
}

// An index function that writes every element once: each dimension that is not reduced has an index
// of its own, or two share one like digits of a number.
IndexFunction RandomOutputAccess(Rng& rng, const Dimensions& dimensions,
                                 const std::vector<CombineOperator>& operators) {
  std::vector<int> free;
  for (int d = 0; d < static_cast<int>(dimensions.size()); ++d) {
    if (operators[d].is_concat()) free.push_back(d);
  }
  for (size_t n = free.size(); n > 1; --n) {
    if (Below(rng, 2) == 0) std::swap(free[n - 1], free[Below(rng, static_cast<int64_t>(n))]);
  }
  IndexFunction access;
  for (size_t n = 0; n < free.size(); ++n) {
    AffineIndex index{std::vector<int64_t>(dimensions.size(), 0), 0};
    const int64_t kind = Below(rng, 10);
    index.coefficients[free[n]] = kind == 0 ? -1 : kind == 1 ? 2 : 1;
    if (kind == 2 && n + 1 < free.size()) {
      const int64_t digits = dimensions[free[n]].size + Below(rng, 2);
      index.coefficients[free[++n]] = digits;
    }
    Place(dimensions, kind == 3 ? Below(rng, 3) : 0, &index);
    access.indices.push_back(std::move(index));
  }
  if (Below(rng, 12) == 0) {
    access.indices.push_back({std::vector<int64_t>(dimensions.size(), 0), Below(rng, 3)});
  }
  return access;
}

std::vector<Buffer> RandomOutputs(Rng& rng, const Dimensions& dimensions,
                                  const std::vector<CombineOperator>& operators,
                                  const std::vector<ScalarType>& types) {
  std::vector<Buffer> outputs;
  for (size_t r = 0; r < types.size(); ++r) {
    IndexFunction access = RandomOutputAccess(rng, dimensions, operators);
    if (r > 0 && types[r] == types[r - 1] && Below(rng, 3) == 0) {
      // A second access beside the first: one more buffer dimension tells them apart.
      Buffer& buffer = outputs.back();
      if (buffer.accesses.size() == 1) {
        access = buffer.accesses[0];
        for (int64_t copy = 0; copy < 2; ++copy) {
          IndexFunction& target = copy == 0 ? buffer.accesses[0] : access;
          target.indices.push_back({std::vector<int64_t>(dimensions.size(), 0), copy});
        }
        buffer.accesses.push_back(std::move(access));
        continue;
      }
    }
    outputs.push_back({absl::StrCat("out", r + 1), types[r], {}, {std::move(access)}});
  }
  return outputs;
}

// Sometimes gives the extents, sometimes with room to spare. `checked`: with the extents needed.
void GiveExtents(Rng& rng, const std::vector<Buffer>& checked, std::vector<Buffer>* buffers) {
  for (size_t b = 0; b < checked.size(); ++b) {
    if (Below(rng, 4) != 0) continue;
    (*buffers)[b].extents_given = true;
    (*buffers)[b].extents = checked[b].extents;
    for (int64_t& extent : (*buffers)[b].extents) extent += Below(rng, 3);
  }
}

bool IsSmall(const std::vector<Buffer>& buffers, int64_t max_elements) {
  return std::all_of(buffers.begin(), buffers.end(),
                     [&](const Buffer& buffer) { return buffer.elements() <= max_elements; });
}

std::vector<TypedName> NamesOf(const std::vector<Buffer>& buffers, absl::string_view stem) {
  std::vector<TypedName> names;
  for (const Buffer& buffer : buffers) {
    for (size_t a = 0; a < buffer.accesses.size(); ++a) {
      names.push_back({absl::StrCat(stem, names.size() + 1), buffer.type});
    }
  }
  return names;
}

Result<Expression> TryExpression(Rng& rng, const RandomExpressionOptions& options) {
  ExpressionSpec spec{.name = "random",
                      .dimensions = RandomDimensions(rng, options),
                      .inputs = {},
                      .outputs = {},
                      .function = *ScalarFunction::Create(
                          "f", {{"x", ScalarType::kBool}}, {{"y", ScalarType::kBool}},
                          {{ScalarOp::kParameter, ScalarType::kBool, {}, 0}}, {0}),
                      .combine_operators = {}};
  const int inputs = 1 + static_cast<int>(Below(rng, 3));
  for (int b = 0; b < inputs; ++b) {
    spec.inputs.push_back(RandomInput(rng, spec.dimensions, absl::StrCat("in", b + 1)));
  }
  std::vector<ScalarType> types;
  const int results = Below(rng, 2) == 0 ? 1 : 1 + static_cast<int>(Below(rng, 3));
  for (int r = 0; r < results; ++r) {
    types.push_back(Below(rng, 4) == 0 ? AnyOf(rng, InputTypes()) : spec.inputs[0].type);
  }
  const CombineOperator reduction = RandomReduction(rng, options, types);
  int64_t reduced_points = 1;
  for (const Dimension& dimension : spec.dimensions) {
    const bool reduces = Below(rng, 5) < 2;
    if (reduces) reduced_points *= dimension.size;
    spec.combine_operators.push_back(reduces ? reduction : CombineOperator::Concat());
  }
  spec.outputs = RandomOutputs(rng, spec.dimensions, spec.combine_operators, types);
  // 2^22 leaves room for the operator's own additions below 2^24, where fp32 is exact.
  const double bound = static_cast<double>(int64_t{1} << 22) / static_cast<double>(reduced_points);
  spec.function =
      RandomFunction(rng, options, NamesOf(spec.inputs, "x"), NamesOf(spec.outputs, "y"), bound);
  MDH_ASSIGN_OR_RETURN(const Expression expression, Expression::Create(spec));
  GiveExtents(rng, expression.inputs(), &spec.inputs);
  GiveExtents(rng, expression.outputs(), &spec.outputs);
  MDH_ASSIGN_OR_RETURN(Expression result, Expression::Create(std::move(spec)));
  if (!IsSmall(result.inputs(), options.max_buffer_elements) ||
      !IsSmall(result.outputs(), options.max_buffer_elements)) {
    return absl::OutOfRangeError("a buffer is too large");
  }
  return result;
}

}  // namespace

int64_t Below(Rng& rng, int64_t bound) {
  return static_cast<int64_t>(rng() % static_cast<uint64_t>(bound));
}

Expression RandomExpression(Rng& rng, const RandomExpressionOptions& options) {
  for (;;) {
    Result<Expression> expression = TryExpression(rng, options);
    if (expression.ok()) return *std::move(expression);
  }
}

std::vector<BufferBytes> RandomInputs(Rng& rng, const Expression& expression) {
  std::vector<BufferBytes> inputs;
  for (const Buffer& buffer : expression.inputs()) {
    BufferBytes bytes(buffer.size_bytes());
    for (int64_t e = 0; e < buffer.elements(); ++e) {
      const int64_t number = Below(rng, 9);
      ScalarValue value = ScalarValue::Bool(number % 2 == 0);
      if (IsFloatingPoint(buffer.type)) {
        value = ScalarValue::Real(buffer.type, static_cast<double>(number - 4));
      } else if (IsInteger(buffer.type)) {
        value = ScalarValue::Integer(buffer.type, IsSigned(buffer.type) ? number - 4 : number);
      }
      value.Store(bytes.data() + e * SizeBytes(buffer.type));
    }
    inputs.push_back(std::move(bytes));
  }
  return inputs;
}

}  // namespace mdh
