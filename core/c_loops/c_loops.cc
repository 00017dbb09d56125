// Which loops are meant, and what the names in them are bound to.
#include "core/c_loops/c_loops.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/identifier.h"
#include "core/base/source.h"
#include "core/base/text_view.h"
#include "core/c_loops/annotation.h"
#include "core/c_loops/clang_unit.h"
#include "core/c_loops/nest_conversion.h"
#include "core/c_loops/nest_pipeline.h"

namespace mdh {
namespace {

// Values from outside, divided between macros and variables.
struct BoundNames {
  std::vector<std::string> definitions;
  std::map<std::string, int64_t> variables;  // by declaration
};

Result<BoundNames> Bind(const Bindings& bindings, const Source& source,
                        const std::string& file_name) {
  BoundNames bound;
  if (bindings.empty()) return bound;
  const auto declared = ClangUnit::DeclaredVariables(source, file_name);
  for (const auto& [name, value] : bindings) {
    if (!IsIdentifier(name)) return InvalidArgument("'", name, "' is no name");
    const std::optional<ScalarType> type = ScalarTypeFromName(value);
    int64_t number = 0;
    const bool is_number = absl::SimpleAtoi(value, &number);
    if (!is_number && !type.has_value()) {
      return InvalidArgument("the value '", value, "' of '", name,
                             "' is neither a 64-bit integer nor a type");
    }
    if (!is_number && Info(*type).c_name.empty()) {
      return InvalidArgument("C has no type ", Name(*type), ", the value of '", name, "'");
    }
    const auto [first, last] = declared.equal_range(name);
    if (first == last) {
      bound.definitions.push_back(absl::StrCat(
          name, "=", is_number ? absl::StrCat(number) : std::string(Info(*type).c_name)));
    }
    for (auto variable = first; variable != last; ++variable) {
      if (!is_number || !variable->second.is_integer || variable->second.has_value) {
        return InvalidArgument(
            "'", name, "' cannot have the value '", value, "': the file declares it as a variable ",
            variable->second.has_value ? "with a value of its own" : "of another type");
      }
      bound.variables[variable->second.declaration] = number;
    }
  }
  return bound;
}

// Every name from outside occurs.
Status CheckUsed(const Bindings& bindings, const ClangUnit& unit, absl::string_view source_name) {
  for (const auto& [name, value] : bindings) {
    bool occurs = false;
    for (const CToken& token : unit.tokens()) occurs = occurs || token.text == name;
    if (occurs) continue;
    return InvalidArgument(source_name, ": '", name, "' has a value, but does not occur");
  }
  return absl::OkStatus();
}

struct AnnotatedLoop {
  std::string function;
  const Annotation* annotation;
};

Status SeveralInOne(const std::string& function, const Annotation& second, const Source& source) {
  return source.ErrorAt(second.offset, "'", function,
                        "' has several annotated loops; there can be one in a "
                        "function, or several nests in one annotated block");
}

Result<AnnotatedLoop> Choose(const std::vector<Annotation>& annotations, const ClangUnit& unit,
                             const std::string& wanted, absl::string_view source_name) {
  std::vector<AnnotatedLoop> loops;
  std::string names;
  for (const Annotation& annotation : annotations) {
    std::string function;
    for (const ClangUnit::Definition& definition : unit.Definitions()) {
      const bool is_inside =
          definition.begin < annotation.offset && annotation.offset < definition.end;
      if (is_inside) function = definition.name;
    }
    if (function.empty()) {
      return unit.source().ErrorAt(annotation.offset, "this annotation is in no function");
    }
    absl::StrAppend(&names, names.empty() ? "" : ", ", function);
    if (wanted.empty() || function == wanted) loops.push_back({function, &annotation});
  }
  if (loops.size() == 1) return loops[0];
  if (annotations.empty()) {
    return NotFound(source_name, ": there is no loop with '#pragma mdh' before it");
  }
  if (loops.empty()) {
    return NotFound(source_name, ": there are no annotated loops in '", wanted, "', only in ",
                    names);
  }
  const bool are_in_one = std::ranges::all_of(
      loops, [&](const AnnotatedLoop& loop) { return loop.function == loops[0].function; });
  if (!are_in_one) {
    return InvalidArgument(source_name, ": there are ", loops.size(),
                           " annotated loops; name the function of those that are meant: ", names);
  }
  return SeveralInOne(loops[0].function, *loops[1].annotation, unit.source());
}

// Or a block.
const CNode* FindLoop(const CNode& node, size_t offset) {
  const bool is_either = node.kind == CNode::Kind::kFor || node.kind == CNode::Kind::kCompound;
  if (is_either && node.begin == offset) return &node;
  for (const CNode& child : node.children) {
    if (const CNode* found = FindLoop(child, offset); found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace

Result<Computation> ParseCComputation(std::string_view text, const CLoopsOptions& options,
                                      std::string_view source_name) {
  const Source source(View(source_name), View(text));
  const std::string file_name(source_name);
  MDH_ASSIGN_OR_RETURN(const BoundNames bound, Bind(options.bindings, source, file_name));
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<ClangUnit> unit,
                       ClangUnit::Parse(source, file_name, bound.definitions));
  MDH_RETURN_IF_ERROR(CheckUsed(options.bindings, *unit, View(source_name)));
  MDH_ASSIGN_OR_RETURN(const std::vector<Annotation> annotations, FindAnnotations(*unit));
  MDH_ASSIGN_OR_RETURN(const AnnotatedLoop chosen,
                       Choose(annotations, *unit, options.function, View(source_name)));
  MDH_ASSIGN_OR_RETURN(const CFunction* function, unit->Function(chosen.function));
  const CNode* loop = FindLoop(function->body, chosen.annotation->loop);
  if (loop == nullptr) {
    return source.ErrorAt(chosen.annotation->offset, "no 'for' loop follows this annotation");
  }
  if (IsPipeline(*loop)) {
    MDH_ASSIGN_OR_RETURN(
        Pipeline pipeline,
        ConvertPipeline(function->name, *loop, *chosen.annotation, bound.variables, unit.get()));
    return ToComputation(std::move(pipeline));
  }
  if (!chosen.annotation->inner.empty()) {
    return SeveralInOne(chosen.function, chosen.annotation->inner[0], source);
  }
  MDH_ASSIGN_OR_RETURN(ConvertedNest nest, ConvertNest(function->name, *loop, *chosen.annotation,
                                                       bound.variables, unit.get()));
  return std::move(nest.expression);
}

}  // namespace mdh
