#include "tests/proto/api_changes.h"

#include <algorithm>

namespace mdh {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::ServiceDescriptorProto;

// The element with the name of `wanted`; null if there is none.
template <typename Elements, typename Element>
const Element* Named(const Elements& elements, const Element& wanted) {
  const auto found = std::find_if(elements.begin(), elements.end(), [&](const Element& element) {
    return element.name() == wanted.name();
  });
  return found == elements.end() ? nullptr : &*found;
}

class Comparison {
 public:
  void Compare(const FileDescriptorProto& released, const FileDescriptorProto& current) {
    const std::string scope = released.package() + ".";
    if (released.package() != current.package()) Add(released.name() + " has another package");
    for (const DescriptorProto& message : released.message_type()) {
      Compare(scope, message, Named(current.message_type(), message));
    }
    for (const EnumDescriptorProto& type : released.enum_type()) {
      Compare(scope, type, Named(current.enum_type(), type));
    }
    for (const ServiceDescriptorProto& service : released.service()) {
      Compare(scope, service, Named(current.service(), service));
    }
  }
  void Add(const std::string& change) { changes_.push_back(change); }
  std::vector<std::string> Take() { return std::move(changes_); }

 private:
  void Compare(const std::string& scope, const DescriptorProto& released,
               const DescriptorProto* current) {
    const std::string name = scope + released.name();
    if (current == nullptr) return Add("message " + name + " was removed");
    for (const FieldDescriptorProto& field : released.field()) {
      const auto same = std::find_if(
          current->field().begin(), current->field().end(),
          [&](const FieldDescriptorProto& other) { return other.number() == field.number(); });
      CompareFields(name + "." + field.name(), field,
                    same == current->field().end() ? nullptr : &*same);
    }
    for (const DescriptorProto& message : released.nested_type()) {
      Compare(name + ".", message, Named(current->nested_type(), message));
    }
    for (const EnumDescriptorProto& type : released.enum_type()) {
      Compare(name + ".", type, Named(current->enum_type(), type));
    }
  }
  void CompareFields(const std::string& name, const FieldDescriptorProto& released,
                     const FieldDescriptorProto* current) {
    if (current == nullptr) return Add("field " + name + " was removed or renumbered");
    // Names are in the JSON form.
    if (released.name() != current->name()) Add("field " + name + " was renamed or renumbered");
    if (released.type() != current->type() || released.type_name() != current->type_name()) {
      Add("field " + name + " has another type");
    }
    if (released.label() != current->label()) Add("field " + name + " is repeated or is not");
    if (released.has_oneof_index() != current->has_oneof_index() ||
        released.proto3_optional() != current->proto3_optional()) {
      Add("field " + name + " is in a oneof or is not");
    }
  }
  void Compare(const std::string& scope, const EnumDescriptorProto& released,
               const EnumDescriptorProto* current) {
    const std::string name = scope + released.name();
    if (current == nullptr) return Add("enum " + name + " was removed");
    for (const auto& value : released.value()) {
      const auto* same = Named(current->value(), value);
      if (same == nullptr || same->number() != value.number()) {
        Add("value " + name + "." + value.name() + " was removed or renumbered");
      }
    }
  }
  void Compare(const std::string& scope, const ServiceDescriptorProto& released,
               const ServiceDescriptorProto* current) {
    const std::string name = scope + released.name();
    if (current == nullptr) return Add("service " + name + " was removed");
    for (const auto& method : released.method()) {
      const auto* same = Named(current->method(), method);
      if (same == nullptr) {
        Add("method " + name + "." + method.name() + " was removed");
      } else if (same->input_type() != method.input_type() ||
                 same->output_type() != method.output_type() ||
                 same->client_streaming() != method.client_streaming() ||
                 same->server_streaming() != method.server_streaming()) {
        Add("method " + name + "." + method.name() + " takes or gives something else");
      }
    }
  }

  std::vector<std::string> changes_;
};

}  // namespace

std::vector<std::string> IncompatibleChanges(const FileDescriptorSet& released,
                                             const FileDescriptorSet& current) {
  Comparison comparison;
  for (const FileDescriptorProto& file : released.file()) {
    if (const FileDescriptorProto* same = Named(current.file(), file)) {
      comparison.Compare(file, *same);
    } else {
      comparison.Add("file " + file.name() + " was removed");
    }
  }
  return comparison.Take();
}

}  // namespace mdh
