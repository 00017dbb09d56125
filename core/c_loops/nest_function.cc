#include "core/c_loops/nest_function.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "core/c_loops/combine_function.h"

namespace mdh {
namespace {

// Under a name that is not in *used.
std::vector<TypedName> Fields(const NestElement& element, std::set<std::string>* used) {
  const std::string name = UniqueName(element.name, used);
  if (!element.type.is_record()) return {{name, element.type.scalar}};
  std::vector<TypedName> fields;
  for (const CField& field : element.type.fields) {
    fields.push_back({absl::StrCat(name, ".", field.name), field.type});
  }
  return fields;
}

}  // namespace

void AddElements(const CBuffer& buffer, const std::vector<const CAccess*>& accesses,
                 NestElements* elements) {
  for (size_t a = 0; a < accesses.size(); ++a) {
    elements->push_back({accesses.size() == 1 ? buffer.name : absl::StrCat(buffer.name, a + 1),
                         buffer.element, accesses[a]->first_parameter});
  }
}

NestElements ElementsOf(const NestInputs& inputs) {
  NestElements elements;
  for (const auto& [buffer, accesses] : inputs) AddElements(*buffer, accesses, &elements);
  return elements;
}

bool IsUsed(const CBuffer& buffer, const CAccess& access, const std::set<int>& used) {
  const auto own = used.lower_bound(access.first_parameter);
  const auto fields = static_cast<int>(buffer.element.ScalarTypes().size());
  return own != used.end() && *own < access.first_parameter + fields;
}

Result<NestFunction> MakeNestFunction(std::string name, const NestElements& parameters,
                                      const NestElements& results, const std::vector<int>& values,
                                      const std::vector<Loop>& loops,
                                      const ScalarBuilder& builder) {
  std::vector<int> index_dimensions;
  std::set<std::string> used;
  std::vector<TypedName> parameter_names, result_names;
  std::map<int, int> positions;
  for (const NestElement& element : parameters) {
    int parameter = element.first_parameter;
    for (TypedName& field : Fields(element, &used)) {
      positions[parameter++] = static_cast<int>(parameter_names.size());
      parameter_names.push_back(std::move(field));
    }
  }
  for (const NestElement& element : results) {
    for (TypedName& field : Fields(element, &used)) result_names.push_back(std::move(field));
  }
  for (const int parameter : builder.UsedParameters(values)) {
    if (parameter < BufferMemory::kIndexParameters) continue;
    const int d = parameter - BufferMemory::kIndexParameters;
    positions[parameter] = static_cast<int>(parameter_names.size());
    parameter_names.push_back({UniqueName(loops[d].name, &used), ScalarType::kInt64});
    index_dimensions.push_back(d);
  }
  MDH_ASSIGN_OR_RETURN(ScalarFunction function,
                       builder.Finish(std::move(name), std::move(parameter_names),
                                      std::move(result_names), values, positions));
  return NestFunction{std::move(function), std::move(index_dimensions)};
}

}  // namespace mdh
