// From the syntax of a pipeline and of what it calls to a pipeline.
#include "core/text/pipeline_parser.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/source.h"
#include "core/base/text_view.h"
#include "core/pipeline/pipeline_place.h"
#include "core/text/definition_parser.h"
#include "core/text/pipeline_syntax.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

std::string NamesOfItems(const std::vector<TextItem>& items) {
  return absl::StrJoin(items, ", ", [](std::string* out, const TextItem& item) {
    absl::StrAppend(out, item.header.name.text);
  });
}

// The one that `name` means; if it is empty, the only pipeline, or else the only definition.
Result<const TextItem*> MeantItem(const std::vector<TextItem>& items, absl::string_view name,
                                  const TokenStream& stream) {
  const TextItem* meant = nullptr;
  for (const TextItem& item : items) {
    if (!name.empty()) {
      if (item.header.name.Is(name)) return &item;
      continue;
    }
    if (!item.is_pipeline) continue;
    if (meant != nullptr) {
      return stream.ErrorAt(item.header.name, "the text has two pipelines, '",
                            meant->header.name.text, "' and '", item.header.name.text,
                            "': name the one that is meant");
    }
    meant = &item;
  }
  if (meant != nullptr) return meant;
  if (!name.empty()) {
    return stream.ErrorAt(items[0].header.name, "the text has no definition called '", name,
                          "'; it has ", NamesOfItems(items));
  }
  if (items.size() == 1) return &items[0];
  return stream.ErrorAt(items[1].header.name, "the text has the definitions ", NamesOfItems(items),
                        " and no pipeline that calls them: name the one that is meant, or add "
                        "'NAME := pipeline(INPUTS) -> OUTPUTS { RESULT = ",
                        items[0].header.name.text, "(...); ... }'");
}

class PipelineInstantiation {
 public:
  PipelineInstantiation(const std::vector<TextItem>& items, TokenStream* stream)
      : items_(items), is_called_(items.size(), false), stream_(*stream) {}

  Result<Pipeline> Run(const TextItem& item, const Bindings& bindings) {
    TypeNames types;
    SizeValues sizes;
    stream_.Seek(item.body);
    MDH_RETURN_IF_ERROR(BindParameters(item.header, bindings, &stream_, &types, &sizes));
    MDH_ASSIGN_OR_RETURN(syntax_, ParsePipelineSyntax(item.header.name, types, sizes, &stream_));
    MDH_RETURN_IF_ERROR(CheckEnd(item));
    spec_.name = std::string(item.header.name.text);
    MDH_RETURN_IF_ERROR(DeclareBuffers());
    for (const CallSyntax& call : syntax_.calls) MDH_RETURN_IF_ERROR(AppendStep(call));
    MDH_RETURN_IF_ERROR(CheckAllCalled());
    Result<Pipeline> pipeline = Pipeline::Create(std::move(spec_));
    if (pipeline.ok()) return pipeline;
    const Status& status = pipeline.status();
    return stream_.ErrorOfCode(status.code(), TokenOf(PlaceOfPipeline(status)), status.message());
  }

  // A definition with values for its parameters.
  Result<Expression> Instantiate(const TextItem& item, const Bindings& bindings) {
    stream_.Seek(item.begin);
    MDH_ASSIGN_OR_RETURN(Expression expression, ParseNextExpression(&stream_, bindings));
    MDH_RETURN_IF_ERROR(CheckEnd(item));
    return expression;
  }

 private:
  // What is read is all there is before the next definition.
  Status CheckEnd(const TextItem& item) const {
    if (stream_.position() == item.end) return absl::OkStatus();
    return stream_.Unexpected("a definition or the end of the text");
  }

