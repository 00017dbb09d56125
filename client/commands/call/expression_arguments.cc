#include "client/commands/call/expression_arguments.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/commands/call/command.h"
#include "client/commands/format/expression_format.h"
#include "core/c_loops/c_loops.h"
#include "core/device/system_model.h"
#include "core/einsum/einsum.h"
#include "core/teml/teml.h"

namespace mdh {
namespace {

// Standard input is text; C is read from files, which include others.
bool IsCFile(const std::string& file) {
  return absl::EndsWith(file, ".c") || absl::EndsWith(file, ".h");
}

Result<ScalarType> TypeFromArgument(const std::string& name) {
  const std::optional<ScalarType> type = ScalarTypeFromName(name);
  if (type.has_value()) return *type;
  return InvalidArgument("'", name, "' is no type");
}

Result<Expression> LoadEinsum(const ExpressionArguments& arguments) {
  if (!arguments.set.empty()) {
    return InvalidArgument("--set is for files; --einsum takes --size, --shape and types");
  }
  EinsumOptions options;
  for (const std::string& list : arguments.sizes) {
    MDH_RETURN_IF_ERROR(AddSizes(list, &options.sizes));
  }
  for (const std::string& shape : arguments.shapes) {
    MDH_ASSIGN_OR_RETURN(std::vector<int64_t> extents, ParseShape(shape));
    options.shapes.push_back(std::move(extents));
  }
  MDH_ASSIGN_OR_RETURN(options.type, TypeFromArgument(arguments.type));
  if (!arguments.out_type.empty()) {
    MDH_ASSIGN_OR_RETURN(options.out_type, TypeFromArgument(arguments.out_type));
  }
  if (!arguments.accumulate.empty()) {
    MDH_ASSIGN_OR_RETURN(options.accumulate, TypeFromArgument(arguments.accumulate));
  }
  options.epilogue = arguments.epilogue;
  return ParseEinsum(arguments.einsum, options);
}

Bindings BindingsOf(const ExpressionArguments& arguments) {
  Bindings bindings;
  for (const std::string& binding : arguments.set) {
    const size_t equals = binding.find('=');
    bindings[binding.substr(0, equals)] = binding.substr(equals + 1);
  }
  return bindings;
}

std::string SourceNameOf(const ExpressionArguments& arguments) {
  return arguments.file == "-" ? "<stdin>" : arguments.file;
}

std::string CheckBinding(const std::string& binding) {
  const size_t equals = binding.find('=');
  const bool is_binding = equals != std::string::npos && equals > 0;
  return is_binding ? std::string() : absl::StrCat("'", binding, "' is not of the form NAME=VALUE");
}

void AddOtherSources(CLI::App& command, ExpressionArguments& arguments) {
  command.add_option(
      "--function", arguments.function,
      "of a C file with several annotated loops: the function whose loops are meant");
  CLI::Option* einsum = command.add_option(
      "--einsum", arguments.einsum, "instead of FILE: a summation string such as \"ik,kj->ij\"");
  command.add_option("--size", arguments.sizes, "LETTER=SIZE,...: sizes for --einsum; repeatable")
      ->expected(1)
      ->take_all()
      ->needs(einsum);
  command
      .add_option("--shape", arguments.shapes,
                  "N,N,...: extents of an operand of --einsum, instead of sizes; once for each")
      ->expected(1)
      ->take_all()
      ->needs(einsum);
  command.add_option("--type", arguments.type, "type of the operands of --einsum")
      ->capture_default_str()
      ->needs(einsum);
  command.add_option("--out-type", arguments.out_type, "type of its output [that of the operands]")
      ->needs(einsum);
  command
      .add_option("--accumulate", arguments.accumulate,
                  "type in which its products are added up [the wider one of both]")
      ->needs(einsum);
  command
      .add_option(
          "--epilogue", arguments.epilogue,
          "what is made of its sums, out, before they are stored, as \"max(out + bias[j], 0)\"")
      ->needs(einsum);
  command.parse_complete_callback([&arguments] {
    if (arguments.file.empty() == arguments.einsum.empty()) {
      throw CLI::ValidationError(arguments.file.empty() ? "FILE or --einsum is required"
                                                        : "FILE and --einsum exclude each other",
                                 CLI::ExitCodes::RequiredError);
    }
  });
}

Result<Computation> Load(const ExpressionArguments& arguments) {
  if (!arguments.einsum.empty()) return LoadEinsum(arguments);
  MDH_ASSIGN_OR_RETURN(const std::string text, ReadText(arguments.file));
  const ExpressionFormat format = FormatOfFile(arguments.file);
  if (format != ExpressionFormat::kText) {
    if (arguments.set.empty()) return ReadMessage(text, format, arguments.file);
    return InvalidArgument(arguments.file,
                           ": messages have no parameters; --set is for the text form");
  }
  const Bindings bindings = BindingsOf(arguments);
  if (IsCFile(arguments.file)) {
    return ParseCComputation(text, {.bindings = bindings, .function = arguments.function},
                             arguments.file);
  }
  return ParseTextOfAnyKind(text, bindings, SourceNameOf(arguments));
}

Result<std::string> LoopsOfTeml(const ExpressionArguments& arguments) {
  if (arguments.einsum.empty()) {
    MDH_ASSIGN_OR_RETURN(const std::string text, ReadText(arguments.file));
    const std::string source = SourceNameOf(arguments);
    if (IsTeml(text, source)) {
      MDH_ASSIGN_OR_RETURN(const TemlProgram program,
                           ParseTemlProgram(text, BindingsOf(arguments), source));
      return ToText(program);
    }
  }
  return InvalidArgument("only TeML programs (.teml) have loops to print");
}

Result<std::optional<ScheduledTeml>> SchedulesOf(const ExpressionArguments& arguments,
                                                 ScheduleDetail detail) {
  const bool is_text = arguments.einsum.empty() && arguments.file != "-" &&
                       FormatOfFile(arguments.file) == ExpressionFormat::kText &&
                       !IsCFile(arguments.file);
  if (!is_text) return std::nullopt;
  MDH_ASSIGN_OR_RETURN(const std::string text, ReadText(arguments.file));
  const std::string source = SourceNameOf(arguments);
  if (!IsTeml(text, source)) return std::nullopt;
  MDH_ASSIGN_OR_RETURN(ScheduledTeml scheduled,
                       ParseTemlSchedules(text, BindingsOf(arguments), source,
                                          TuningModel(DeviceKind::kCpu), detail));
  const bool says_nothing = std::ranges::all_of(
      scheduled.schedules, [](const std::string& schedule) { return schedule.empty(); });
  if (says_nothing) return std::nullopt;
  return scheduled;
}

}  // namespace

Result<std::string> ReadText(const std::string& file) {
  if (file == "-") {
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  std::ifstream stream(file);
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream.is_open() || stream.bad()) {
    return NotFound("cannot read ", file, ": ", std::strerror(errno));
  }
  return text;
}

void AddExpressionArguments(CLI::App& command, ExpressionArguments& arguments,
                            const std::string& file_help) {
  command.add_option("FILE", arguments.file, file_help);
  AddOtherSources(command, arguments);
  command
      .add_option("--set", arguments.set,
                  "NAME=VALUE: a size or a type for a parameter of the definition; repeatable")
      ->expected(1)
      ->take_all()
      ->check(CheckBinding);
  // Processed behind --set: options are, in the order in which they are added.
  command
      .add_option_function<std::vector<std::string>>(
          "BINDING",
          [&arguments](const std::vector<std::string>& bindings) {
            arguments.set.insert(arguments.set.end(), bindings.begin(), bindings.end());
          },
          "NAME=VALUE, as with --set")
      ->check(CheckBinding);
}

std::vector<std::string> WordsOf(const ExpressionArguments& arguments) {
  if (arguments.file == "-") return {};
  std::vector<std::string> words;
  const auto add = [&words](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  if (arguments.einsum.empty()) {
    words.push_back(arguments.file);
    if (!arguments.function.empty()) add("--function", arguments.function);
    for (const std::string& binding : arguments.set) add("--set", binding);
    return words;
  }
  add("--einsum", arguments.einsum);
  for (const std::string& list : arguments.sizes) add("--size", list);
  for (const std::string& shape : arguments.shapes) add("--shape", shape);
  if (!arguments.out_type.empty()) add("--out-type", arguments.out_type);
  if (!arguments.accumulate.empty()) add("--accumulate", arguments.accumulate);
  if (!arguments.epilogue.empty()) add("--epilogue", arguments.epilogue);
  if (arguments.type != ExpressionArguments().type) add("--type", arguments.type);
  return words;
}

Result<Computation> LoadComputation(const ExpressionArguments& arguments) {
  return WithExitCode(ExitCode::kBadExpression, Load(arguments));
}

Result<std::optional<ScheduledTeml>> LoadTemlSchedules(const ExpressionArguments& arguments,
                                                       ScheduleDetail detail) {
  return WithExitCode(ExitCode::kBadExpression, SchedulesOf(arguments, detail));
}

Result<std::string> LoadLoops(const ExpressionArguments& arguments) {
  return WithExitCode(ExitCode::kBadExpression, LoopsOfTeml(arguments));
}

}  // namespace mdh
