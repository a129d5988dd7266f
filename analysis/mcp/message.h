// Messages of the Model Context Protocol on a stream: JSON-RPC 2.0, one a line. What is read here
// may be any bytes: a line has at most kMaxMessageBytes, its objects and lists at most
// json::kMaxDepth levels, and what is no message becomes a Refusal, the error to be sent back.
// Values and pure functions; one thread.
//
//   bytes ──► LineReader ──► Line ──► read_message() ──► Request ──► Server
//                                         │
//                                         ├─ Refusal: to be sent back
//                                         └─ nothing: a notification, or an answer to no request
#pragma once

#include <cstddef>
#include <deque>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/json/codec.h"

namespace chokepoint::analysis::mcp {

using json::Json;

// What others sent, by sorted keys: a Json looks for each new key among all that it has, which of
// an object of half a million takes minutes.
using Untrusted = nlohmann::json;

inline constexpr std::size_t kMaxMessageBytes = std::size_t{4} << 20;

struct Line {
  std::string text = {};     // without its end
  bool is_too_long = false;  // then `text` is empty
  bool operator==(const Line&) const = default;
};

// Parts a stream into lines. Holds no more than one line that has not ended, and those that ended
// within the bytes that were added last.
class LineReader {
 public:
  explicit LineReader(std::size_t most_bytes = kMaxMessageBytes) : most_bytes_(most_bytes) {}

  void add(std::string_view bytes);
  // The next line that has ended; nothing where none has.
  std::optional<Line> next();
  // Behind the last line's end, once the stream has ended; nothing where there is nothing.
  std::optional<Line> rest();

 private:
  void append(std::string_view bytes);

  std::size_t most_bytes_;
  Line open_;
  std::deque<Line> ended_;
};

// Of JSON-RPC 2.0, and the one code of MCP's own that is sent here.
enum class Code {
  NoJson = -32700,
  NoRequest = -32600,
  NoMethod = -32601,
  WrongParameters = -32602,
  UnsupportedVersion = -32022,
};

struct Refusal {
  Json id = nullptr;  // of the request; null where it cannot be read
  Code code = Code::NoRequest;
  std::string text = {};
  Json data = nullptr;  // null: none
};

struct Request {
  Json id = nullptr;  // a text or a whole number
  std::string method = {};
  Untrusted parameters = Untrusted::object();
};

// Nothing for what gets no answer: a notification, an answer.
std::expected<std::optional<Request>, Refusal> read_message(const Line& line);

// A message as it is sent, without the line's end. Bytes that are no UTF-8 are replaced.
std::string written(const Json& message);
std::string written_result(const Json& id, Json result);
std::string written_refusal(const Refusal& refusal);

// A name or a value that another sent, short enough and fit to be repeated in an error.
std::string shown(std::string_view text);

}  // namespace chokepoint::analysis::mcp
