#include "tests/reference/document_pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/documents/host_facts.h"
#include "tests/reference/tables.h"

namespace chokepoint::reference {
namespace {

using json::Json;

std::string file_of(std::string_view schema) {
  constexpr std::string_view kProgram = "chokepoint.";
  schema.remove_prefix(kProgram.size());
  return fmt::format("schemas/{}.schema.json", schema.substr(0, schema.find('/')));
}

// The file of the document that stands here; null where none does.
Json document_in(const Json& schema) {
  const Json& one = schema.contains("anyOf") ? schema["anyOf"].front() : schema;
  return one.value("$ref", Json());
}

// "number", "text or null", "list".
std::string type_text(const Json& schema) {
  const auto word = [](const Json& type) -> std::string {
    return type == "string"    ? "text"
           : type == "integer" ? "whole number"
           : type == "boolean" ? "true or false"
           : type == "array"   ? "list"
                               : type.get<std::string>();
  };
  if (!document_in(schema).is_null()) {
    return schema.contains("anyOf") ? "object or null" : "object";
  }
  const Json type = schema.value("type", Json());
  if (type.is_array()) {
    std::vector<std::string> words;
    std::ranges::transform(type, std::back_inserter(words), word);
    return fmt::format("{}", fmt::join(words, " or "));
  }
  return type.is_string() ? word(type) : "";
}

std::string document_text(const Json& schema) {
  const Json file = document_in(schema);
  return file.is_null() ? "" : fmt::format("of [its schema](schemas/{})", file.get<std::string>());
}

std::string names_text(const Json& schema) {
  std::vector<std::string> names;
  for (const Json& each : schema.value("enum", Json::array())) {
    if (each.is_string()) {
      names.push_back(fmt::format("`{}`", each.get<std::string>()));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string range_text(const Json& schema) {
  const bool has_least = schema.contains("minimum") && schema["minimum"] != 0;
  if (!schema.contains("maximum")) {
    return has_least ? fmt::format("{} or more", schema["minimum"].dump()) : "";
  }
  return fmt::format("{} to {}", schema.contains("minimum") ? schema["minimum"].dump() : "",
                     schema["maximum"].dump());
}

std::string explained(const Json& schema) {
  std::vector<std::string> parts;
  for (const std::string& part : {schema.value("description", std::string()), names_text(schema),
                                  range_text(schema), document_text(schema)}) {
    if (!part.empty()) {
      parts.push_back(part);
    }
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

bool is_distribution(const Json& schema) {
  const Json inner = schema.value("properties", Json::object());
  return inner.size() == 6 && inner.contains("p99") && inner.contains("count");
}

// A line for each field, those of an object or of a list's items behind it. Fields that were listed
// before are referred to: those of `send` may be the document's own.
class FieldTable {
 public:
  std::string of(const Json& object) {
    own_ = object.value("properties", Json::object());
    add(object, "");
    return "| field | is | says |\n|---|---|---|\n" + lines_;
  }

 private:
  void add(const Json& object, const std::string& above) {
    const Json properties = object.value("properties", Json::object());
    for (const auto& [name, schema] : properties.items()) {
      add_field(schema, above + name);
    }
  }
  void add_field(const Json& schema, const std::string& path) {
    const std::string seen = is_distribution(schema) ? "" : seen_before(schema, path);
    lines_ += fmt::format(
        "| `{}` | {} | {} |\n", path,
        is_distribution(schema) ? "a distribution" + null_text(schema) : type_text(schema),
        cell(seen.empty() ? explained(schema) : explained(schema) + seen));
    if (seen.empty() && !is_distribution(schema)) {
      add_inner(schema, path);
    }
  }
  void add_inner(const Json& schema, const std::string& path) {
    if (schema.contains("items")) {
      add(schema["items"], path + "[].");
    } else if (schema.value("additionalProperties", Json()).is_object()) {
      add(schema["additionalProperties"], path + "{}.");
    } else {
      add(schema, path + ".");
    }
  }
  static std::string null_text(const Json& schema) {
    return schema["type"].is_array() ? " or null" : "";
  }
  // An object of many fields is listed once.
  std::string seen_before(const Json& schema, const std::string& path) {
    const Json& object = schema.contains("items") ? schema["items"] : schema;
    const Json inner = object.value("properties", Json::object());
    if (inner.size() < 3) {
      return "";
    }
    const auto is_own = [&](const auto& field) {
      return own_.value(field.key(), Json()) == field.value();
    };
    if (const auto fields = inner.items(); std::ranges::all_of(fields, is_own)) {
      return "; the document's own fields";
    }
    const auto [at, is_new] = seen_.emplace(inner.dump(), path);
    return is_new ? "" : fmt::format("; as `{}`", at->second);
  }

  Json own_;
  std::string lines_;
  std::map<std::string, std::string> seen_;
};

// "Report" of "chokepoint.report/1" and of "report.schema.json".
std::string type_name(std::string_view document) {
  if (document.starts_with("chokepoint.")) {
    document.remove_prefix(std::string_view("chokepoint.").size());
  }
  std::string name;
  bool is_first = true;
  document = document.substr(0, std::min(document.find(".schema.json"), document.find('/')));
  for (const char letter : document) {
    if (letter == '.' || letter == '-') {
      is_first = true;
    } else {
      name += is_first && letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A')
                                                         : letter;
      is_first = false;
    }
  }
  return name;
}

// A schema as a type of TypeScript.
std::string typescript_of(const Json& schema, int indent);

std::string typescript_object(const Json& schema, int indent) {
  if (schema.value("additionalProperties", Json()).is_object()) {
    return "{ readonly [key: string]: " + typescript_of(schema["additionalProperties"], indent) +
           " }";
  }
  const Json required = schema.value("required", Json::array());
  const Json properties = schema.value("properties", Json::object());
  const auto margin = [](int width) { return std::string(static_cast<std::size_t>(width), ' '); };
  std::string lines;
  for (const auto& [name, inner] : properties.items()) {
    const bool is_certain = std::ranges::find(required, Json(name)) != required.end();
    lines += fmt::format("{}readonly {}{}: {};\n", margin(indent + 2), name, is_certain ? "" : "?",
                         typescript_of(inner, indent + 2));
  }
  return "{\n" + lines + margin(indent) + "}";
}

std::string typescript_list(const std::string& items) {
  const bool is_one = !items.contains(" | ") && !items.starts_with("readonly");
  return is_one ? "readonly " + items + "[]" : "readonly (" + items + ")[]";
}

std::string typescript_of(const Json& schema, int indent) {
  if (const Json file = document_in(schema); !file.is_null()) {
    return type_name(file.get<std::string>()) + (schema.contains("anyOf") ? " | null" : "");
  }
  std::vector<std::string> types;
  if (schema.contains("const")) {
    types.push_back(schema["const"].dump());
  } else if (schema.contains("enum")) {
    std::ranges::transform(schema["enum"], std::back_inserter(types),
                           [](const Json& name) { return name.dump(); });
  } else {
    const Json type = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    for (const Json& each : type) {
      types.push_back(each == "array"     ? typescript_list(typescript_of(schema["items"], indent))
                      : each == "object"  ? typescript_object(schema, indent)
                      : each == "integer" ? "number"
                                          : each.get<std::string>());
    }
  }
  return fmt::format("{}", fmt::join(types, " | "));
}

// With those within it, in the order in which they are found.
void add_documents(const Json& schema, std::vector<std::string>& names) {
  if (const Json file = document_in(schema);
      file.is_string() &&
      std::ranges::find(names, type_name(file.get<std::string>())) == names.end()) {
    names.push_back(type_name(file.get<std::string>()));
  }
  for (const Json& each : schema) {
    if (each.is_object()) {
      add_documents(each, names);
    }
  }
}

Json without_head(const Json& schema) {
  Json parts = schema;
  for (const char* each : {"schema", "host", "started_at", "host_facts"}) {
    parts["properties"].erase(each);
  }
  return parts;
}

}  // namespace

Schema published(Json content) {
  return {.file = file_of(content["title"].get<std::string>()), .content = std::move(content)};
}

Schema with_host_facts(Schema schema) {
  Json facts = json::schema_of<documents::HostFacts>();
  facts.erase("$schema");
  facts["description"] =
      "how the hosts were set up: subject, key, value, as in a run record's facts";
  schema.content["properties"]["host_facts"] = std::move(facts);
  schema.content["required"].push_back("host_facts");
  return schema;
}

Schema with_directions(Schema schema) {
  const std::string figures = schema.content["dependentRequired"].begin().key();
  schema.content["if"] = {{"properties", {{"direction", {{"const", "both"}}}}}};
  schema.content["then"] = {{"required", {"send", "receive"}}};
  schema.content["else"] = {{"required", {figures}}};
  return schema;
}

std::string fields_page(const std::vector<Schema>& schemas) {
  std::string page = fmt::format(
      "# Fields of the JSON documents\n{}\nWhat each document has beside its head (`schema`, "
      "`host`, "
      "`started_at`) and, of probes and RDMA tests, `host_facts`: "
      "[documents.md](documents.md) says what all have in common. `a[].b` is the field `b` of each "
      "item of the list `a`, `a{{}}.b` that of each member of `a`. A distribution has `min`, "
      "`median`, `p99`, `max`, `mean` and `count`.\n",
      kMade);
  for (const Schema& each : schemas) {
    page += fmt::format("\n## {}\n[JSON Schema]({}): {}.\n\n{}",
                        each.content["title"].get<std::string>(), each.file,
                        each.content["description"].get<std::string>(),
                        FieldTable().of(without_head(each.content)));
  }
  return page;
}

std::string types_page(const std::vector<Schema>& schemas,
                       const std::vector<std::string_view>& titles) {
  std::string page =
      "// Made by scripts/reference from the sources, as docs/reference/schemas are.\n";
  std::vector<std::string> names;
  std::ranges::transform(titles, std::back_inserter(names), type_name);
  for (std::size_t at = 0; at < names.size(); ++at) {
    for (const Schema& each : schemas) {
      if (type_name(each.content["title"].get<std::string>()) == names[at]) {
        add_documents(each.content["properties"], names);
        page += fmt::format("\nexport interface {} {}\n", names[at],
                            typescript_object(each.content, 0));
        break;
      }
    }
  }
  return page;
}

}  // namespace chokepoint::reference
