#include "tests/codegen/bounds/counting_interpreter.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/expression/dependences.h"

namespace mdh {
namespace {

using Point = std::vector<int64_t>;

std::vector<Point> PointsOf(const Expression& e) {
  std::vector<Point> points;
  if (e.is_empty()) return points;
  Point point(e.rank(), 0);
  for (int d = 0; d >= 0;) {
    points.push_back(point);
    for (d = e.rank() - 1; d >= 0; --d) {
      if (++point[d] < e.dimensions()[d].size) break;
      point[d] = 0;
    }
  }
  return points;
}

class Counter {
 public:
  Counter(const Expression& e, const std::vector<BufferBytes>& inputs) : e_(e), inputs_(inputs) {}

  CertainWork Count() {
    const std::vector<Point> points = PointsOf(e_);
    for (const Point& point : points) CountPoint(point);
    CountCombinations(points);
    for (const Point& point : points) CountStored(point, points);
    return work_;
  }

 private:
  // Which element a parameter of f reads, or which index it is.
  std::string Source(int parameter, const Point& point) const {
    if (e_.is_index(parameter)) return absl::StrCat("i", point[e_.index_dimension(parameter)]);
    const Expression::AccessRef ref = e_.input_access(parameter);
    const int64_t element = e_.inputs()[ref.buffer].ElementAt(ref.access, point);
    if (element < 0) return "constant";
    return absl::StrCat("b", ref.buffer, ".", ref.field, "[", element, "]");
  }

  ScalarValue ValueOf(int parameter, const Point& point) const {
    if (e_.is_index(parameter)) {
      return ScalarValue::Integer(ScalarType::kInt64, point[e_.index_dimension(parameter)]);
    }
    const Expression::AccessRef ref = e_.input_access(parameter);
    const Buffer& buffer = e_.inputs()[ref.buffer];
    const int64_t element = buffer.ElementAt(ref.access, point);
    if (element < 0) return buffer.boundary.values[ref.field];
    const ElementType::Field& field = buffer.type.fields()[ref.field];
    return ScalarValue::Load(
        field.type,
        inputs_[ref.buffer].data() + element * buffer.type.size_bytes() + field.offset_bytes);
  }

  // The sources of all parameters below an instruction of f, with their numbers.
  std::set<std::string> Sources(int n, const Point& point) const {
    const ScalarInstruction& one = e_.function().instructions()[n];
    if (one.op == ScalarOp::kParameter) {
      return {absl::StrCat(Source(one.parameter, point), "@", one.parameter)};
    }
    std::set<std::string> all;
    for (const int operand : one.operands) all.merge(Sources(operand, point));
    return all;
  }

  static bool ReadsElement(const std::set<std::string>& sources) {
    return std::any_of(sources.begin(), sources.end(),
                       [](const std::string& one) { return one[0] == 'b'; });
  }

  static std::string KeyOf(const char* where, int n, const std::set<std::string>& sources) {
    std::string key = absl::StrCat(where, n);
    for (const std::string& one : sources) absl::StrAppend(&key, ",", one);
    return key;
  }

  void CountOnce(const ScalarInstruction& one, const std::string& key) {
    if (IsFloatingPoint(one.type) && counted_.insert(key).second) {
      Add(one.op, work_.of(KindOf(one.type)));
    }
  }

  static void Add(ScalarOp op, ArithmeticWork& work) {
    if (op == ScalarOp::kMul) {
      ++work.multiplications;
    } else if (op == ScalarOp::kAdd || op == ScalarOp::kSub) {
      ++work.additions;
    } else if (op == ScalarOp::kExp || op == ScalarOp::kExp2 || op == ScalarOp::kSqrt ||
               op == ScalarOp::kRsqrt) {
      ++work.special;
    } else if (op >= ScalarOp::kNeg) {
      ++work.others;
    }
  }

  void CountPoint(const Point& point) {
    values_.clear();
    for (const int result : e_.function().result_instructions()) Evaluate(result, point);
  }

  ScalarValue Evaluate(int n, const Point& point) {
    if (const auto known = values_.find(n); known != values_.end()) return known->second;
    const ScalarFunction& f = e_.function();
    const ScalarInstruction& one = f.instructions()[n];
    const auto operand = [&](int o) { return Evaluate(one.operands[o], point); };
    std::optional<ScalarValue> value;
    if (one.op == ScalarOp::kParameter) {
      value = ValueOf(one.parameter, point);
    } else if (one.op == ScalarOp::kConstant) {
      value = one.constant;
    } else if (one.op == ScalarOp::kSelect) {
      value = operand(0) == ScalarValue::Bool(true) ? operand(1) : operand(2);
    } else if (one.op == ScalarOp::kAnd || one.op == ScalarOp::kOr) {
      value = operand(0);
      if (*value == ScalarValue::Bool(one.op == ScalarOp::kAnd)) value = operand(1);
    } else if (one.op == ScalarOp::kTable) {
      operand(0);
      value = one.table[0];  // any will do
    } else {
      std::vector<ScalarValue> operands;
      for (size_t o = 0; o < one.operands.size(); ++o) {
        operands.push_back(operand(static_cast<int>(o)));
      }
      value = Apply(one.op, one.type, operands);
      const std::set<std::string> sources = Sources(n, point);
      if (ReadsElement(sources)) CountOnce(one, KeyOf("f", n, sources));
    }
    values_.emplace(n, *value);
    return *value;
  }

