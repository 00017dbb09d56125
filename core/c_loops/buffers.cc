// From lvalues to accesses.
#include "core/c_loops/buffers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/c_loops/iteration_range.h"

namespace mdh {
namespace {

using Kind = CNode::Kind;

// What pointers and arrays consist of in the end.
const CType& ElementOf(const CType& type) {
  const CType* element = &type;
  while (element->element != nullptr) element = element->element.get();
  return *element;
}

// Whether a pointer is read as one to another type.
bool ChangesElement(const CType& to, const CType& from) {
  if (to.element == nullptr || from.element == nullptr) return false;
  const CType &a = *to.element, &b = *from.element;
  return a.kind != b.kind || (a.is_scalar() && a.scalar != b.scalar) ||
         (a.is_record() && a.spelling != b.spelling && a.fields.size() != b.fields.size());
}

// The numbers of { ... }, rows one after the other. False if there are others than constants.
bool Flatten(const CNode& node, const CType& type, std::vector<ScalarValue>* values) {
  if (type.element == nullptr) {
    const CNode& inner = Unwrapped(node);
    bool is_negative = inner.kind == Kind::kUnary && inner.text == "-";
    const CNode& number = is_negative ? Unwrapped(inner.children[0]) : inner;
    if (number.kind != Kind::kLiteral || !type.is_scalar()) return false;
    ScalarValue value = *number.value;
    if (is_negative) value = Apply(ScalarOp::kNeg, value.type(), {value});
    values->push_back(Apply(ScalarOp::kCast, type.scalar, {value}));
    return true;
  }
  constexpr int64_t kMaxValues = ScalarFunction::kMaxTableValues;
  if (node.kind != Kind::kList || type.extent < 1 || type.extent > kMaxValues) return false;
  if (static_cast<int64_t>(node.children.size()) > type.extent) return false;
  int64_t row = 1;
  for (const CType* inner = type.element.get(); inner->element != nullptr;
       inner = inner->element.get()) {
    row = inner->extent < 1 || inner->extent > kMaxValues ? kMaxValues + 1 : row * inner->extent;
    if (row > kMaxValues) return false;
  }
  const ScalarType scalar = ElementOf(type).scalar;
  if (type.extent * row > kMaxValues) return false;
  const size_t end = values->size() + type.extent * row;
  for (const CNode& child : node.children) {
    if (!Flatten(child, *type.element, values)) return false;
  }
  values->resize(end, ScalarValue::Zero(scalar));
  return true;
}

}  // namespace

void BufferMemory::FindOutputs(const CLoopNest& nest) {
  std::set<std::string> declared;
  for (const CLoopNest::Before& before : nest.before) {
    FindAssigned(*before.statement, &outputs_, &declared);
  }
  FindAssigned(*nest.body, &outputs_, &declared);
  for (const CNode* statement : nest.after) FindAssigned(*statement, &outputs_, &declared);
  for (const std::string& local : declared) outputs_.erase(local);
}

void BufferMemory::Declared(const std::string& declaration, const CNode& value) {
  integers_.Declare(declaration, value);
}

CValue BufferMemory::Former(const std::string& name) { return former_.at(name); }

Result<BufferMemory::Place> BufferMemory::PlaceOf(const CNode& lvalue) const {
  Place place;
  const CNode* node = &lvalue;
  while (node->kind != Kind::kReference) {
    const bool is_subscript = node->kind == Kind::kSubscript && node->children.size() == 2;
    if (is_subscript) {
      // i[a] is a[i].
      const int base = node->children[0].type.is_scalar() ? 1 : 0;
      place.indices.insert(place.indices.begin(), &node->children[1 - base]);
      node = &node->children[base];
      continue;
    }
    const bool is_step = node->kind == Kind::kDereference || node->kind == Kind::kConvert;
    // p->x reads a field of *p.
    const bool is_arrow = node->kind == Kind::kMember && node->children.size() == 1;
    if ((!is_step && !is_arrow) || node->children.size() != 1) break;
    if (node->kind == Kind::kConvert && ChangesElement(node->type, node->children[0].type)) {
      return ErrorAt(*node, "a pointer cannot be converted to another type");
    }
    place.is_dereferenced = place.is_dereferenced || node->kind != Kind::kConvert;
    node = &node->children[0];
  }
  if (node->kind == Kind::kBinary || node->kind == Kind::kUnary) {
    return ErrorAt(*node, "pointer arithmetic is not supported");
  }
  if (node->kind != Kind::kReference) return ErrorAt(*node, "this is no element of a buffer");
  place.variable = node;
  return place;
}

Result<const CVariable*> BufferMemory::VariableOf(const Place& place) const {
  const CNode& node = *place.variable;
  MDH_ASSIGN_OR_RETURN(const CVariable* variable, unit_.Variable(node.declaration));
  if (variable != nullptr) return variable;
  return ErrorAt(node, "'", node.text, "' is not a variable of this file");
}

Result<CValue> BufferMemory::ReadLoopVariable(int d, Evaluator* evaluator) {
  const Loop& loop = integers_.loops()[d];
  ScalarBuilder& builder = evaluator->builder();
  int value = builder.Index(kIndexParameters + d, loop.type);
  const auto constant = [&](int64_t number) {
    return builder.Constant(ScalarValue::Integer(loop.type, number));
  };
  if (loop.step != 1) value = builder.Binary(ScalarOp::kMul, value, constant(loop.step));
  if (loop.start != 0) value = builder.Binary(ScalarOp::kAdd, value, constant(loop.start));
  return CValue{value};
}

Result<CValue> BufferMemory::ReadConstant(const Place& place, const CVariable& variable,
                                          Evaluator* evaluator) {
  if (!place.indices.empty()) return ReadTable(place, variable, evaluator);
  MDH_ASSIGN_OR_RETURN(CValue value, evaluator->Value(*variable.initial_value));
  if (variable.type.is_scalar())
    value[0] = evaluator->builder().Cast(variable.type.scalar, value[0]);
  return value;
}

// Element number (i * extent + j) ... of a constant array.
Result<CValue> BufferMemory::ReadTable(const Place& place, const CVariable& variable,
                                       Evaluator* evaluator) {
  std::vector<ScalarValue> values;
  if (!Flatten(*variable.initial_value, variable.type, &values)) {
    return ErrorAt(*place.variable, "the values of the table '", place.variable->text,
                   "' are not all constants, or too many");
  }
  ScalarBuilder& builder = evaluator->builder();
  int position = -1;
  const CType* type = &variable.type;
  for (const CNode* index : place.indices) {
    if (type->element == nullptr) return ErrorAt(*index, "this is one index too many");
    MDH_ASSIGN_OR_RETURN(int value, evaluator->Scalar(*index));
    if (position >= 0) {
      value = builder.Cast(ScalarType::kInt64, value);
      const int extent = builder.Constant(ScalarValue::Integer(ScalarType::kInt64, type->extent));
      const int row =
          builder.Binary(ScalarOp::kMul, builder.Cast(ScalarType::kInt64, position), extent);
      value = builder.Binary(ScalarOp::kAdd, row, value);
    }
    position = value;
    type = type->element.get();
  }
  if (!type->is_scalar()) return ErrorAt(*place.variable, "this table needs more indices");
  return CValue{builder.Table(std::move(values), position)};
}

Result<CValue> BufferMemory::Read(const CNode& lvalue, Evaluator* evaluator) {
  const bool is_arrow = lvalue.kind == Kind::kMember;
  MDH_ASSIGN_OR_RETURN(const Place place, PlaceOf(lvalue));
  const std::string& declaration = place.variable->declaration;
  if (const auto loop = integers_.LoopOf(declaration); loop.has_value()) {
    MDH_RETURN_IF_ERROR(integers_.CheckNotEnded(*place.variable, *loop));
    return ReadLoopVariable(*loop, evaluator);
  }
  if (const auto bound = integers_.BoundValue(declaration); bound.has_value()) {
    return CValue{
        evaluator->builder().Constant(ScalarValue::Integer(place.variable->type.scalar, *bound))};
  }
  MDH_ASSIGN_OR_RETURN(const CVariable* variable, VariableOf(place));
  if (variable->type.is_const && variable->initial_value != nullptr &&
      variable->type.kind != CType::Kind::kPointer) {
    return ReadConstant(place, *variable, evaluator);
  }
  MDH_ASSIGN_OR_RETURN(CBuffer * buffer, BufferOf(place, *variable));
  if (buffer->is_output && part_ == Part::kBefore) {
    return ErrorAt(*place.variable, "'", buffer->name,
                   "' is read before a loop, but "
                   "former contents of outputs do not count");
  }
  MDH_ASSIGN_OR_RETURN(CAccess * access, AccessOf(place, *variable, buffer, evaluator));
  CValue value;
  const std::vector<ScalarType> types = buffer->element.ScalarTypes();
  if (buffer->is_output) {
    const auto written = evaluator->state().find(access->state);
    value = written != evaluator->state().end() ? written->second : Former(access->state);
  } else {
    for (size_t n = 0; n < types.size(); ++n) {
      value.push_back(
          evaluator->builder().Parameter(types[n], access->first_parameter + static_cast<int>(n)));
    }
  }
  if (!is_arrow) return value;
  const int field = FieldNumber(buffer->element, lvalue.text);
  if (field < 0) return ErrorAt(lvalue, "there is no field '", lvalue.text, "'");
  return CValue{value[field]};
}

Status BufferMemory::Write(const CNode& lvalue, CValue value, Evaluator* evaluator) {
  MDH_ASSIGN_OR_RETURN(const Place place, PlaceOf(lvalue));
  if (integers_.LoopOf(place.variable->declaration).has_value()) {
    return ErrorAt(lvalue, "the loop variable '", place.variable->text, "' is changed in the loop");
  }
  MDH_ASSIGN_OR_RETURN(const CVariable* variable, VariableOf(place));
  MDH_ASSIGN_OR_RETURN(CBuffer * buffer, BufferOf(place, *variable));
  MDH_ASSIGN_OR_RETURN(CAccess * access, AccessOf(place, *variable, buffer, evaluator));
  if (lvalue.kind == Kind::kMember) {
    const auto written = evaluator->state().find(access->state);
    const bool is_first = written == evaluator->state().end();
    CValue record = is_first ? Former(access->state) : written->second;
    const int field = FieldNumber(buffer->element, lvalue.text);
    if (field < 0) return ErrorAt(lvalue, "there is no field '", lvalue.text, "'");
    record[field] = value[0];
    value = std::move(record);
  }
  evaluator->state()[access->state] = std::move(value);
  return absl::OkStatus();
}

Result<CBuffer*> BufferMemory::BufferOf(const Place& place, const CVariable& variable) {
  const CNode& node = *place.variable;
  const auto known = buffer_of_.find(node.declaration);
  if (known != buffer_of_.end()) return &buffers_[known->second];
  const CType& element = ElementOf(variable.type);
  if (element.ScalarTypes().empty()) {
    return ErrorAt(node, "'", node.text, "' is of type '", variable.type.spelling,
                   "', which is not supported");
  }
  for (const CType* type = variable.type.element.get(); type != nullptr;
       type = type->element.get()) {
    if (type->kind != CType::Kind::kPointer) continue;
    return ErrorAt(node, "'", node.text,
                   "' consists of pointers; buffers must be one "
                   "piece of memory");
  }
  if (variable.kind == CVariable::Kind::kLocal && variable.initial_value != nullptr &&
      variable.type.kind == CType::Kind::kPointer) {
    return ErrorAt(node, "'", node.text, "' may be an alias of another buffer");
  }
  MDH_ASSIGN_OR_RETURN(std::vector<int64_t> extents, ExtentsOf(place, variable));
  buffer_of_[node.declaration] = static_cast<int>(buffers_.size());
  buffers_.push_back({node.text,
                      node.declaration,
                      node.begin,
                      element,
                      outputs_.count(node.declaration) > 0,
                      std::move(extents),
                      {}});
  return &buffers_.back();
}

Result<std::vector<int64_t>> BufferMemory::ExtentsOf(const Place& place,
                                                     const CVariable& variable) const {
  // A single value behind a pointer.
  if (place.indices.empty()) return std::vector<int64_t>();
  std::vector<int64_t> extents;
  for (const CType* type = &variable.type; type->element != nullptr; type = type->element.get()) {
    extents.push_back(type->kind == CType::Kind::kArray ? type->extent : -1);
  }
  // Sizes that are parameters; the outermost may be left out.
  const size_t written = variable.extents.size();
  for (size_t x = 0; x < extents.size(); ++x) {
    if (extents[x] >= 0) continue;
    const bool is_written = x + written >= extents.size();
    const CNode* size = is_written ? &variable.extents[x + written - extents.size()] : nullptr;
    const std::optional<int64_t> value = size == nullptr ? std::nullopt : integers_.Integer(*size);
    if (value.has_value() && *value >= 0) extents[x] = *value;
    if (extents[x] >= 0 || x == 0) continue;
    return unit_.source().ErrorAt(size == nullptr ? variable.offset : size->begin,
                                  "the size of dimension ", x + 1, " of '", place.variable->text,
                                  "' is not known; give the sizes that it depends on a value");
  }
  return extents;
}

Result<CAccess*> BufferMemory::AccessOf(const Place& place, const CVariable& variable,
                                        CBuffer* buffer, Evaluator* evaluator) {
  const CNode& node = *place.variable;
  const bool is_value = variable.type.element == nullptr;
  const bool is_pointer = variable.type.kind == CType::Kind::kPointer;
  const bool is_whole =
      place.indices.empty() && (is_value || (is_pointer && place.is_dereferenced));
  if (place.indices.size() != buffer->extents.size() || (place.indices.empty() && !is_whole)) {
    return ErrorAt(node, "'", node.text, "' is used with ", place.indices.size(),
                   " indices, but has ", buffer->extents.size(), " dimensions");
  }
  IndexFunction function;
  for (const CNode* index : place.indices) {
    MDH_ASSIGN_OR_RETURN(AffineIndex affine, integers_.Affine(*index));
    function.indices.push_back(std::move(affine));
  }
  for (CAccess& access : buffer->accesses) {
    if (access.index != function) continue;
    access.is_in_body = access.is_in_body || part_ == Part::kBody;
    access.is_behind = access.is_behind || part_ == Part::kBehind;
    return &access;
  }
  const std::vector<ScalarType> types = buffer->element.ScalarTypes();
  CAccess access{std::move(function), node.begin, NewParameters(types.size()), ""};
  access.is_in_body = part_ == Part::kBody;
  access.is_behind = part_ == Part::kBehind;
  if (buffer->is_output) {
    access.state = absl::StrCat("=", access.first_parameter);
    CValue& former = former_[access.state];
    for (size_t n = 0; n < types.size(); ++n) {
      former.push_back(
          evaluator->builder().Parameter(types[n], access.first_parameter + static_cast<int>(n)));
    }
  }
  buffer->accesses.push_back(std::move(access));
  return &buffer->accesses.back();
}

bool BufferMemory::HasValues(const AffineIndex& index) const {
  for (size_t d = 0; d < integers_.loops().size(); ++d) {
    if (index.coefficients[d] != 0 && integers_.loops()[d].size == 0) return false;
  }
  return true;
}

void BufferMemory::FitToIterations(const CBuffer& buffer, Buffer* result) const {
  const std::vector<Loop>& loops = integers_.loops();
  const auto has_guards = [](const Loop& loop) { return !loop.guards.empty(); };
  const auto is_empty = [](const Loop& loop) { return loop.size == 0; };
  if (buffer.is_output || std::ranges::none_of(loops, has_guards) ||
      std::ranges::any_of(loops, is_empty)) {
    return;
  }
  std::vector<int64_t> extents = result->extents;
  bool box_is_inside = true;
  for (const CAccess& access : buffer.accesses) {
    for (size_t x = 0; x < extents.size(); ++x) {
      const auto range = IterationRange(access.index.indices[x], loops);
      const auto box = BoxRange(access.index.indices[x], loops);
      // What is wrong, Create says.
      if (!range.has_value() || !box.has_value() || range->first < 0) return;
      if (buffer.extents[x] < 0) extents[x] = std::max(extents[x], range->second + 1);
      if (range->second >= extents[x]) return;
      box_is_inside = box_is_inside && box->first >= 0 && box->second < extents[x];
    }
  }
  if (box_is_inside) return;
  result->extents = std::move(extents);
  result->extents_given = true;
  result->boundary.kind = Boundary::Kind::kClamp;
}

Result<Buffer> BufferMemory::ToBuffer(const CBuffer& buffer) const {
  Buffer result{.name = buffer.name, .extents = {}, .accesses = {}};
  if (buffer.element.is_record()) {
    std::vector<TypedName> fields;
    for (const CField& field : buffer.element.fields) fields.push_back({field.name, field.type});
    const Result<ElementType> record = ElementType::Record(std::move(fields));
    if (!record.ok()) return unit_.source().ErrorAt(buffer.offset, record.status().message());
    result.type = *record;
  } else {
    result.type = buffer.element.scalar;
  }
  for (const CAccess& access : buffer.accesses) result.accesses.push_back(access.index);
  result.extents = buffer.extents;
  // All extents are given, or none is.
  const bool is_inferred = result.extents.size() == 1 && result.extents[0] < 0;
  result.extents_given = !result.extents.empty() && !is_inferred;
  FitToIterations(buffer, &result);
  if (!result.extents_given || result.extents[0] >= 0) return result;
  result.extents[0] = 0;
  for (const IndexFunction& access : result.accesses) {
    if (!HasValues(access.indices[0])) continue;
    int64_t largest = access.indices[0].constant;
    for (size_t d = 0; d < integers_.loops().size(); ++d) {
      int64_t span = 0;
      const int64_t steps = integers_.loops()[d].size - 1;
      if (access.indices[0].coefficients[d] <= 0) continue;
      if (__builtin_mul_overflow(access.indices[0].coefficients[d], steps, &span) ||
          __builtin_add_overflow(largest, span, &largest)) {
        return unit_.source().ErrorAt(buffer.offset, "the first extent does not fit in 63 bits");
      }
    }
    if (largest < result.extents[0]) continue;
    if (__builtin_add_overflow(largest, 1, &result.extents[0])) {
      return unit_.source().ErrorAt(buffer.offset, "the first extent does not fit in 63 bits");
    }
  }
  return result;
}

}  // namespace mdh
