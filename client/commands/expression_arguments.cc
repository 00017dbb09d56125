#include "client/commands/expression_arguments.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/commands/expression_format.h"
#include "core/c_loops/c_loops.h"
#include "core/einsum/einsum.h"

namespace mdh {
namespace {

Result<std::string> ReadText(const std::string& file) {
  if (file == "-") {
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  std::ifstream stream(file);
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream.is_open() || stream.bad()) {
    return absl::NotFoundError(absl::StrCat("cannot read ", file, ": ", std::strerror(errno)));
  }
  return text;
}

// Standard input is text; C is read from files, which include others.
bool IsCFile(const std::string& file) {
  return absl::EndsWith(file, ".c") || absl::EndsWith(file, ".h");
}

Result<Expression> LoadEinsum(const ExpressionArguments& arguments) {
  if (!arguments.set.empty()) {
    return absl::InvalidArgumentError("--set is for files; --einsum takes --size and --type");
  }
  Bindings sizes;
  for (const std::string& list : arguments.sizes) MDH_RETURN_IF_ERROR(AddSizes(list, &sizes));
  const std::optional<ScalarType> type = ScalarTypeFromName(arguments.type);
  if (!type.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("'", arguments.type, "' is no type"));
  }
  return ParseEinsum(arguments.einsum, sizes, *type);
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
  command.add_option("--type", arguments.type, "type of the buffers of --einsum")
      ->capture_default_str()
      ->needs(einsum);
  command.parse_complete_callback([&arguments] {
    if (arguments.file.empty() == arguments.einsum.empty()) {
      throw CLI::ValidationError(arguments.file.empty() ? "FILE or --einsum is required"
                                                        : "FILE and --einsum exclude each other",
                                 CLI::ExitCodes::RequiredError);
    }
  });
}

}  // namespace

void AddExpressionArguments(CLI::App& command, ExpressionArguments& arguments,
                            const std::string& file_help) {
  command.add_option("FILE", arguments.file, file_help);
  AddOtherSources(command, arguments);
  command
      .add_option("--set", arguments.set,
                  "NAME=VALUE: a size or a type for a parameter of the definition; repeatable")
      ->expected(1)
      ->take_all()
      ->check([](const std::string& binding) {
        const size_t equals = binding.find('=');
        const bool is_binding = equals != std::string::npos && equals > 0;
        return is_binding ? std::string()
                          : absl::StrCat("'", binding, "' is not of the form NAME=VALUE");
      });
}

Result<Expression> LoadExpression(const ExpressionArguments& arguments) {
  if (!arguments.einsum.empty()) return LoadEinsum(arguments);
  MDH_ASSIGN_OR_RETURN(const std::string text, ReadText(arguments.file));
  const ExpressionFormat format = FormatOfFile(arguments.file);
  if (format != ExpressionFormat::kText) {
    if (arguments.set.empty()) return ReadMessage(text, format, arguments.file);
    return absl::InvalidArgumentError(
        absl::StrCat(arguments.file, ": messages have no parameters; --set is for the text form"));
  }
  Bindings bindings;
  for (const std::string& binding : arguments.set) {
    const size_t equals = binding.find('=');
    bindings[binding.substr(0, equals)] = binding.substr(equals + 1);
  }
  if (IsCFile(arguments.file)) {
    return ParseCLoops(text, {.bindings = bindings, .function = arguments.function},
                       arguments.file);
  }
  return ParseExpression(text, bindings, arguments.file == "-" ? "<stdin>" : arguments.file);
}

}  // namespace mdh
