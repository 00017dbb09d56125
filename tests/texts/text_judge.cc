#include "tests/texts/text_judge.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/generate_pipeline.h"
#include "core/pipeline/plan/plan.h"
#include "core/teml/teml.h"
#include "core/text/parser.h"
#include "proto/expression_conversion.h"
#include "tests/core/pipeline/interpreted_pipeline.h"
#include "tests/core/teml/loop_interpreter.h"

namespace mdh {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kNotWritten = "-";

// Words of a line of values behind "in NAME" or "out NAME".
using Words = std::vector<std::string>;
struct GivenValues {
  std::map<std::string, Words> inputs, outputs;
};

struct NamedInput {
  std::string name;
  ElementType type;
  int64_t elements;
};

Result<std::string> ContentsOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string StemOf(const std::string& path) { return fs::path(path).replace_extension().string(); }

Result<GivenValues> ValuesOf(const std::string& path) {
  MDH_ASSIGN_OR_RETURN(const std::string text, ContentsOf(StemOf(path) + ".values"));
  GivenValues values;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    Words words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    const bool is_input = words[0] == "in";
    if (words.size() < 2 || !(is_input || words[0] == "out")) {
      return absl::InvalidArgumentError(absl::StrCat("these are no values: ", line));
    }
    const std::string name = words[1];
    words.erase(words.begin(), words.begin() + 2);
    (is_input ? values.inputs : values.outputs)[name] = std::move(words);
  }
  return values;
}

Result<Computation> ReadText(const std::string& path) {
  MDH_ASSIGN_OR_RETURN(const std::string text, ContentsOf(path));
  if (!absl::EndsWith(path, ".pb")) return ParseTextOfAnyKind(text, {}, path);
  v1::Expression message;
  if (!message.ParseFromString(text)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is no expression"));
  }
  MDH_ASSIGN_OR_RETURN(Expression expression, FromProto(message, ExpressionLimits::None()));
  return Computation(std::move(expression));
}

std::vector<NamedInput> InputsOf(const ComputationView& computation) {
  std::vector<NamedInput> inputs;
  if (const Expression* const expression = computation.expression()) {
    for (const Buffer& buffer : expression->passed_inputs()) {
      inputs.push_back({buffer.name, buffer.type, buffer.elements()});
    }
    return inputs;
  }
  const Pipeline& pipeline = *computation.pipeline();
  for (const int b : pipeline.BuffersOf(PipelineBuffer::Role::kInput)) {
    const PipelineBuffer& buffer = pipeline.buffers()[b];
    inputs.push_back({buffer.name, buffer.type, buffer.elements()});
  }
  return inputs;
}

std::vector<JudgedOutput> OutputsOf(const ComputationView& computation) {
  return computation.expression() != nullptr ? OutputsOf(*computation.expression())
                                             : OutputsOf(*computation.pipeline());
}

Result<std::vector<BufferBytes>> Interpreted(const ComputationView& computation,
                                             const std::vector<BufferBytes>& inputs) {
  if (computation.expression() == nullptr) {
    return InterpretPipeline(*computation.pipeline(), inputs);
  }
  return Interpret(*computation.expression(), inputs);
}

// Of a pipeline as it is, or fused in one of the ways that a plan has, which its name decides.
Result<Kernel> KernelFromRules(const JudgedBackend& backend, const ComputationView& computation) {
  DeviceDescription device;
  device.cores = 3;
  device.compiler = "gcc";
  const bool is_on_device = backend.device() != nullptr;
  if (is_on_device) device = backend.device()->description();
  const SystemModel model = !is_on_device                      ? OpenMpSimdRegistersModel()
                            : device.kind == DeviceKind::kCuda ? CudaModel()
                                                               : OpenClModel();
  if (const Pipeline* const pipeline = computation.pipeline()) {
    const std::vector<Partition> partitions =
        PlanPartitions(*pipeline, {.max_partitions = 4, .may_reassociate = false});
    const size_t chosen = std::hash<std::string>()(pipeline->name()) % (partitions.size() + 1);
    const Pipeline& fused = chosen == 0 ? *pipeline : partitions[chosen - 1].pipeline;
    return GeneratePipelineKernel(fused, model, device, DefaultParameters(fused, model, device));
  }
  const Expression& expression = *computation.expression();
  MDH_ASSIGN_OR_RETURN(
      const LowLevelExpression low,
      Lower(expression, model, device, DefaultParameters(expression, model, device)));
  return backend.Generate(low, device);
}

std::optional<ScalarValue> ValueOf(ScalarType type, const std::string& word) {
  double real = 0;
  int64_t whole = 0;
  if (IsFloatingPoint(type) && absl::SimpleAtod(word, &real)) return ScalarValue::Real(type, real);
  if (IsFloatingPoint(type) || !absl::SimpleAtoi(word, &whole)) return std::nullopt;
  return ScalarValue::Integer(type, whole);
}

