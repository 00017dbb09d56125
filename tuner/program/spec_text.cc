// Reading with yaml-cpp, setting fields through reflection.
#include "tuner/program/spec_text.h"

#include <google/protobuf/struct.pb.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuner/space/formula/formula_names.h"

namespace mdh {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string KindOf(const YAML::Node& node) {
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  if (node.IsScalar()) return absl::StrCat("'", node.Scalar(), "'");
  return "nothing";
}

bool IsQuoted(const YAML::Node& node) { return node.Tag() == "!"; }

// Sets fields and remembers where they were.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  const SpecLines& lines() const { return lines_; }

  Status ReadMessage(const YAML::Node& node, const std::string& path, Message& message) {
    if (message.GetDescriptor()->full_name() == "google.protobuf.Value") {
      return ReadValue(node, path, static_cast<google::protobuf::Value&>(message));
    }
    if (!node.IsMap()) return Error(node, path, "a map is expected, not ", KindOf(node));
    if (message.GetDescriptor()->full_name() == "google.protobuf.Struct") {
      return ReadStruct(node, path, static_cast<google::protobuf::Struct&>(message));
    }
    std::set<std::string> seen;
    for (const auto& entry : node) {
      MDH_RETURN_IF_ERROR(ReadEntry(entry.first, entry.second, path, message, seen));
    }
    return absl::OkStatus();
  }

 private:
  template <typename... Parts>
  Status Error(const YAML::Node& node, const std::string& path, const Parts&... what) const {
    return InvalidArgument(file_, ":", node.Mark().line + 1, ": ",
                           path.empty() ? "" : absl::StrCat(path, ": "), what...);
  }
  void Remember(const YAML::Node& node, const std::string& path) {
    lines_[path] = node.Mark().line + 1;
  }

  static const FieldDescriptor* FieldNamed(const Descriptor& type, const std::string& name) {
    for (int n = 0; n < type.field_count(); ++n) {
      if (type.field(n)->name() == name || type.field(n)->json_name() == name) return type.field(n);
    }
    return nullptr;
  }

  static std::string UnknownField(const Descriptor& type, const std::string& name) {
    std::vector<std::string> names;
    for (int n = 0; n < type.field_count(); ++n) names.push_back(type.field(n)->name());
    const std::string suggestion = Suggestion(name, names);
    return absl::StrCat(
        "there is no such field",
        suggestion.empty() ? absl::StrCat("; there are ", absl::StrJoin(names, ", ")) : suggestion);
  }

  Status ReadEntry(const YAML::Node& key, const YAML::Node& value, const std::string& path,
                   Message& message, std::set<std::string>& seen) {
    if (!key.IsScalar()) return Error(key, path, "names of fields are texts");
    const Descriptor& type = *message.GetDescriptor();
    const FieldDescriptor* field = FieldNamed(type, key.Scalar());
    const std::string name = field == nullptr ? key.Scalar() : field->name();
    const std::string here = path.empty() ? name : absl::StrCat(path, ".", name);
    if (field == nullptr) return Error(key, here, UnknownField(type, name));
    if (!seen.insert(name).second) return Error(key, here, "is given twice");
    if (const auto* oneof = field->real_containing_oneof(); oneof != nullptr) {
      const FieldDescriptor* other =
          message.GetReflection()->GetOneofFieldDescriptor(message, oneof);
      if (other != nullptr) {
        return Error(key, here, "only one of this and '", other->name(), "' may be given");
      }
    }
    Remember(key, here);
    if (field->is_map()) return ReadMap(value, here, *field, message);
    if (field->is_repeated()) return ReadList(value, here, *field, message);
    return ReadSingle(value, here, *field, message);
  }

