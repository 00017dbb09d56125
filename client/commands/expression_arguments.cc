#include "client/commands/expression_arguments.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "client/commands/expression_format.h"

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

}  // namespace

void AddExpressionArguments(CLI::App& command, ExpressionArguments& arguments,
                            const std::string& file_help) {
  command.add_option("FILE", arguments.file, file_help)->required();
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
  return ParseExpression(text, bindings, arguments.file == "-" ? "<stdin>" : arguments.file);
}

}  // namespace mdh