  // At points at which nothing is outside of its buffer.
  bool IsInside(const Point& point) const {
    for (const Buffer& buffer : e_.inputs()) {
      if (buffer.boundary.kind == Boundary::Kind::kNone) continue;
      for (const IndexFunction& access : buffer.accesses) {
        for (size_t x = 0; x < access.indices.size(); ++x) {
          const int64_t index = access.indices[x].Evaluate(point);
          if (index < 0 || index >= buffer.extents[x]) return false;
        }
      }
    }
    return true;
  }

  void CountCombinations(const std::vector<Point>& points) {
    if (!e_.has_reduction() && !e_.has_prefix_sum()) return;
    const ScalarFunction& f = e_.function();
    for (const ScalarInstruction& one : f.instructions()) {
      if (one.op == ScalarOp::kSelect || one.op == ScalarOp::kTable) return;
    }
    const std::vector<DimensionSet> uses = DimensionsOfInstructions(e_);
    for (size_t r = 0; r < f.results().size(); ++r) {
      const PointWiseKind kind = e_.reduction().kinds()[r];
      const ScalarType type = f.results()[r].type;
      if (kind == PointWiseKind::kCustom || !IsFloatingPoint(type)) continue;
      std::set<Point> values, kept;
      for (const Point& point : points) {
        if (!IsInside(point)) continue;
        Point value = point, line = point;
        for (int d = 0; d < e_.rank(); ++d) {
          if (!IsIn(uses[f.result_instructions()[r]], d)) value[d] = line[d] = 0;
          if (!e_.combine_operators()[d].is_concat()) line[d] = 0;
        }
        values.insert(value);
        kept.insert(line);
      }
      for (size_t n = kept.size(); n < values.size(); ++n) {
        Add(OperationOf(kind), work_.of(KindOf(type)));
      }
    }
  }

  // What the results at a point are made of.
  const std::set<std::string>& Behind(int result, const Point& kept,
                                      const std::vector<Point>& points) {
    const auto [known, is_new] = behind_.emplace(std::pair(result, kept), std::set<std::string>());
    if (!is_new) return known->second;
    const int n = e_.function().result_instructions()[result];
    for (const Point& point : points) {
      bool is_here = true;
      for (int d = 0; d < e_.rank(); ++d) {
        is_here = is_here && (e_.is_reduction(d) || point[d] == kept[d]);
      }
      if (is_here) known->second.merge(Sources(n, point));
    }
    return known->second;
  }

  void CountStored(const Point& point, const std::vector<Point>& points) {
    if (e_.store() == nullptr) return;
    for (int d = 0; d < e_.rank(); ++d) {
      if (e_.is_reduction(d) && point[d] != 0) return;
    }
    const ScalarFunction& s = e_.store()->function;
    for (size_t n = 0; n < s.instructions().size(); ++n) {
      std::set<std::string> sources;
      std::vector<int> open = {static_cast<int>(n)};
      while (!open.empty()) {
        const ScalarInstruction& one = s.instructions()[open.back()];
        open.pop_back();
        open.insert(open.end(), one.operands.begin(), one.operands.end());
        if (one.op != ScalarOp::kParameter) continue;
        const int p = one.parameter;
        switch (e_.store_parameter(p)) {
          case Expression::StoreParameter::kResult: {
            const std::set<std::string>& more = Behind(p, point, points);
            sources.insert(more.begin(), more.end());
            break;
          }
          case Expression::StoreParameter::kAccess: {
            const Expression::AccessRef ref = e_.store_access(p);
            const int64_t element = e_.store()->inputs[ref.buffer].ElementAt(ref.access, point);
            sources.insert(element < 0 ? "constant"
                                       : absl::StrCat("bs", ref.buffer, ".", ref.field, "[",
                                                      element, "]@", p));
            break;
          }
          case Expression::StoreParameter::kIndex:
            sources.insert(absl::StrCat("i", point[e_.store_index_dimension(p)]));
        }
      }
      if (ReadsElement(sources)) {
        CountOnce(s.instructions()[n], KeyOf("s", static_cast<int>(n), sources));
      }
    }
  }

  const Expression& e_;
  const std::vector<BufferBytes>& inputs_;
  std::map<int, ScalarValue> values_;  // at the current point, by instruction
  std::set<std::string> counted_;
  std::map<std::pair<int, Point>, std::set<std::string>> behind_;
  CertainWork work_;
};

}  // namespace

CertainWork CountWork(const Expression& expression, const std::vector<BufferBytes>& inputs) {
  return Counter(expression, inputs).Count();
}

}  // namespace mdh
