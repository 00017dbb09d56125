// mdh check, mdh print: work without a daemon.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "client/commands/call/command.h"
#include "client/commands/call/expression_arguments.h"
#include "client/commands/format/explain.h"
#include "client/commands/format/explain_pipeline.h"
#include "client/commands/format/expression_format.h"
#include "client/text/text_table.h"

namespace mdh {
namespace {

struct PrintArguments {
  ExpressionArguments expression;
  ExpressionFormat format = ExpressionFormat::kText;
};

Status CheckExpression(const GlobalOptions& options, const ExpressionArguments& arguments) {
  MDH_ASSIGN_OR_RETURN(const Computation computation, LoadComputation(arguments));
  std::visit(
      [&options](const auto& one) {
        if (options.json) {
          std::printf("%s\n", ExplainAsJson(one).dump(2).c_str());
        } else {
          PrintWrapped(ExplainAsText(one), 13);
        }
      },
      computation);
  return absl::OkStatus();
}

Status PrintExpression(const GlobalOptions& options, const PrintArguments& arguments) {
  MDH_ASSIGN_OR_RETURN(const Computation computation, LoadComputation(arguments.expression));
  std::string bytes = WriteComputation(computation, arguments.format);
  if (options.json && arguments.format == ExpressionFormat::kText) {
    const nlohmann::ordered_json json = {{"text", bytes}};
    bytes = json.dump(2) + "\n";
  }
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  return absl::OkStatus();
}

}  // namespace

void AddExpressionCommands(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto check_arguments = std::make_shared<ExpressionArguments>();
  CLI::App* check =
      app.add_subcommand("check", "parse an expression or a pipeline and explain it; no daemon");
  AddExpressionArguments(*check, *check_arguments);
  Select(check, selected,
         [&options, check_arguments] { return CheckExpression(options, *check_arguments); });

  auto print_arguments = std::make_shared<PrintArguments>();
  CLI::App* print = app.add_subcommand(
      "print", "print an expression or a pipeline with its sizes and types; no daemon");
  AddExpressionArguments(*print, print_arguments->expression);
  print
      ->add_option_function<std::string>(
          "--format",
          [print_arguments](const std::string& name) {
            print_arguments->format = *FormatFromName(name);
          },
          "text, binpb (binary mdh.v1.Expression or Pipeline) or json (the same as protobuf's "
          "JSON) [text]")
      ->check([](const std::string& name) {
        return std::string(FormatFromName(name).status().message());
      });
  Select(print, selected,
         [&options, print_arguments] { return PrintExpression(options, *print_arguments); });
}

}  // namespace mdh
