#include "tuner/program/argument_buffers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/program/command_plan.h"
#include "tuner/program/element_formula.h"

namespace mdh {
namespace {

// FNV-1a: the same everywhere, unlike std::hash.
uint64_t SeedOf(const std::string& name) {
  uint64_t seed = 0xcbf29ce484222325;
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return seed;
}

template <typename T>
ArgumentBytes RandomOf(std::mt19937_64& rng, int64_t count) {
  ArgumentBytes bytes(static_cast<size_t>(count) * sizeof(T));
  for (size_t n = 0; n < static_cast<size_t>(count); ++n) {
    T value;
    if constexpr (std::is_floating_point_v<T>) {
      // 24 bits: exact in both types, and smaller than 1.
      value = static_cast<T>(rng() >> 40) / static_cast<T>(1 << 24);
    } else if constexpr (std::is_signed_v<T>) {
      value = static_cast<T>(static_cast<int64_t>(rng() % 201) - 100);
    } else {
      value = static_cast<T>(rng() % 101);
    }
    std::memcpy(bytes.data() + n * sizeof(T), &value, sizeof value);
  }
  return bytes;
}

Number NumberAt(ArgumentType type, const std::byte* from) {
  if (IsReal(type)) return Number(LoadReal(type, from));
  const std::optional<int64_t> integer = LoadInteger(type, from);
  return integer ? Number(*integer) : Number(LoadReal(type, from));
}

Value ValueOf(const Number& number) {
  return number.is_real ? Value(number.real) : Value(number.integer);
}

std::string TextAt(ArgumentType type, const std::byte* from) {
  return ToText(ValueOf(NumberAt(type, from)));
}

// Elements that differ from a reference by more than they may.
std::string Differences(const PlannedArgument& buffer, const ArgumentBytes& reference,
                        const ArgumentBytes& result, double tolerance) {
  const size_t size = static_cast<size_t>(SizeBytes(buffer.type));
  const size_t count = reference.size() / size;
  double squares = 0;
  for (size_t n = 0; IsReal(buffer.type) && n < count; ++n) {
    const double want = LoadReal(buffer.type, reference.data() + n * size);
    if (std::isfinite(want)) squares += want * want;
  }
  const double rms = std::sqrt(squares / static_cast<double>(count));
  size_t wrong = 0;
  size_t first = 0;
  for (size_t n = 0; n < count; ++n) {
    const std::byte* got = result.data() + n * size;
    const std::byte* wanted = reference.data() + n * size;
    bool is_right = std::memcmp(got, wanted, size) == 0;
    if (!is_right && IsReal(buffer.type)) {
      const double want = LoadReal(buffer.type, wanted);
      // False for NaN.
      is_right =
          std::abs(LoadReal(buffer.type, got) - want) <= tolerance * std::max(std::abs(want), rms);
    }
    if (is_right) continue;
    if (wrong++ == 0) first = n;
  }
  if (wrong == 0) return "";
  return absl::StrCat(buffer.name, "[", first, "] is ",
                      TextAt(buffer.type, result.data() + first * size), ", expected is ",
                      TextAt(buffer.type, reference.data() + first * size), "; ", wrong, " of ",
                      count, " elements are wrong");
}

}  // namespace

ArgumentBytes RandomElements(const std::string& name, ArgumentType type, int64_t count) {
  std::mt19937_64 rng(SeedOf(name));
  switch (type) {
    case ArgumentType::kInt8:
      return RandomOf<int8_t>(rng, count);
    case ArgumentType::kUint8:
      return RandomOf<uint8_t>(rng, count);
    case ArgumentType::kInt16:
      return RandomOf<int16_t>(rng, count);
    case ArgumentType::kUint16:
      return RandomOf<uint16_t>(rng, count);
    case ArgumentType::kInt32:
      return RandomOf<int32_t>(rng, count);
    case ArgumentType::kUint32:
      return RandomOf<uint32_t>(rng, count);
    case ArgumentType::kInt64:
      return RandomOf<int64_t>(rng, count);
    case ArgumentType::kUint64:
      return RandomOf<uint64_t>(rng, count);
    case ArgumentType::kFloat32:
      return RandomOf<float>(rng, count);
    case ArgumentType::kFloat64:
      return RandomOf<double>(rng, count);
  }
  return {};
}

Result<int64_t> PositiveInteger(const Formula& formula, const StudyDefinition& study,
                                const Configuration& configuration) {
  MDH_ASSIGN_OR_RETURN(const Value value, Evaluate(formula, study.parameters, configuration));
  ArgumentBytes bytes(sizeof(int64_t));
  const Status stored = StoreNumber(value, ArgumentType::kInt64, bytes.data());
  const std::optional<int64_t> integer = LoadInteger(ArgumentType::kInt64, bytes.data());
  if (stored.ok() && *integer > 0) return *integer;
  return InvalidArgument(formula.ToText(), " is ", ToText(value), ", which is no positive integer");
}

Result<const ArgumentContents*> ArgumentMaker::Make(const Configuration& configuration) {
  for (size_t n = 0; n < plan_.arguments.size(); ++n) {
    MDH_RETURN_IF_ERROR(InField(plan_.arguments[n].name, MakeOne(n, configuration)));
  }
  return &made_;
}

Status ArgumentMaker::MakeOne(size_t argument, const Configuration& configuration) {
  const PlannedArgument& planned = plan_.arguments[argument];
  ArgumentBytes& made = made_[argument];
  const size_t size = static_cast<size_t>(SizeBytes(planned.type));
  if (planned.content == ArgumentContent::kBytes) {
    if (made.empty()) made = planned.bytes;
    return absl::OkStatus();
  }
  if (planned.content == ArgumentContent::kValue) {
    MDH_ASSIGN_OR_RETURN(Value value, Evaluate(*planned.formula, study_.parameters, configuration));
    if (const bool* condition = std::get_if<bool>(&value)) value = int64_t{*condition};
    made.assign(size, std::byte{0});
    return StoreNumber(value, planned.type, made.data());
  }
  MDH_ASSIGN_OR_RETURN(const int64_t count,
                       PositiveInteger(*planned.formula, study_, configuration));
  if (count > most_bytes_ / SizeBytes(planned.type)) {
    return ResourceExhausted(count, " elements are too many: the device has ", most_bytes_,
                             " bytes of memory");
  }
  if (made.size() == static_cast<size_t>(count) * size) return absl::OkStatus();
  made = planned.content == ArgumentContent::kZeros
             ? ArgumentBytes(static_cast<size_t>(count) * size)
             : RandomElements(planned.name, planned.type, count);
  return absl::OkStatus();
}

Result<std::map<std::string, Number>> ResultJudge::Constants(
    const Formula& elements, const Configuration& configuration,
    const ArgumentContents& contents) const {
  std::map<std::string, Number> constants;
  for (const std::string& name : elements.Parameters()) {
    const auto argument = std::ranges::find(plan_.arguments, name, &PlannedArgument::name);
    if (argument != plan_.arguments.end()) {
      if (argument->is_buffer()) continue;
      const auto n = static_cast<size_t>(argument - plan_.arguments.begin());
      constants[name] = NumberAt(argument->type, contents[n].data());
      continue;
    }
    const auto definition = study_.definitions.find(name);
    MDH_ASSIGN_OR_RETURN(const Value value,
                         Evaluate(definition != study_.definitions.end() ? definition->second
                                                                         : Formula::Parameter(name),
                                  study_.parameters, configuration));
    constants[name] = std::holds_alternative<double>(value) ? Number(std::get<double>(value))
                                                            : Number(std::get<int64_t>(value));
  }
  return constants;
}

Result<std::vector<size_t>> ResultJudge::Columns(const PlannedExpectation& expected,
                                                 const std::map<std::string, Number>& constants,
                                                 const ArgumentContents& contents) const {
  const int64_t count = Count(expected.argument, contents);
  std::vector<size_t> columns;
  for (const std::string& name : expected.elements->Parameters()) {
    if (constants.contains(name)) continue;
    const auto argument = std::ranges::find(plan_.arguments, name, &PlannedArgument::name);
    columns.push_back(static_cast<size_t>(argument - plan_.arguments.begin()));
    if (Count(columns.back(), contents) < count) {
      return InvalidArgument(name, " has fewer elements than ",
                             plan_.arguments[expected.argument].name);
    }
  }
  return columns;
}

int64_t ResultJudge::Count(size_t argument, const ArgumentContents& contents) const {
  return static_cast<int64_t>(contents[argument].size()) /
         SizeBytes(plan_.arguments[argument].type);
}

Result<ArgumentBytes> ResultJudge::Compute(const PlannedExpectation& expected,
                                           const std::map<std::string, Number>& constants,
                                           const ArgumentContents& contents) const {
  MDH_ASSIGN_OR_RETURN(const std::vector<size_t> columns, Columns(expected, constants, contents));
  std::vector<std::string> names;
  for (const size_t column : columns) names.push_back(plan_.arguments[column].name);
  const ElementFormula formula(*expected.elements, names, constants);
  const PlannedArgument& buffer = plan_.arguments[expected.argument];
  const int64_t count = Count(expected.argument, contents);
  std::vector<Number> values(columns.size());
  ArgumentBytes reference(contents[expected.argument].size());
  for (int64_t element = 0; element < count; ++element) {
    for (size_t c = 0; c < columns.size(); ++c) {
      const ArgumentType type = plan_.arguments[columns[c]].type;
      values[c] = NumberAt(type, contents[columns[c]].data() + element * SizeBytes(type));
    }
    const Result<Number> value = formula.At(values);
    Status status = value.status();
    if (status.ok()) {
      status = StoreNumber(ValueOf(*value), buffer.type,
                           reference.data() + element * SizeBytes(buffer.type));
    }
    MDH_RETURN_IF_ERROR(InField(absl::StrCat(buffer.name, "[", element, "]"), status));
  }
  return reference;
}

Result<const ArgumentBytes*> ResultJudge::ReferenceFor(size_t expectation,
                                                       const Configuration& configuration,
                                                       const ArgumentContents& contents) {
  const PlannedExpectation& expected = plan_.expected[expectation];
  if (!expected.elements) return &expected.bytes;
  MDH_ASSIGN_OR_RETURN(const auto constants,
                       Constants(*expected.elements, configuration, contents));
  std::string key = absl::StrCat(contents[expected.argument].size());
  for (const auto& constant : constants) {
    absl::StrAppend(&key, " ", constant.first, "=", ToText(ValueOf(constant.second)));
  }
  Reference& reference = references_[expectation];
  // Contents of buffers are not part of the key: they begin with the same elements in every trial.
  MDH_RETURN_IF_ERROR(Columns(expected, constants, contents).status());
  if (reference.key == key) return &reference.bytes;
  reference.key.clear();
  MDH_ASSIGN_OR_RETURN(reference.bytes, Compute(expected, constants, contents));
  reference.key = std::move(key);
  return &reference.bytes;
}

Result<std::string> ResultJudge::Judge(const Configuration& configuration,
                                       const ArgumentContents& contents,
                                       const ArgumentContents& results) {
  for (size_t n = 0; n < plan_.expected.size(); ++n) {
    const PlannedExpectation& expected = plan_.expected[n];
    const PlannedArgument& buffer = plan_.arguments[expected.argument];
    Result<const ArgumentBytes*> reference = ReferenceFor(n, configuration, contents);
    if (!reference.ok()) {
      return Status(reference.status().code(), absl::StrCat("the reference cannot be computed: ",
                                                            reference.status().message()));
    }
    const ArgumentBytes& result = results[expected.argument];
    if ((*reference)->size() != result.size()) {
      return InvalidArgument("the reference of ", buffer.name, " has ", (*reference)->size(),
                             " bytes, the buffer ", result.size());
    }
    std::string differences = Differences(buffer, **reference, result, expected.tolerance);
    if (!differences.empty()) return differences;
  }
  return std::string();
}

}  // namespace mdh