  Status Declare(const Token& name, Role role) {
    const auto [entry, is_new] =
        numbers_.emplace(std::string(name.text), static_cast<int>(spec_.buffers.size()));
    if (!is_new) {
      return stream_.ErrorAt(
          name, spec_.buffers[entry->second].role == role
                    ? absl::StrCat("two ", role == Role::kInput ? "inputs" : "outputs",
                                   " are called '", name.text, "'")
                    : absl::StrCat("'", name.text, "' is an input, which no step writes"));
    }
    spec_.buffers.push_back({.name = std::string(name.text), .role = role});
    tokens_.push_back(name);
    return absl::OkStatus();
  }

  // Inputs, outputs, and what else steps write.
  Status DeclareBuffers() {
    for (const Token& name : syntax_.inputs) MDH_RETURN_IF_ERROR(Declare(name, Role::kInput));
    for (const Token& name : syntax_.outputs) MDH_RETURN_IF_ERROR(Declare(name, Role::kOutput));
    for (const CallSyntax& call : syntax_.calls) {
      for (const Token& name : call.results) {
        if (numbers_.find(name.text) != numbers_.end()) continue;
        MDH_RETURN_IF_ERROR(Declare(name, Role::kTemporary));
      }
    }
    return absl::OkStatus();
  }

  Result<int> NumberOf(const Token& name) const {
    const auto entry = numbers_.find(name.text);
    if (entry != numbers_.end()) return entry->second;
    const auto names_of = [&](bool inputs) {
      std::vector<absl::string_view> names;
      for (const PipelineBuffer& buffer : spec_.buffers) {
        if ((buffer.role == Role::kInput) == inputs) names.push_back(buffer.name);
      }
      return names.empty() ? "none" : absl::StrJoin(names, ", ");
    };
    return stream_.ErrorAt(name, "unknown buffer '", name.text, "'; the inputs are ",
                           names_of(true), ", and steps write ", names_of(false));
  }

  Status AppendStep(const CallSyntax& call) {
    const auto item = std::ranges::find_if(items_, [&](const TextItem& candidate) {
      return candidate.header.name.Is(call.name.text);
    });
    if (item == items_.end()) {
      return stream_.ErrorAt(call.name, "unknown definition '", call.name.text, "'; the text has ",
                             NamesOfItems(items_));
    }
    if (item->is_pipeline) {
      return stream_.ErrorAt(call.name, "'", call.name.text,
                             "' is a pipeline; its steps call definitions "
                             "with an md_hom");
    }
    is_called_[item - items_.begin()] = true;
    std::vector<int> inputs, outputs;
    for (const Token& name : call.arguments) {
      MDH_ASSIGN_OR_RETURN(const int number, NumberOf(name));
      inputs.push_back(number);
    }
    for (const Token& name : call.results) {
      MDH_ASSIGN_OR_RETURN(const int number, NumberOf(name));
      outputs.push_back(number);
    }
    MDH_ASSIGN_OR_RETURN(const Bindings bindings, BindingsOf(call, item->header));
    MDH_ASSIGN_OR_RETURN(Expression expression, Instantiate(*item, bindings));
    spec_.steps.push_back({std::move(expression), std::move(inputs), std::move(outputs)});
    return absl::OkStatus();
  }