  // Of texts by texts; there are no others.
  Status ReadMap(const YAML::Node& node, const std::string& path, const FieldDescriptor& field,
                 Message& message) {
    if (!node.IsMap()) return Error(node, path, "a map is expected, not ", KindOf(node));
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string here = absl::StrCat(path, ".", entry.first.Scalar());
      if (!entry.first.IsScalar()) return Error(entry.first, path, "names are texts");
      if (!entry.second.IsScalar()) {
        return Error(entry.second, here, "a text is expected, not ", KindOf(entry.second));
      }
      if (!seen.insert(entry.first.Scalar()).second)
        return Error(entry.first, here, "is given twice");
      Remember(entry.first, here);
      Message* pair = message.GetReflection()->AddMessage(&message, &field);
      const Descriptor& type = *pair->GetDescriptor();
      pair->GetReflection()->SetString(pair, type.map_key(), entry.first.Scalar());
      pair->GetReflection()->SetString(pair, type.map_value(), entry.second.Scalar());
    }
    return absl::OkStatus();
  }

  Status ReadList(const YAML::Node& node, const std::string& path, const FieldDescriptor& field,
                  Message& message) {
    if (!node.IsSequence()) return Error(node, path, "a list is expected, not ", KindOf(node));
    for (size_t n = 0; n < node.size(); ++n) {
      const std::string here = absl::StrCat(path, "[", n, "]");
      Remember(node[n], here);
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        MDH_RETURN_IF_ERROR(
            ReadMessage(node[n], here, *message.GetReflection()->AddMessage(&message, &field)));
      } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        MDH_ASSIGN_OR_RETURN(std::string text, ReadText(node[n], here, field));
        message.GetReflection()->AddString(&message, &field, std::move(text));
      } else {
        return Internal("no reader for ", field.full_name());
      }
    }
    return absl::OkStatus();
  }

  Status ReadSingle(const YAML::Node& node, const std::string& path, const FieldDescriptor& field,
                    Message& message) {
    const Reflection& fields = *message.GetReflection();
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return ReadMessage(node, path, *fields.MutableMessage(&message, &field));
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      MDH_ASSIGN_OR_RETURN(std::string text, ReadText(node, path, field));
      fields.SetString(&message, &field, std::move(text));
      return absl::OkStatus();
    }
    const std::string text = node.IsScalar() ? node.Scalar() : "";
    const auto expected = [&](const std::string& what) {
      return Error(node, path, what, " is expected, not ", KindOf(node));
    };
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return SetNumber<int32_t>(text, [&](int32_t v) { fields.SetInt32(&message, &field, v); })
                   ? absl::OkStatus()
                   : expected("an integer of 32 bits");
      case FieldDescriptor::CPPTYPE_INT64:
        return SetNumber<int64_t>(text, [&](int64_t v) { fields.SetInt64(&message, &field, v); })
                   ? absl::OkStatus()
                   : expected("an integer of 64 bits");
      case FieldDescriptor::CPPTYPE_UINT64:
        return SetNumber<uint64_t>(text, [&](uint64_t v) { fields.SetUInt64(&message, &field, v); })
                   ? absl::OkStatus()
                   : expected("a non-negative integer of 64 bits");
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        double value = 0;
        if (!absl::SimpleAtod(text, &value)) return expected("a number");
        fields.SetDouble(&message, &field, value);
        return absl::OkStatus();
      }
      case FieldDescriptor::CPPTYPE_BOOL: {
        const std::string lower = absl::AsciiStrToLower(text);
        if (lower != "true" && lower != "false") return expected("true or false");
        fields.SetBool(&message, &field, lower == "true");
        return absl::OkStatus();
      }
      case FieldDescriptor::CPPTYPE_ENUM:
        return ReadEnumerator(node, path, field, message);
      default:
        return Internal("no reader for ", field.full_name());
    }
  }

  template <typename T, typename Set>
  static bool SetNumber(const std::string& text, const Set& set) {
    T value = 0;
    if (!absl::SimpleAtoi(text, &value)) return false;
    set(value);
    return true;
  }

  Status ReadEnumerator(const YAML::Node& node, const std::string& path,
                        const FieldDescriptor& field, Message& message) {
    std::vector<std::string> names;
    for (int n = 0; n < field.enum_type()->value_count(); ++n) {
      const EnumValueDescriptor* value = field.enum_type()->value(n);
      if (value->number() == 0) continue;
      if (node.IsScalar() && absl::AsciiStrToUpper(node.Scalar()) == value->name()) {
        message.GetReflection()->SetEnum(&message, &field, value);
        return absl::OkStatus();
      }
      names.push_back(value->name());
    }
    return Error(node, path, "one of ", absl::StrJoin(names, ", "), " is expected, not ",
                 KindOf(node));
  }

  Result<std::string> ReadText(const YAML::Node& node, const std::string& path,
                               const FieldDescriptor& field) const {
    if (!node.IsScalar()) return Error(node, path, "a text is expected, not ", KindOf(node));
    if (field.type() != FieldDescriptor::TYPE_BYTES) return node.Scalar();
    std::string bytes;
    if (!absl::Base64Unescape(node.Scalar(), &bytes)) {
      return Error(node, path, "bytes in base 64 are expected");
    }
    return bytes;
  }

  Status ReadStruct(const YAML::Node& node, const std::string& path, google::protobuf::Struct& to) {
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return Error(entry.first, path, "names are texts");
      const std::string here = absl::StrCat(path, ".", entry.first.Scalar());
      if (to.fields().contains(entry.first.Scalar())) {
        return Error(entry.first, here, "is given twice");
      }
      Remember(entry.first, here);
      MDH_RETURN_IF_ERROR(
          ReadValue(entry.second, here, (*to.mutable_fields())[entry.first.Scalar()]));
    }
    return absl::OkStatus();
  }

  Status ReadValue(const YAML::Node& node, const std::string& path, google::protobuf::Value& to) {
    if (node.IsMap()) return ReadStruct(node, path, *to.mutable_struct_value());
    if (node.IsSequence()) {
      to.mutable_list_value();
      for (size_t n = 0; n < node.size(); ++n) {
        MDH_RETURN_IF_ERROR(ReadValue(node[n], absl::StrCat(path, "[", n, "]"),
                                      *to.mutable_list_value()->add_values()));
      }
      return absl::OkStatus();
    }
    if (!node.IsScalar()) return Error(node, path, "a value is expected, not nothing");
    const std::string& text = node.Scalar();
    double number = 0;
    const std::string lower = absl::AsciiStrToLower(text);
    if (IsQuoted(node)) {
      to.set_string_value(text);
    } else if (lower == "true" || lower == "false") {
      to.set_bool_value(lower == "true");
    } else if (absl::SimpleAtod(text, &number)) {
      to.set_number_value(number);
    } else {
      to.set_string_value(text);
    }
    return absl::OkStatus();
  }

  const std::string& file_;
  SpecLines lines_;
};

}  // namespace

Result<SpecLines> ReadSpecText(const std::string& file, const std::string& text, Message& message) {
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) {
      return InvalidArgument(file, ":1: a map of fields is expected, not ", KindOf(root));
    }
    Reader reader(file);
    MDH_RETURN_IF_ERROR(reader.ReadMessage(root, "", message));
    return reader.lines();
  } catch (const YAML::Exception& error) {
    return InvalidArgument(file, ":", error.mark.line + 1, ":", error.mark.column + 1, ": ",
                           error.msg);
  }
}

Status WithLine(const Status& status, const std::string& file, const SpecLines& lines) {
  if (status.code() != absl::StatusCode::kInvalidArgument) return status;
  const std::string message(status.message());
  // The longest beginning that is a field.
  for (size_t end = message.find(": "); end != std::string::npos && end > 0;) {
    const auto found = lines.find(message.substr(0, end));
    if (found != lines.end()) return InvalidArgument(file, ":", found->second, ": ", message);
    const size_t dot = message.find_last_of(".[", end - 1);
    end = dot == std::string::npos ? 0 : dot;
  }
  return InvalidArgument(file, ": ", message);
}

}  // namespace mdh
