#include "tuner/program/kernel_plan.h"

#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/program/command_plan.h"
#include "tuner/program/file_contents.h"
#include "tuner/space/formula/formula_names.h"
#include "tuner/space/formula/formula_text.h"

namespace mdh {
namespace {

constexpr ValueType kNumbers[] = {ValueType::kInteger, ValueType::kReal};
constexpr ValueType kScalars[] = {ValueType::kBool, ValueType::kInteger, ValueType::kReal};

Result<std::string> ReadContents(const std::string& folder, const std::string& file) {
  const std::string path = file.starts_with("/") ? file : absl::StrCat(folder, "/", file);
  Result<std::string> contents = ReadFileContents(path);
  if (contents.ok()) return contents;
  return InvalidArgument("cannot read ", file, ": ", contents.status().message());
}

std::vector<std::byte> Bytes(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

// Makes a plan field by field.
class Planner {
 public:
  Planner(const v1::KernelProgram& kernel, const StudyDefinition& study, const std::string& folder)
      : kernel_(kernel), study_(study), folder_(folder) {}

  Result<KernelPlan> Plan() {
    MDH_RETURN_IF_ERROR(PlanSource());
    for (int n = 0; n < kernel_.arguments_size(); ++n) {
      const std::string field = absl::StrCat("kernel.arguments[", n, "]");
      MDH_RETURN_IF_ERROR(PlanArgument(kernel_.arguments(n), field, n));
    }
    MDH_RETURN_IF_ERROR(PlanGeometry());
    for (int n = 0; n < kernel_.options_size(); ++n) {
      Result<TextTemplate> option =
          TextTemplate::Parse(kernel_.options(n), TemplateNames(study_, {"spec"}));
      MDH_RETURN_IF_ERROR(InField(absl::StrCat("kernel.options[", n, "]"), option.status()));
      plan_.options.push_back(*std::move(option));
    }
    for (int n = 0; n < kernel_.expected_size(); ++n) {
      MDH_RETURN_IF_ERROR(
          PlanExpectation(kernel_.expected(n), absl::StrCat("kernel.expected[", n, "]")));
    }
    plan_.device = kernel_.device();
    const Result<int> repetitions = Repetitions(kernel_.repetitions(), 5);
    MDH_RETURN_IF_ERROR(InField("kernel.repetitions", repetitions.status()));
    const Result<int64_t> limit = TimeLimitNs(kernel_.time_limit_seconds());
    MDH_RETURN_IF_ERROR(InField("kernel.time_limit_seconds", limit.status()));
    plan_.repetitions = *repetitions;
    plan_.time_limit_ns = *limit;
    return std::move(plan_);
  }

 private:
  Status PlanSource() {
    if (kernel_.language() != v1::OPENCL && kernel_.language() != v1::CUDA) {
      return InvalidArgument("kernel.language: must be OPENCL or CUDA");
    }
    plan_.language = kernel_.language();
    plan_.source = kernel_.source();
    if (kernel_.code_case() == v1::KernelProgram::kSourceFile) {
      Result<std::string> source = ReadContents(folder_, kernel_.source_file());
      MDH_RETURN_IF_ERROR(InField("kernel.source_file", source.status()));
      plan_.source = *std::move(source);
    }
    if (plan_.source.empty()) {
      return InvalidArgument("kernel: 'source' or 'source_file' is missing or empty");
    }
    if (kernel_.function().empty()) return InvalidArgument("kernel.function: is missing");
    plan_.function = kernel_.function();
    return absl::OkStatus();
  }

  Result<Formula> ReadFormula(const std::string& field, const std::string& text,
                              absl::Span<const ValueType> types) const {
    Result<Formula> formula = ReadStudyFormula(text, study_, types);
    MDH_RETURN_IF_ERROR(InField(field, formula.status()));
    return formula;
  }

  Status PlanArgument(const v1::ProgramArgument& argument, const std::string& field, int number) {
    PlannedArgument planned = {};
    planned.name =
        argument.name().empty() ? absl::StrCat("argument ", number + 1) : argument.name();
    if (!argument.name().empty() && !names_.insert(argument.name()).second) {
      return InvalidArgument(field, ".name: there are two arguments called '", argument.name(),
                             "'");
    }
    const Result<ArgumentType> type = ArgumentTypeNamed(argument.type());
    MDH_RETURN_IF_ERROR(InField(absl::StrCat(field, ".type"), type.status()));
    planned.type = *type;
    MDH_RETURN_IF_ERROR(PlanContent(argument, field, planned));
    plan_.arguments.push_back(std::move(planned));
    return absl::OkStatus();
  }

  Status PlanContent(const v1::ProgramArgument& argument, const std::string& field,
                     PlannedArgument& planned) {
    using Content = v1::ProgramArgument::ContentCase;
    switch (argument.content_case()) {
      case Content::kValue:
        planned.content = ArgumentContent::kValue;
        return SetFormula(absl::StrCat(field, ".value"), argument.value(), kScalars, planned);
      case Content::kRandom:
        planned.content = ArgumentContent::kRandom;
        return SetFormula(absl::StrCat(field, ".random"), argument.random(), kNumbers, planned);
      case Content::kZeros:
        planned.content = ArgumentContent::kZeros;
        return SetFormula(absl::StrCat(field, ".zeros"), argument.zeros(), kNumbers, planned);
      case Content::kFile: {
        const Result<std::string> contents = ReadContents(folder_, argument.file());
        MDH_RETURN_IF_ERROR(InField(absl::StrCat(field, ".file"), contents.status()));
        return SetBytes(absl::StrCat(field, ".file"), *contents, planned);
      }
      case Content::kData:
        return SetBytes(absl::StrCat(field, ".data"), argument.data(), planned);
      case Content::CONTENT_NOT_SET:
        break;
    }
    return InvalidArgument(field, ": one of value, random, zeros, file and data is missing");
  }

  Status SetFormula(const std::string& field, const std::string& text,
                    absl::Span<const ValueType> types, PlannedArgument& planned) const {
    MDH_ASSIGN_OR_RETURN(planned.formula, ReadFormula(field, text, types));
    return absl::OkStatus();
  }

  static Status SetBytes(const std::string& field, const std::string& contents,
                         PlannedArgument& planned) {
    planned.content = ArgumentContent::kBytes;
    planned.bytes = Bytes(contents);
    return CheckBytes(field, contents.size(), planned);
  }

  static Status CheckBytes(const std::string& field, size_t bytes,
                           const PlannedArgument& argument) {
    if (bytes > 0 && bytes % static_cast<size_t>(SizeBytes(argument.type)) == 0) {
      return absl::OkStatus();
    }
    return InvalidArgument(field, ": ", bytes, " bytes are no elements of ",
                           std::string(Name(argument.type)));
  }

  Status PlanGeometry() {
    const int dimensions = kernel_.global_size_size();
    if (dimensions < 1 || dimensions > 3) {
      return InvalidArgument("kernel.global_size: has ", dimensions,
                             " dimensions, it must have 1 to 3");
    }
    const bool may_be_left_out = kernel_.language() == v1::OPENCL;
    if (kernel_.local_size_size() != dimensions &&
        !(may_be_left_out && kernel_.local_size_size() == 0)) {
      return InvalidArgument("kernel.local_size: has ", kernel_.local_size_size(),
                             " dimensions, global_size has ", dimensions);
    }
    MDH_RETURN_IF_ERROR(ReadSizes("kernel.global_size", kernel_.global_size(), plan_.global_size));
    MDH_RETURN_IF_ERROR(ReadSizes("kernel.local_size", kernel_.local_size(), plan_.local_size));
    if (kernel_.shared_bytes().empty()) return absl::OkStatus();
    if (kernel_.language() != v1::CUDA) {
      return InvalidArgument("kernel.shared_bytes: is for CUDA only");
    }
    MDH_ASSIGN_OR_RETURN(plan_.shared_bytes,
                         ReadFormula("kernel.shared_bytes", kernel_.shared_bytes(), kNumbers));
    return absl::OkStatus();
  }

  template <typename Texts>
  Status ReadSizes(const std::string& field, const Texts& texts, std::vector<Formula>& to) const {
    for (int n = 0; n < texts.size(); ++n) {
      MDH_ASSIGN_OR_RETURN(Formula formula,
                           ReadFormula(absl::StrCat(field, "[", n, "]"), texts[n], kNumbers));
      to.push_back(std::move(formula));
    }
    return absl::OkStatus();
  }

  Result<size_t> BufferNamed(const std::string& name) const {
    std::vector<std::string> names;
    for (size_t n = 0; n < plan_.arguments.size(); ++n) {
      if (!plan_.arguments[n].is_buffer()) continue;
      if (plan_.arguments[n].name == name) return n;
      names.push_back(plan_.arguments[n].name);
    }
    return InvalidArgument("there is no buffer called '", name, "'", Suggestion(name, names));
  }

  Status PlanExpectation(const v1::ExpectedBuffer& expected, const std::string& field) {
    const Result<size_t> argument = BufferNamed(expected.argument());
    MDH_RETURN_IF_ERROR(InField(absl::StrCat(field, ".argument"), argument.status()));
    const PlannedArgument& buffer = plan_.arguments[*argument];
    PlannedExpectation planned = {.argument = *argument, .tolerance = expected.tolerance()};
    if (!(expected.tolerance() >= 0) || !std::isfinite(expected.tolerance())) {
      return InvalidArgument(field, ".tolerance: must not be negative");
    }
    if (expected.tolerance() == 0) {
      planned.tolerance = buffer.type == ArgumentType::kFloat32 ? 1e-5 : 1e-12;
    }
    MDH_RETURN_IF_ERROR(PlanReference(expected, field, buffer, planned));
    const bool differs = buffer.content == ArgumentContent::kBytes && !planned.elements &&
                         planned.bytes.size() != buffer.bytes.size();
    if (differs) {
      return InvalidArgument(field, ": has ", planned.bytes.size(), " bytes, the buffer ",
                             buffer.bytes.size());
    }
    plan_.expected.push_back(std::move(planned));
    return absl::OkStatus();
  }

  Status PlanReference(const v1::ExpectedBuffer& expected, const std::string& field,
                       const PlannedArgument& buffer, PlannedExpectation& planned) const {
    using Reference = v1::ExpectedBuffer::ReferenceCase;
    switch (expected.reference_case()) {
      case Reference::kElements: {
        Result<Formula> elements = ReadElements(expected.elements());
        MDH_RETURN_IF_ERROR(InField(absl::StrCat(field, ".elements"), elements.status()));
        planned.elements = *std::move(elements);
        return absl::OkStatus();
      }
      case Reference::kFile: {
        const Result<std::string> contents = ReadContents(folder_, expected.file());
        MDH_RETURN_IF_ERROR(InField(absl::StrCat(field, ".file"), contents.status()));
        planned.bytes = Bytes(*contents);
        return CheckBytes(absl::StrCat(field, ".file"), contents->size(), buffer);
      }
      case Reference::kData:
        planned.bytes = Bytes(expected.data());
        return CheckBytes(absl::StrCat(field, ".data"), expected.data().size(), buffer);
      case Reference::REFERENCE_NOT_SET:
        break;
    }
    return InvalidArgument(field, ": one of elements, file and data is missing");
  }

  // For names of which only the type matters.
  static Result<Range> RangeOfNumber(bool is_real) {
    return is_real ? Range::Of({Value(0.0)}) : Range::Of({Value(int64_t{0})});
  }

  // Arguments, then definitions, then parameters: the first of a name counts.
  Result<Formula> ReadElements(const std::string& text) const {
    MDH_ASSIGN_OR_RETURN(Formula formula, ParseFormula(text));
    std::vector<TuningParameter> names;
    std::set<std::string> taken;
    for (const PlannedArgument& argument : plan_.arguments) {
      taken.insert(argument.name);
      MDH_ASSIGN_OR_RETURN(Range range, RangeOfNumber(IsReal(argument.type)));
      names.push_back({argument.name, std::move(range)});
    }
    for (const auto& definition : study_.definitions) {
      if (!taken.insert(definition.first).second) continue;
      MDH_ASSIGN_OR_RETURN(const ValueType type,
                           CheckFormula(definition.second, study_.parameters));
      if (type != ValueType::kInteger && type != ValueType::kReal) continue;
      MDH_ASSIGN_OR_RETURN(Range range, RangeOfNumber(type == ValueType::kReal));
      names.push_back({definition.first, std::move(range)});
    }
    for (const TuningParameter& parameter : study_.parameters) {
      const ValueType type = parameter.range.type();
      if (type != ValueType::kInteger && type != ValueType::kReal) continue;
      if (taken.insert(parameter.name).second) names.push_back(parameter);
    }
    MDH_ASSIGN_OR_RETURN(const ValueType type, CheckFormula(formula, names));
    if (type != ValueType::kInteger && type != ValueType::kReal) {
      return InvalidArgument("is no number but a ", std::string(Name(type)));
    }
    return formula;
  }

  const v1::KernelProgram& kernel_;
  const StudyDefinition& study_;
  const std::string& folder_;
  KernelPlan plan_;
  std::set<std::string> names_;
};

}  // namespace

Result<KernelPlan> PlanKernel(const v1::KernelProgram& kernel, const StudyDefinition& study,
                              const std::string& folder) {
  return Planner(kernel, study, folder).Plan();
}

}  // namespace mdh
