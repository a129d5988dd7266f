#include "analysis/mcp/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/documents/document.h"

namespace chokepoint::analysis::mcp {
namespace {

// https://modelcontextprotocol.io/specification; the newest first. 2025-03-26 is left out: a server
// of that revision has to take batches, which no other one knows.
constexpr std::array<std::string_view, 3> kWithHandshake{"2025-11-25", "2025-06-18", "2024-11-05"};
constexpr std::string_view kStateless = "2026-07-28";

constexpr const char* kRevisionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr const char* kServerKey = "io.modelcontextprotocol/serverInfo";
// The tools follow from the program: they change with it alone.
constexpr int kFreshMs = 3'600'000;

constexpr std::size_t kMaxDocumentBytes = std::size_t{64} << 20;

constexpr const char* kInstructions =
    "chokepoint shows what holds a distributed training job back, from records of its runs. Begin "
    "with `runs` for the runs that are there and `diagnose` for what held one back; a run is named "
    "by its folder, by its name, or as `latest`. `explain` says what a verdict, a cause or a check "
    "means, `predict` what another network would change, `compare` shows runs side by side, "
    "`checks` checks this host. Unknown values are null. All tools only read.";

std::unexpected<Refusal> refusal(const Request& request, Code code, std::string text,
                                 Json data = nullptr) {
  return std::unexpected(
      Refusal{.id = request.id, .code = code, .text = std::move(text), .data = std::move(data)});
}

std::unexpected<Refusal> no_method(const Request& request) {
  return refusal(request, Code::NoMethod, "no method " + shown(request.method));
}

// Null where there is none.
const Untrusted& member(const Untrusted& object, const char* name) {
  static const Untrusted none;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? none : *found;
}

Json text_content(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }

Json failed_call(std::string text) {
  return {{"content", Json::array({text_content(std::move(text))})}, {"isError", true}};
}

Json capabilities() { return {{"tools", Json::object()}}; }

Json result_of(const Tool& tool, CallOutcome outcome) {
  if (outcome.has_failed) {
    return failed_call(std::move(outcome.out));
  }
  Json result{{"content", Json::array()}};
  if (tool.has_document) {
    Result<Json> document = json::parse_object(outcome.out, kMaxDocumentBytes, tool.document);
    if (!document || !documents::is_of_schema(*document, tool.document)) {
      return failed_call(fmt::format("{} printed no {}", tool.name, tool.document));
    }
    result["content"].push_back(text_content(written(*document)));
    result["structuredContent"] = *std::move(document);
  } else {
    result["content"].push_back(text_content(std::move(outcome.out)));
  }
  if (!outcome.messages.empty()) {
    result["content"].push_back(text_content(std::move(outcome.messages)));
  }
  result["isError"] = false;
  return result;
}

}  // namespace

std::string_view agreed_revision(std::string_view asked) {
  const auto* const found =
      std::ranges::find_if(kWithHandshake, [&](std::string_view each) { return each <= asked; });
  return found == kWithHandshake.end() ? kWithHandshake.front() : *found;
}

Json Server::program() const {
  return {{"name", "chokepoint"}, {"title", "chokepoint"}, {"version", version_}};
}

std::optional<std::string> Server::answer(const Line& line) {
  const auto request = read_message(line);
  if (!request) {
    return written_refusal(request.error());
  }
  if (!*request) {
    return std::nullopt;
  }
  Answer result = answer(**request);
  return result ? written_result((*request)->id, *std::move(result))
                : written_refusal(result.error());
}

Server::Answer Server::answer(const Request& request) {
  if (request.method == "initialize") {
    return initialize(request);
  }
  if (request.method == "server/discover" ||
      !member(member(request.parameters, "_meta"), kRevisionKey).is_null()) {
    return answer_stateless(request);
  }
  if (request.method == "ping") {
    return Json::object();
  }
  const bool is_list = request.method == "tools/list";
  if (!is_list && request.method != "tools/call") {
    return no_method(request);
  }
  if (!is_initialized_) {
    return refusal(request, Code::NoRequest, "initialize comes first");
  }
  return is_list ? list_tools(request) : call_tool(request);
}

Server::Answer Server::answer_stateless(const Request& request) const {
  const Untrusted& meta = member(request.parameters, "_meta");
  const Untrusted& revision = member(meta, kRevisionKey);
  if (!revision.is_string() || !member(meta, kCapabilitiesKey).is_object()) {
    return refusal(request, Code::WrongParameters,
                   fmt::format("'_meta' lacks '{}' or '{}'", kRevisionKey, kCapabilitiesKey));
  }
  if (const auto asked = revision.get<std::string>(); asked != kStateless) {
    return refusal(request, Code::UnsupportedVersion, "Unsupported protocol version",
                   {{"supported", {kStateless}}, {"requested", shown(asked)}});
  }
  const bool is_discovery = request.method == "server/discover";
  const bool is_list = request.method == "tools/list";
  if (!is_discovery && !is_list && request.method != "tools/call") {
    return no_method(request);
  }
  Answer result = is_discovery ? Json{{"supportedVersions", {kStateless}},
                                      {"capabilities", capabilities()},
                                      {"instructions", kInstructions}}
                  : is_list    ? list_tools(request)
                               : call_tool(request);
  if (!result) {
    return result;
  }
  (*result)["resultType"] = "complete";
  if (is_discovery || is_list) {
    (*result)["ttlMs"] = kFreshMs;
    (*result)["cacheScope"] = "public";
  }
  (*result)["_meta"] = {{kServerKey, program()}};
  return result;
}

Server::Answer Server::initialize(const Request& request) {
  const Untrusted& asked = member(request.parameters, "protocolVersion");
  if (!asked.is_string()) {
    return refusal(request, Code::WrongParameters, "'protocolVersion' is missing, or no text");
  }
  if (std::exchange(is_initialized_, true)) {
    return refusal(request, Code::NoRequest, "initialize was there before");
  }
  return Json{{"protocolVersion", agreed_revision(asked.get<std::string>())},
              {"capabilities", capabilities()},
              {"serverInfo", program()},
              {"instructions", kInstructions}};
}

Server::Answer Server::list_tools(const Request& request) const {
  // All are on the first page.
  if (!member(request.parameters, "cursor").is_null()) {
    return refusal(request, Code::WrongParameters, "no such cursor");
  }
  Json tools = Json::array();
  for (const Tool& tool : tools_) {
    tools.push_back(tool.description);
  }
  return Json{{"tools", std::move(tools)}};
}

Server::Answer Server::call_tool(const Request& request) const {
  const Untrusted& name = member(request.parameters, "name");
  if (!name.is_string()) {
    return refusal(request, Code::WrongParameters, "'name' is missing, or no text");
  }
  const auto tool = std::ranges::find(tools_, name.get<std::string>(), &Tool::name);
  if (tool == tools_.end()) {
    return refusal(request, Code::WrongParameters,
                   "Unknown tool: " + shown(name.get<std::string>()));
  }
  const Untrusted& given = member(request.parameters, "arguments");
  if (!given.is_null() && !given.is_object()) {
    return refusal(request, Code::WrongParameters, "'arguments' is no object");
  }
  const auto words = words_of(*tool, given.is_null() ? Untrusted::object() : given);
  // So that the model, which sees results alone, can correct its call.
  return words ? result_of(*tool, call_(*words)) : failed_call(describe(words.error()));
}

}  // namespace chokepoint::analysis::mcp
