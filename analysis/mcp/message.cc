#include "analysis/mcp/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/cli/text.h"

namespace chokepoint::analysis::mcp {
namespace {

std::unexpected<Refusal> refused(Code code, std::string text, Json id = nullptr) {
  return std::unexpected(Refusal{.id = std::move(id), .code = code, .text = std::move(text)});
}

std::expected<Untrusted, Refusal> parsed(const std::string& text) {
  bool is_too_deep = false;
  const auto look = [&](int depth, Untrusted::parse_event_t event, Untrusted&) {
    using enum Untrusted::parse_event_t;
    is_too_deep = is_too_deep ||
                  (depth >= json::kMaxDepth && (event == object_start || event == array_start));
    return !is_too_deep;
  };
  Untrusted value = Untrusted::parse(text, look, false);
  if (is_too_deep) {
    return refused(Code::NoRequest,
                   fmt::format("the message is nested deeper than {}", json::kMaxDepth));
  }
  if (value.is_discarded()) {
    return refused(Code::NoJson, "the message is not JSON");
  }
  return value;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

// Null where it is none.
Json id_in(const Untrusted& message) {
  const auto id = message.find("id");
  return id != message.end() && (id->is_string() || id->is_number_integer()) ? Json(*id) : Json();
}

}  // namespace

void LineReader::append(std::string_view bytes) {
  if (open_.is_too_long || bytes.size() > most_bytes_ - open_.text.size()) {
    open_ = {.is_too_long = true};
  } else {
    open_.text += bytes;
  }
}

void LineReader::add(std::string_view bytes) {
  for (;;) {
    const std::size_t end = bytes.find('\n');
    append(bytes.substr(0, end));
    if (end == std::string_view::npos) {
      return;
    }
    ended_.push_back(std::exchange(open_, {}));
    bytes.remove_prefix(end + 1);
  }
}

std::optional<Line> LineReader::next() {
  if (ended_.empty()) {
    return std::nullopt;
  }
  Line line = std::move(ended_.front());
  ended_.pop_front();
  return line;
}

std::optional<Line> LineReader::rest() {
  if (open_ == Line{}) {
    return std::nullopt;
  }
  return std::exchange(open_, {});
}

std::expected<std::optional<Request>, Refusal> read_message(const Line& line) {
  if (line.is_too_long || line.text.size() > kMaxMessageBytes) {
    return refused(Code::NoRequest,
                   fmt::format("the message has more than {} bytes", kMaxMessageBytes));
  }
  if (is_blank(line.text)) {
    return std::nullopt;
  }
  auto message = parsed(line.text);
  if (!message) {
    return std::unexpected(std::move(message).error());
  }
  if (message->is_array()) {
    return refused(Code::NoRequest, "batches are not taken: send one message a line");
  }
  if (!message->is_object()) {
    return refused(Code::NoRequest, "the message is no object");
  }
  Json id = id_in(*message);
  if (const auto version = message->find("jsonrpc");
      version == message->end() || *version != "2.0") {
    return refused(Code::NoRequest, "'jsonrpc' is not \"2.0\"", std::move(id));
  }
  const auto method = message->find("method");
  if (method == message->end() && (message->contains("result") || message->contains("error"))) {
    return std::nullopt;
  }
  if (method == message->end() || !method->is_string()) {
    return refused(Code::NoRequest, "'method' is missing, or no text", std::move(id));
  }
  if (!message->contains("id")) {
    return std::nullopt;
  }
  if (id.is_null()) {
    return refused(Code::NoRequest, "'id' is neither a text nor a whole number");
  }
  Request request{.id = std::move(id), .method = method->get<std::string>()};
  if (const auto parameters = message->find("params"); parameters != message->end()) {
    if (!parameters->is_object()) {
      return refused(Code::WrongParameters, "'params' is no object", std::move(request.id));
    }
    request.parameters = std::move(*parameters);
  }
  return request;
}

std::string written(const Json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string written_result(const Json& id, Json result) {
  Json message{{"jsonrpc", "2.0"}, {"id", id}};
  message["result"] = std::move(result);
  return written(message);
}

std::string written_refusal(const Refusal& refusal) {
  Json message{{"jsonrpc", "2.0"},
               {"id", refusal.id},
               {"error", {{"code", static_cast<int>(refusal.code)}, {"message", refusal.text}}}};
  if (!refusal.data.is_null()) {
    message["error"]["data"] = refusal.data;
  }
  return written(message);
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMaxBytes = 80;
  return text.size() <= kMaxBytes ? cli::printable(text)
                                  : cli::printable(text.substr(0, kMaxBytes)) + "…";
}

}  // namespace chokepoint::analysis::mcp
