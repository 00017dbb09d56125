#include "tests/fuzz/message_mutator.h"

#include <limits>
#include <random>
#include <string>
#include <vector>

namespace mdh {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

class Mutator {
 public:
  Mutator(uint64_t seed, Message* root) : rng_(seed) { Collect(root); }

  void Run() {
    Message* message = messages_[Below(messages_.size())];
    const int fields = message->GetDescriptor()->field_count();
    if (fields == 0) return;
    const FieldDescriptor* field = message->GetDescriptor()->field(static_cast<int>(Below(fields)));
    if (field->is_map()) {
      // Its entries are no messages that could be changed one by one; bytes of the input are.
      message->GetReflection()->ClearField(message, field);
    } else if (field->is_repeated()) {
      ChangeList(message, field);
    } else if (Below(8) == 0) {
      message->GetReflection()->ClearField(message, field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const std::string bytes = Copy(field->message_type());
      message->GetReflection()->MutableMessage(message, field)->ParsePartialFromString(bytes);
    } else {
      Set(message, field, -1);
    }
  }

 private:
  uint64_t Below(uint64_t bound) { return rng_() % bound; }

  // All messages below and including `message`.
  void Collect(Message* message) {
    messages_.push_back(message);
    const Reflection* reflection = message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) continue;
      if (!field->is_repeated()) {
        Collect(reflection->MutableMessage(message, field));
        continue;
      }
      for (int n = 0; n < reflection->FieldSize(*message, field); ++n) {
        Collect(reflection->MutableRepeatedMessage(message, field, n));
      }
    }
  }

  void ChangeList(Message* message, const FieldDescriptor* field) {
    const Reflection* reflection = message->GetReflection();
    const int size = reflection->FieldSize(*message, field);
    const int one = size == 0 ? -1 : static_cast<int>(Below(size));
    const uint64_t change = size == 0 ? 0 : Below(5);
    if (change == 0) {
      Add(message, field);
    } else if (change == 1) {
      reflection->SwapElements(message, field, one, static_cast<int>(Below(size)));
    } else if (change == 2) {
      reflection->SwapElements(message, field, one, size - 1);
      reflection->RemoveLast(message, field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const std::string bytes = Copy(field->message_type());
      reflection->MutableRepeatedMessage(message, field, one)->ParsePartialFromString(bytes);
    } else {
      Set(message, field, one);
    }
  }

  void Add(Message* message, const FieldDescriptor* field) {
    const Reflection* reflection = message->GetReflection();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const std::string bytes = Copy(field->message_type());
      reflection->AddMessage(message, field)->ParsePartialFromString(bytes);
      return;
    }
    Set(message, field, kAppend);
  }

  // Of some message of this type, if there is one. Changing a message may free others (those of the
  // same oneof), so bytes are taken before.
  std::string Copy(const google::protobuf::Descriptor* type) {
    std::vector<const Message*> similar;
    for (const Message* message : messages_) {
      if (message->GetDescriptor() == type) similar.push_back(message);
    }
    return similar.empty() ? "" : similar[Below(similar.size())]->SerializePartialAsString();
  }

  // Sets a value, or element `index` of a list of values.
  void Set(Message* message, const FieldDescriptor* field, int index) {
    const Reflection* to = message->GetReflection();
    const auto put = [&](auto value, auto set, auto set_element, auto add) {
      if (index == kAppend) {
        (to->*add)(message, field, value);
      } else if (index >= 0) {
        (to->*set_element)(message, field, index, value);
      } else {
        (to->*set)(message, field, value);
      }
    };
    using R = Reflection;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return put(static_cast<int32_t>(Number()), &R::SetInt32, &R::SetRepeatedInt32,
                   &R::AddInt32);
      case FieldDescriptor::CPPTYPE_INT64:
        return put(Number(), &R::SetInt64, &R::SetRepeatedInt64, &R::AddInt64);
      case FieldDescriptor::CPPTYPE_UINT64:
        return put(static_cast<uint64_t>(Number()), &R::SetUInt64, &R::SetRepeatedUInt64,
                   &R::AddUInt64);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return put(Real(), &R::SetDouble, &R::SetRepeatedDouble, &R::AddDouble);
      case FieldDescriptor::CPPTYPE_BOOL:
        return put(Below(2) == 0, &R::SetBool, &R::SetRepeatedBool, &R::AddBool);
      case FieldDescriptor::CPPTYPE_ENUM:
        return put(static_cast<int>(EnumNumber(field)), &R::SetEnumValue, &R::SetRepeatedEnumValue,
                   &R::AddEnumValue);
      case FieldDescriptor::CPPTYPE_STRING:
        return put(Name(), &R::SetString, &R::SetRepeatedString, &R::AddString);
      default:
        return;
    }
  }

  int64_t Number() {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    const int64_t interesting[] = {kMost,     kMost / 2, -kMost - 1,      int64_t{1} << 31,
                                   1'000'003, 65'536,    int64_t{1} << 61};
    if (Below(8) == 0) return interesting[Below(std::size(interesting))];
    return static_cast<int64_t>(Below(12)) - 2;
  }

  double Real() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double interesting[] = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(),
                                  1e308,     5e-324,     -0.0,
                                  65'504.0,  0.1};
    if (Below(4) == 0) return interesting[Below(std::size(interesting))];
    return static_cast<double>(Number());
  }

  int64_t EnumNumber(const FieldDescriptor* field) {
    if (Below(16) == 0) return Number();
    const auto* values = field->enum_type();
    return values->value(static_cast<int>(Below(values->value_count())))->number();
  }

  std::string Name() {
    const char* names[] = {"a",         "b",         "x1.p",       "a.b.c", "",  "nan",
                           "1",         "a b",       "o",          "where", "+", "tuningJobs/1",
                           "records/a", "studies/1", "devices/cpu"};
    return names[Below(std::size(names))];
  }

  static constexpr int kAppend = -2;
  std::mt19937_64 rng_;
  std::vector<Message*> messages_;
};

}  // namespace

void Mutate(uint64_t seed, Message* message) { Mutator(seed, message).Run(); }

}  // namespace mdh