  // Values in the order of the parameters of their kind, or by name.
  Result<Bindings> BindingsOf(const CallSyntax& call, const HeaderSyntax& header) const {
    Bindings bindings;
    std::vector<const ParameterSyntax*> types, sizes;
    for (const ParameterSyntax& parameter : header.parameters) {
      (parameter.is_type ? types : sizes).push_back(&parameter);
    }
    size_t next_type = 0, next_size = 0;
    for (const ArgumentSyntax& argument : call.parameters) {
      const bool is_type = argument.type != nullptr;
      const std::vector<const ParameterSyntax*>& candidates = is_type ? types : sizes;
      size_t& next = is_type ? next_type : next_size;
      if (argument.is_named) {
        next = std::ranges::find_if(candidates,
                                    [&](const ParameterSyntax* parameter) {
                                      return parameter->name.Is(argument.token.text);
                                    }) -
               candidates.begin();
      }
      const absl::string_view kind = is_type ? "type" : "size";
      if (next >= candidates.size()) {
        return stream_.ErrorAt(
            argument.token,
            argument.is_named
                ? absl::StrCat("'", call.name.text, "' has no ", kind, " parameter '",
                               argument.token.text, "'")
                : absl::StrCat("'", call.name.text, "' has ", candidates.size(), " ", kind,
                               candidates.size() == 1 ? " parameter" : " parameters",
                               "; there is none for this value"));
      }
      const std::string name(candidates[next++]->name.text);
      const std::string value = is_type ? argument.type->ToString() : absl::StrCat(argument.size);
      if (!bindings.emplace(name, value).second) {
        return stream_.ErrorAt(argument.token, "parameter '", name, "' of '", call.name.text,
                               "' is given twice");
      }
    }
    for (const ParameterSyntax& parameter : header.parameters) {
      if (parameter.default_end > parameter.default_begin) continue;
      if (bindings.count(std::string(parameter.name.text)) > 0) continue;
      return stream_.ErrorAt(call.name, "parameter '", parameter.name.text, "' of '",
                             call.name.text, "' has no value; give it as ", call.name.text,
                             parameter.is_type ? "<" : "<| ", parameter.name.text, " = ...>");
    }
    return bindings;
  }

  // Definitions that the only pipeline does not call are mistakes.
  Status CheckAllCalled() const {
    const auto pipelines = std::ranges::count_if(items_, &TextItem::is_pipeline);
    for (size_t n = 0; n < items_.size() && pipelines == 1; ++n) {
      if (is_called_[n] || items_[n].is_pipeline) continue;
      return stream_.ErrorAt(items_[n].header.name, "pipeline '", spec_.name, "' does not call '",
                             items_[n].header.name.text, "'; leave it out");
    }
    return absl::OkStatus();
  }

  Token TokenOf(const std::optional<PipelinePlace>& place) const {
    if (!place.has_value()) return syntax_.name;
    switch (place->kind) {
      case PipelinePlace::Kind::kBuffer:
        return tokens_[place->number];
      case PipelinePlace::Kind::kStep:
        return syntax_.calls[place->number].name;
      case PipelinePlace::Kind::kStepInput:
        return syntax_.calls[place->number].arguments[place->position];
      case PipelinePlace::Kind::kStepOutput:
        return syntax_.calls[place->number].results[place->position];
    }
    return syntax_.name;
  }

  const std::vector<TextItem>& items_;
  std::vector<bool> is_called_;
  TokenStream& stream_;
  PipelineSyntax syntax_;
  PipelineSpec spec_;
  std::map<std::string, int, std::less<>> numbers_;  // of buffers
  std::vector<Token> tokens_;                        // of buffers, where they are declared
};

}  // namespace

Result<Pipeline> ParsePipeline(std::string_view text, const Bindings& bindings,
                               std::string_view source_name, std::string_view name) {
  const Source source(View(source_name), View(text));
  MDH_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  TokenStream stream(source, std::move(tokens));
  MDH_ASSIGN_OR_RETURN(const std::vector<TextItem> items, FindItems(&stream));
  MDH_ASSIGN_OR_RETURN(const TextItem* item, MeantItem(items, View(name), stream));
  PipelineInstantiation instantiation(items, &stream);
  if (item->is_pipeline) return instantiation.Run(*item, bindings);
  MDH_ASSIGN_OR_RETURN(Expression expression, instantiation.Instantiate(*item, bindings));
  return Pipeline::Of(std::move(expression));
}

bool HoldsPipeline(std::string_view text) {
  if (text.find("pipeline") == std::string_view::npos) return false;
  const Source source("<text>", View(text));
  Result<std::vector<Token>> tokens = Tokenize(source);
  if (!tokens.ok()) return false;
  TokenStream stream(source, *std::move(tokens));
  const Result<std::vector<TextItem>> items = FindItems(&stream);
  return items.ok() && std::ranges::any_of(*items, &TextItem::is_pipeline);
}

}  // namespace mdh
