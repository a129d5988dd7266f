// A tool that an assistant may call: one command of this program, with those of its flags and
// arguments that are named in an allow-list, and the JSON Schema of the document that it prints.
// Names, help, choices and bounds are those of the command's own flags. Values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/mcp/message.h"
#include "base/cli/command.h"
#include "base/sys/error.h"

namespace chokepoint::analysis::mcp {

// What a tool is made of.
struct ToolSource {
  std::string name = {};
  cli::CommandFactory command = {};
  std::string use = {};  // for the assistant: when to call it, and what comes back
  // Long names of flags and placeholders of arguments, "wan-rtt-ms" and "DIR". None may write a
  // file, open a connection or load a path.
  std::vector<std::string> allowed = {};
  std::vector<std::string> always = {};  // flags that each call has
  Json schema = nullptr;                 // of the document; null where text is printed
};

struct Parameter {
  std::string name = {};  // a flag's own, or an argument's placeholder in small letters
  bool is_flag = true;
  bool is_list = false;
  Json schema = Json::object();  // of one value
};

struct Tool {
  std::string name = {};
  std::vector<std::string> command = {};  // what each call begins with
  std::vector<Parameter> parameters = {};
  bool has_document = true;
  std::string document = {};  // its `schema`: "chokepoint.runs/1"
  Json description = {};      // as tools/list has it
};

// An Error where the command has no flag or argument of an allowed name.
Result<Tool> tool_of(const ToolSource& source);

inline constexpr std::size_t kMaxWordBytes = 4096;
inline constexpr std::size_t kMaxWords = 256;

// The command line of a call. An Error of kind Usage names the argument that is unknown or cannot
// be one; what the command itself refuses it says when it runs. No value becomes a flag.
Result<std::vector<std::string>> words_of(const Tool& tool, const Untrusted& arguments);

}  // namespace chokepoint::analysis::mcp