// nullopt: nobody writes it. Errors: InvalidArgument for another number of values, and for words
// that are none.
Result<std::vector<std::optional<ScalarValue>>> ValuesOf(const std::map<std::string, Words>& given,
                                                         const std::string& name, ScalarType type,
                                                         int64_t elements) {
  const auto found = given.find(name);
  if (found == given.end()) {
    return absl::InvalidArgumentError(absl::StrCat("there are no values of ", name));
  }
  if (static_cast<int64_t>(found->second.size()) != elements) {
    return absl::InvalidArgumentError(absl::StrCat(name, " has ", elements, " elements, but ",
                                                   found->second.size(), " values are given"));
  }
  std::vector<std::optional<ScalarValue>> values;
  for (const std::string& word : found->second) {
    values.push_back(ValueOf(type, word));
    if (values.back().has_value() || word == kNotWritten) continue;
    return absl::InvalidArgumentError(absl::StrCat("'", word, "' is no value of ", name));
  }
  return values;
}

Result<std::vector<BufferBytes>> GivenInputs(const std::vector<NamedInput>& inputs,
                                             const GivenValues& given) {
  std::vector<BufferBytes> all;
  for (const NamedInput& input : inputs) {
    const ScalarType type = input.type.fields()[0].type;
    MDH_ASSIGN_OR_RETURN(const auto values,
                         ValuesOf(given.inputs, input.name, type, input.elements));
    BufferBytes bytes(values.size() * SizeBytes(type));
    for (size_t n = 0; n < values.size(); ++n) {
      if (values[n].has_value()) values[n]->Store(bytes.data() + n * SizeBytes(type));
    }
    all.push_back(std::move(bytes));
  }
  return all;
}

// Zeros of both signs are: who adds up from 0 gets another one than who adds up from the first
// value.
bool IsSame(const ScalarValue& a, const ScalarValue& b) {
  return a == b || (IsFloatingPoint(a.type()) && a.as_double() == b.as_double());
}

constexpr const char* kContents[] = {"a result", "cleared", "left as it is"};

// What of an output is not as it was given. `who` computed it.
std::string DifferenceFromGiven(const JudgedOutput& output, const BufferBytes& got,
                                const GivenValues& given, absl::string_view who) {
  const ScalarType type = output.buffer.type.fields()[0].type;
  const auto values = ValuesOf(given.outputs, output.buffer.name, type, output.buffer.elements());
  if (!values.ok()) return std::string(values.status().message());
  for (size_t n = 0; n < values->size(); ++n) {
    const std::optional<ScalarValue>& right = (*values)[n];
    const ElementContent content = output.contents[n];
    const ScalarValue found = ScalarValue::Load(type, got.data() + n * SizeBytes(type));
    const bool is_left = content == ElementContent::kFormer;
    if (right.has_value() ? !is_left && IsSame(found, *right) : is_left) continue;
    return absl::StrCat(output.buffer.name, "[", n, "] is ", found.ToString(), ", ",
                        kContents[static_cast<int>(content)], ", by ", who, ", but ",
                        right.has_value() ? right->ToString() : "left as it is", " is right");
  }
  return "";
}

// What the loops of a TeML program compute that was not given.
std::string JudgeLoops(const std::string& path, const std::vector<NamedInput>& inputs,
                       const std::vector<BufferBytes>& contents,
                       const std::vector<JudgedOutput>& outputs, const GivenValues& given) {
  const Result<std::string> text = ContentsOf(path);
  if (!text.ok()) return std::string(text.status().message());
  const Result<TemlProgram> program = ParseTemlProgram(*text, {}, path);
  if (!program.ok()) return std::string(program.status().message());
  TensorContents tensors;
  for (size_t b = 0; b < inputs.size(); ++b) tensors[inputs[b].name] = contents[b];
  const Result<TensorContents> results = InterpretLoops(*program, tensors);
  if (!results.ok()) return std::string(results.status().message());
  for (const JudgedOutput& output : outputs) {
    std::string wrong =
        DifferenceFromGiven(output, results->at(output.buffer.name), given, "TeML's loops");
    if (!wrong.empty()) return wrong;
  }
  return "";
}

Status Judge(JudgedBackend& backend, const std::string& path) {
  MDH_ASSIGN_OR_RETURN(const Computation computation, ReadText(path));
  MDH_ASSIGN_OR_RETURN(const GivenValues given, ValuesOf(path));
  const std::vector<NamedInput> inputs = InputsOf(computation);
  const std::vector<JudgedOutput> outputs = OutputsOf(ComputationView(computation));
  MDH_ASSIGN_OR_RETURN(const std::vector<BufferBytes> contents, GivenInputs(inputs, given));
  MDH_ASSIGN_OR_RETURN(const std::vector<BufferBytes> results, Interpreted(computation, contents));
  for (size_t b = 0; b < outputs.size(); ++b) {
    std::string wrong = DifferenceFromGiven(outputs[b], results[b], given, "the interpreter");
    if (!wrong.empty()) return absl::InternalError(wrong);
  }
  if (absl::EndsWith(path, ".teml")) {
    std::string wrong = JudgeLoops(path, inputs, contents, outputs, given);
    if (!wrong.empty()) return absl::InternalError(wrong);
  }
  MDH_ASSIGN_OR_RETURN(const Kernel kernel, KernelFromRules(backend, computation));
  return backend.Judge(outputs, kernel, contents, results);
}

}  // namespace

std::vector<std::string> TextsOf(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    const std::string ending = entry.path().extension().string();
    const bool is_text = ending == ".mdh" || ending == ".teml" || ending == ".pb";
    if (is_text && fs::exists(StemOf(path) + ".values")) paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string JudgeText(JudgedBackend& backend, const std::string& path) {
  return std::string(Judge(backend, path).message());
}

}  // namespace mdh
