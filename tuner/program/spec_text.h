// JSON and YAML as a message of mdh.v1: JSON is YAML, so there is one reader, directed by the
// message's fields.
#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <string>

#include "core/base/status.h"

namespace mdh {

// Lines, from 1, of the fields of a text: "kernel.arguments[2].type" -> 14.
using SpecLines = std::map<std::string, int>;

// Sets the fields of `message` from `text`, as protobuf's JSON does: fields by their names or in
// camel case, bytes in base 64, enumerators by name, in any case. Strings may be given as numbers.
// Errors: InvalidArgument, "<file>:<line>: <field>: <what is wrong>", for text that is neither JSON
// nor YAML, unknown and repeated fields, values of a wrong type, and two fields of which only one
// may be set.
Result<SpecLines> ReadSpecText(const std::string& file, const std::string& text,
                               google::protobuf::Message& message);

// "<file>:<line>: <message>" for an error of InvalidArgument whose message begins with a field that
// has a line, or is in one that has; others: "<file>: <message>".
Status WithLine(const Status& status, const std::string& file, const SpecLines& lines);

}  // namespace mdh
