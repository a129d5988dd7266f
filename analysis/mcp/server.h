// What the server answers to each message. It knows two forms of the protocol: revisions with the
// handshake `initialize`, of which a client has to choose one before it asks for tools, and the
// stateless revision of 2026, whose requests each say theirs. It takes one message at a time, in
// order. One thread.
//
//   client                           server
//   initialize (a revision) ───────► that one, or the newest that is here
//   notifications/initialized ─────► (no answer)
//   tools/list ────────────────────► tools, with the schemas of arguments and results
//   tools/call ────────────────────► runs the command by `call`: its document, or its error line
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/mcp/message.h"
#include "analysis/mcp/tool.h"

namespace chokepoint::analysis::mcp {

// How a command went.
struct CallOutcome {
  bool has_failed = false;
  std::string out = {};       // its document or its text; of one that failed the error
  std::string messages = {};  // what else it said: a record that cannot be read
};

using Call = std::function<CallOutcome(const std::vector<std::string>& words)>;

class Server {
 public:
  Server(std::string version, std::vector<Tool> tools, Call call)
      : version_(std::move(version)), tools_(std::move(tools)), call_(std::move(call)) {}

  // Without the line's end; nothing for what gets no answer.
  std::optional<std::string> answer(const Line& line);

 private:
  using Answer = std::expected<Json, Refusal>;

  Answer answer(const Request& request);
  Answer answer_stateless(const Request& request) const;
  Answer initialize(const Request& request);
  Answer list_tools(const Request& request) const;
  Answer call_tool(const Request& request) const;
  Json program() const;

  std::string version_;
  std::vector<Tool> tools_;
  Call call_;
  bool is_initialized_ = false;
};

// The revision that is answered to a client that asks for this one.
std::string_view agreed_revision(std::string_view asked);

}  // namespace chokepoint::analysis::mcp
