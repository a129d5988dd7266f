#include "analysis/mcp/tool.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/cli/dispatch.h"
#include "base/cli/text.h"

namespace chokepoint::analysis::mcp {
namespace {

std::string lowered_name(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

Json schema_of_value(const cli::Flag& flag) {
  Json schema;
  if (flag.value.empty()) {
    schema["type"] = "boolean";
  } else if (!flag.choices.empty()) {
    schema["type"] = "string";
    schema["enum"] = flag.choices;
  } else if (flag.form == cli::ValueForm::Whole) {
    schema = {{"type", "integer"}, {"minimum", flag.least}, {"maximum", flag.most}};
  } else {
    schema["type"] = flag.form == cli::ValueForm::Number ? "number" : "string";
  }
  const std::string form =
      flag.value.empty() || !flag.choices.empty() ? "" : fmt::format("{}: ", flag.value);
  schema["description"] =
      form + flag.help +
      (flag.default_text.empty() ? "" : fmt::format(" (default: {})", flag.default_text));
  return schema;
}

std::optional<Parameter> parameter_named(const cli::Flags& flags, const std::string& name) {
  for (const cli::FlagGroup& group : flags.groups()) {
    if (const auto flag = std::ranges::find(group.flags, name, &cli::Flag::name);
        flag != group.flags.end()) {
      return Parameter{.name = name, .is_list = flag->repeats, .schema = schema_of_value(*flag)};
    }
  }
  const auto& all = flags.positionals();
  const auto found = std::ranges::find(all, name, &cli::Positional::name);
  if (found == all.end() || found->verbatim) {
    return std::nullopt;
  }
  return Parameter{.name = lowered_name(name),
                   .is_flag = false,
                   .is_list = found->repeats,
                   .schema = {{"type", "string"}, {"description", found->help}}};
}

Json input_schema(const std::vector<Parameter>& parameters) {
  Json schema{{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  for (const Parameter& each : parameters) {
    Json& at = schema["properties"][each.name];
    if (!each.is_list) {
      at = each.schema;
      continue;
    }
    Json one = each.schema;
    at = {{"type", "array"}, {"description", one["description"]}};
    one.erase("description");
    at["items"] = std::move(one);
  }
  return schema;
}

// The dialect is that of MCP anyhow, and some clients know no other than the one that they name.
Json output_schema(Json schema) {
  schema.erase("$schema");
  return schema;
}

std::vector<std::string> parted(const std::string& name) {
  const std::size_t space = name.find(' ');
  return space == std::string::npos ? std::vector{name}
                                    : std::vector{name.substr(0, space), name.substr(space + 1)};
}

std::unexpected<Error> wrong(std::string_view name, std::string_view reason,
                             std::string_view next_step = {}) {
  return fail(ErrorKind::Usage, "", shown(name), reason, next_step);
}

// As a word of a command line.
Result<std::string> text_of(const Parameter& parameter, const Untrusted& value) {
  std::string text;
  if (value.is_string()) {
    text = value.get<std::string>();
  } else if (value.is_number()) {
    text = value.dump();
  } else {
    return wrong(parameter.name,
                 fmt::format("wanted a value of type {}, not {}",
                             parameter.schema["type"].get<std::string>(), value.type_name()));
  }
  if (text.contains('\0')) {
    return wrong(parameter.name, "has a zero byte");
  }
  if (text.size() > kMaxWordBytes) {
    return wrong(parameter.name, fmt::format("has more than {} bytes", kMaxWordBytes));
  }
  return text;
}

Result<std::vector<std::string>> texts_of(const Parameter& parameter, const Untrusted& value) {
  std::vector<std::string> texts;
  if (!value.is_array()) {
    TRY(std::string text, text_of(parameter, value));
    texts.push_back(std::move(text));
    return texts;
  }
  if (!parameter.is_list) {
    return wrong(parameter.name, "takes one value, not a list");
  }
  if (value.size() > kMaxWords) {
    return wrong(parameter.name, fmt::format("has more than {} values", kMaxWords));
  }
  for (const Untrusted& each : value) {
    TRY(std::string text, text_of(parameter, each));
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<> add_flag(const Parameter& parameter, const Untrusted& value,
                  std::vector<std::string>& words) {
  if (parameter.schema["type"] == "boolean") {
    if (!value.is_boolean()) {
      return wrong(parameter.name, "wanted true or false");
    }
    if (value.get<bool>()) {
      words.push_back("--" + parameter.name);
    }
    return {};
  }
  TRY(const std::vector<std::string> texts, texts_of(parameter, value));
  for (const std::string& text : texts) {
    words.push_back(fmt::format("--{}={}", parameter.name, text));
  }
  return {};
}

Result<> check_names(const Tool& tool, const Untrusted& arguments) {
  std::vector<std::string> known;
  std::ranges::transform(tool.parameters, std::back_inserter(known), &Parameter::name);
  for (const auto& [name, value] : arguments.items()) {
    if (std::ranges::find(known, name) == known.end()) {
      const std::string near = name.size() > kMaxWordBytes ? "" : cli::nearest(name, known);
      return wrong(
          name, fmt::format("is no argument of {}", tool.name),
          near.empty() ? "tools/list names them" : fmt::format("did you mean '{}'?", near));
    }
  }
  return {};
}

}  // namespace

Result<Tool> tool_of(const ToolSource& source) {
  const std::unique_ptr<cli::Command> command = source.command();
  cli::CommonFlags common;
  const cli::Definition definition = cli::define(*command, common);
  const cli::Summary& summary = definition.summary;
  Tool tool{.name = source.name,
            .command = parted(summary.name),
            .has_document = !source.schema.is_null()};
  tool.command.insert(tool.command.end(), source.always.begin(), source.always.end());
  for (const std::string& name : source.allowed) {
    std::optional<Parameter> parameter = parameter_named(definition.flags, name);
    if (!parameter) {
      return fail(ErrorKind::Unsupported, "offer", name, "no flag of " + summary.name);
    }
    tool.parameters.push_back(*std::move(parameter));
  }
  tool.description = {{"name", source.name},
                      {"title", "chokepoint " + summary.name},
                      {"description", fmt::format("{}. {}", summary.purpose, source.use)},
                      {"inputSchema", input_schema(tool.parameters)}};
  if (tool.has_document) {
    tool.document = source.schema["title"].get<std::string>();
    tool.description["outputSchema"] = output_schema(source.schema);
  }
  tool.description["annotations"] = {{"readOnlyHint", true},
                                     {"destructiveHint", false},
                                     {"idempotentHint", true},
                                     {"openWorldHint", false}};
  return tool;
}

Result<std::vector<std::string>> words_of(const Tool& tool, const Untrusted& arguments) {
  TRY(check_names(tool, arguments));
  std::vector<std::string> words = tool.command;
  std::vector<std::string> behind;
  for (const Parameter& parameter : tool.parameters) {
    const auto value = arguments.find(parameter.name);
    if (value == arguments.end() || value->is_null()) {
      continue;
    }
    if (parameter.is_flag) {
      TRY(add_flag(parameter, *value, words));
    } else {
      TRY(const std::vector<std::string> texts, texts_of(parameter, *value));
      behind.insert(behind.end(), texts.begin(), texts.end());
    }
  }
  // What begins with a dash behind it is an argument, too.
  words.emplace_back("--");
  words.insert(words.end(), behind.begin(), behind.end());
  if (words.size() > kMaxWords) {
    return wrong("arguments", fmt::format("have more than {} values", kMaxWords));
  }
  return words;
}

}  // namespace chokepoint::analysis::mcp
