// SPDX-License-Identifier: Apache-2.0
#include "rewrite/options_fields.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <map>

#include "base/suggest.h"
#include "rewrite/node_parts.h"

namespace plumber {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::UnknownField;
using tensorflow::data::Options;

struct Field {
  const FieldDescriptor* group = nullptr;  // nullptr: a field of Options itself
  const FieldDescriptor* field = nullptr;
};

// Where Python's name is not the protobuf's.
std::string python_name(const std::string& name) {
  static const std::map<std::string, std::string> names = {
      {"autotune_options", "autotune"},
      {"optimization_options", "experimental_optimization"},
      {"threading_options", "threading"},
      {"slack", "experimental_slack"},
      {"symbolic_checkpoint", "experimental_symbolic_checkpoint"},
      {"warm_start", "experimental_warm_start"},
      {"external_state_policy", "experimental_external_state_policy"},
  };
  const auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

std::map<std::string, Field> all_fields() {
  std::map<std::string, Field> fields;
  const auto* options = Options::descriptor();
  for (int i = 0; i < options->field_count(); ++i) {
    const FieldDescriptor* outer = options->field(i);
    const std::string name = python_name(outer->name());
    if (outer->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      fields[name] = {nullptr, outer};
      continue;
    }
    for (int j = 0; j < outer->message_type()->field_count(); ++j) {
      const FieldDescriptor* inner = outer->message_type()->field(j);
      fields[name + "." + inner->name()] = {outer, inner};
    }
  }
  return fields;
}

// False if the value's type is not the field's.
bool assign(Message& message, const FieldDescriptor& field, const EditValue& value) {
  const auto* reflection = message.GetReflection();
  const auto* number = std::get_if<std::int64_t>(&value);
  const auto* flag = std::get_if<bool>(&value);
  const auto* text = std::get_if<std::string>(&value);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      if (flag) reflection->SetBool(&message, &field, *flag);
      return flag;
    case FieldDescriptor::CPPTYPE_INT32:
      if (!number || *number != static_cast<std::int32_t>(*number)) return false;
      reflection->SetInt32(&message, &field, static_cast<std::int32_t>(*number));
      return true;
    case FieldDescriptor::CPPTYPE_INT64:
      if (number) reflection->SetInt64(&message, &field, *number);
      return number;
    case FieldDescriptor::CPPTYPE_STRING:
      if (text) reflection->SetString(&message, &field, *text);
      return text;
    default:
      return false;
  }
}

}  // namespace

void set_options_field(Options& options, const std::string& path, const EditValue& value) {
  const std::map<std::string, Field> fields = all_fields();
  const auto found = fields.find(path);
  if (found == fields.end())
    refuse(fmt::format("tf.data.Options has no field '{}'", path),
           did_you_mean(path, options_paths()));
  const auto [group, field] = found->second;
  const bool unset = std::holds_alternative<std::monostate>(value);
  const auto* reflection = options.GetReflection();
  if (unset && group && !reflection->HasField(options, group)) return;
  Message& message = group ? *reflection->MutableMessage(&options, group) : options;
  if (unset)
    message.GetReflection()->ClearField(&message, field);
  else if (!assign(message, *field, value))
    refuse(fmt::format("the value does not fit tf.data.Options.{}", path),
           fmt::format("its type is {}", field->type_name()));
}

bool is_empty(const Message& message) {
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields)
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE ||
        !is_empty(reflection->GetMessage(message, field)))
      return false;
  const auto& unknown = reflection->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i)
    if (unknown.field(i).type() != UnknownField::TYPE_LENGTH_DELIMITED ||
        !unknown.field(i).length_delimited().empty())
      return false;
  return true;
}

std::vector<std::string> options_paths() {
  std::vector<std::string> paths;
  for (const auto& [path, field] : all_fields()) paths.push_back(path);
  return paths;
}

}  // namespace plumber
