// mdh check, mdh print: work without a daemon.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/commands/command.h"
#include "client/commands/expression_arguments.h"
#include "client/commands/formatting.h"
#include "core/canonical.h"
#include "core/text/printer.h"

namespace mdh {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> AccessTexts(const Expression& expression, const Buffer& buffer) {
  std::vector<std::string> texts;
  for (const IndexFunction& access : buffer.accesses) {
    texts.push_back(ToText(access, expression.dimensions()));
  }
  return texts;
}

Json BufferJson(const Expression& expression, const Buffer& buffer) {
  return {{"name", buffer.name},
          {"type", std::string(Name(buffer.type))},
          {"extents", buffer.extents},
          {"size_bytes", buffer.size_bytes()},
          {"accesses", AccessTexts(expression, buffer)}};
}

Json ExpressionJson(const Expression& expression) {
  Json dimensions = Json::array();
  for (int d = 0; d < expression.rank(); ++d) {
    dimensions.push_back({{"name", expression.dimensions()[d].name},
                          {"size", expression.dimensions()[d].size},
                          {"operator", expression.combine_operators()[d].ToString()}});
  }
  Json inputs = Json::array();
  for (const Buffer& buffer : expression.inputs()) inputs.push_back(BufferJson(expression, buffer));
  Json outputs = Json::array();
  for (const Buffer& buffer : expression.outputs()) {
    outputs.push_back(BufferJson(expression, buffer));
  }
  return {{"name", expression.name()},
          {"digest", Digest(expression)},
          {"dimensions", dimensions},
          {"inputs", inputs},
          {"outputs", outputs},
          {"function", ToText(expression.function())},
          {"flops", expression.FloatingPointOperations()},
          {"compulsory_bytes", expression.CompulsoryBytes()}};
}

std::string BufferText(const Expression& expression, const Buffer& buffer) {
  return absl::StrFormat("    %-8s %s[%s], %s: %s\n", buffer.name, std::string(Name(buffer.type)),
                         absl::StrJoin(buffer.extents, ","), FormatBytes(buffer.size_bytes()),
                         absl::StrJoin(AccessTexts(expression, buffer), ", "));
}

std::string Explain(const Expression& expression) {
  std::string text = absl::StrCat(expression.name(), "\n  dimensions\n");
  for (int d = 0; d < expression.rank(); ++d) {
    const CombineOperator& combine = expression.combine_operators()[d];
    absl::StrAppendFormat(
        &text, "    %-8s %d points, %s\n", expression.dimensions()[d].name,
        expression.dimensions()[d].size,
        combine.is_concat() ? "concatenated (++)" : "reduced with " + combine.ToString());
  }
  absl::StrAppend(&text, expression.inputs().empty() ? "" : "  inputs\n");
  for (const Buffer& buffer : expression.inputs()) {
    absl::StrAppend(&text, BufferText(expression, buffer));
  }
  absl::StrAppend(&text, "  outputs\n");
  for (const Buffer& buffer : expression.outputs()) {
    absl::StrAppend(&text, BufferText(expression, buffer));
  }
  const int64_t flops = expression.FloatingPointOperations();
  const int64_t bytes = expression.CompulsoryBytes();
  absl::StrAppend(&text, "  function\n    ", ToText(expression.function()), "\n");
  absl::StrAppendFormat(
      &text,
      "  work\n    %d floating-point operations, %s at least moved, %.2f operations per byte\n",
      flops, FormatBytes(bytes), static_cast<double>(flops) / static_cast<double>(bytes));
  absl::StrAppend(&text, "  digest\n    ", Digest(expression), "\n");
  return text;
}

ExitCode Check(const GlobalOptions& options, const ExpressionArguments& arguments) {
  const Result<Expression> expression = LoadExpression(arguments);
  if (!expression.ok()) {
    return Fail(ExitCode::kBadExpression, std::string(expression.status().message()));
  }
  if (options.json) {
    std::printf("%s\n", ExpressionJson(*expression).dump(2).c_str());
  } else {
    std::printf("%s", Explain(*expression).c_str());
  }
  return ExitCode::kOk;
}

ExitCode Print(const GlobalOptions& options, const ExpressionArguments& arguments) {
  const Result<Expression> expression = LoadExpression(arguments);
  if (!expression.ok()) {
    return Fail(ExitCode::kBadExpression, std::string(expression.status().message()));
  }
  const std::string text = ToText(*expression);
  if (options.json) {
    const Json json = {{"text", text}};
    std::printf("%s\n", json.dump(2).c_str());
  } else {
    std::printf("%s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
  }
  return ExitCode::kOk;
}

}  // namespace

void AddExpressionCommands(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto check_arguments = std::make_shared<ExpressionArguments>();
  CLI::App* check = app.add_subcommand("check", "parse an expression and explain it; no daemon");
  AddExpressionArguments(*check, *check_arguments);
  check->callback([&options, &selected, check_arguments] {
    selected = [&options, check_arguments] { return Check(options, *check_arguments); };
  });

  auto print_arguments = std::make_shared<ExpressionArguments>();
  CLI::App* print =
      app.add_subcommand("print", "print an expression with its sizes and types; no daemon");
  AddExpressionArguments(*print, *print_arguments);
  print->callback([&options, &selected, print_arguments] {
    selected = [&options, print_arguments] { return Print(options, *print_arguments); };
  });
}

}  // namespace mdh
