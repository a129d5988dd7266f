#include "base/control/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace chokepoint::control {
namespace {

constexpr unsigned char kMagic0 = 'C';
constexpr unsigned char kMagic1 = 'K';
constexpr unsigned char kFraming = 1;
constexpr std::size_t kFirstRoom = std::size_t{16} * 1024;

constexpr std::array<std::pair<Type, std::string_view>, 16> kNames{{
    {Type::Hello, "hello"},
    {Type::Welcome, "welcome"},
    {Type::Proof, "proof"},
    {Type::Admitted, "admitted"},
    {Type::Refused, "refused"},
    {Type::Attach, "attach"},
    {Type::Request, "request"},
    {Type::Queued, "queued"},
    {Type::Ready, "ready"},
    {Type::Begin, "begin"},
    {Type::Report, "report"},
    {Type::Stop, "stop"},
    {Type::Result, "result"},
    {Type::Failed, "failed"},
    {Type::Bye, "bye"},
    {Type::Note, "note"},
}};

std::optional<Type> type_of(unsigned number) {
  for (const auto& [type, name] : kNames) {
    if (static_cast<unsigned>(type) == number) {
      return type;
    }
  }
  return std::nullopt;
}

std::unexpected<Error> malformed(std::string_view reason) {
  return fail(ErrorKind::Malformed, "read message", "", reason);
}

// Brackets in strings do not count.
bool nested_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepestBody) {
        return true;
      }
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

std::string_view name_of(Type type) {
  for (const auto& [each, name] : kNames) {
    if (each == type) {
      return name;
    }
  }
  return "unknown";
}

std::string encode(const Message& message) {
  const std::string body = message.body.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto length = static_cast<std::uint32_t>(body.size());
  std::string frame;
  frame.reserve(kHeaderBytes + body.size());
  frame += static_cast<char>(kMagic0);
  frame += static_cast<char>(kMagic1);
  frame += static_cast<char>(kFraming);
  frame += static_cast<char>(message.type);
  for (const int shift : {24, 16, 8, 0}) {
    frame += static_cast<char>((length >> shift) & 0xffU);
  }
  return frame + body;
}

std::span<std::byte> FrameReader::wanted() {
  if (in_body_) {
    return std::as_writable_bytes(std::span(body_)).subspan(have_);
  }
  return std::span(header_).subspan(have_);
}

Result<std::optional<Message>> FrameReader::took(std::size_t count) {
  have_ += count;
  if (!in_body_ && have_ == kHeaderBytes) {
    TRY(read_header());
  }
  if (!in_body_) {
    return std::nullopt;
  }
  if (have_ < length_) {
    make_room();
    return std::nullopt;
  }
  in_body_ = false;
  have_ = 0;
  return read_body();
}

Result<> FrameReader::read_header() {
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(header_[i]); };
  if (at(0) != kMagic0 || at(1) != kMagic1) {
    return malformed("this is not chokepoint's protocol");
  }
  if (at(2) != kFraming) {
    return fail(ErrorKind::Newer, "read message", "",
                fmt::format("framing {} is not known here, only {}", at(2), kFraming));
  }
  const std::optional<Type> type = type_of(at(3));
  if (!type) {
    return malformed(fmt::format("no message has the type {}", at(3)));
  }
  const std::size_t length = at(4) << 24U | at(5) << 16U | at(6) << 8U | at(7);
  if (length < 2 || length > most_body_) {
    return malformed(fmt::format("a {} of {} bytes; at most {} are taken here", name_of(*type),
                                 length, most_body_));
  }
  type_ = *type;
  length_ = length;
  have_ = 0;
  in_body_ = true;
  make_room();
  return {};
}

void FrameReader::make_room() {
  if (have_ == body_.size()) {
    body_.resize(std::min(length_, have_ + std::max(have_, kFirstRoom)));
  }
}

Result<Message> FrameReader::read_body() {
  const std::string text = std::exchange(body_, {});
  if (nested_too_deep(text)) {
    return malformed(fmt::format("the body of a {} is nested too deep", name_of(type_)));
  }
  Json body = Json::parse(text, nullptr, false);
  if (!body.is_object()) {
    return malformed(fmt::format("the body of a {} is not a JSON object", name_of(type_)));
  }
  return Message{.type = type_, .body = std::move(body)};
}

namespace {

constexpr std::size_t kLongestWords = 500;

constexpr std::array<std::pair<ErrorKind, std::string_view>, 14> kKinds{{
    {ErrorKind::Usage, "usage"},
    {ErrorKind::NotFound, "not_found"},
    {ErrorKind::Permission, "permission"},
    {ErrorKind::Refused, "refused"},
    {ErrorKind::Timeout, "timeout"},
    {ErrorKind::Unreachable, "unreachable"},
    {ErrorKind::Exhausted, "exhausted"},
    {ErrorKind::ReadOnly, "read_only"},
    {ErrorKind::Busy, "busy"},
    {ErrorKind::Unsupported, "unsupported"},
    {ErrorKind::Malformed, "malformed"},
    {ErrorKind::Newer, "newer"},
    {ErrorKind::Interrupted, "interrupted"},
    {ErrorKind::Io, "io"},
}};

std::string_view name_of(ErrorKind kind) {
  const auto* at = std::ranges::find(kKinds, kind, &std::pair<ErrorKind, std::string_view>::first);
  return at == kKinds.end() ? "io" : at->second;
}

ErrorKind kind_named(std::string_view name) {
  const auto* at = std::ranges::find(kKinds, name, &std::pair<ErrorKind, std::string_view>::second);
  return at == kKinds.end() ? ErrorKind::Io : at->first;
}

std::string words(const Json& body, const char* name) {
  const auto at = body.find(name);
  return at != body.end() && at->is_string()
             ? at->get_ref<const std::string&>().substr(0, kLongestWords)
             : std::string();
}

}  // namespace

Json body_of(const Error& error) {
  return {{"kind", name_of(error.kind)},
          {"operation", error.operation},
          {"subject", error.subject},
          {"reason", error.reason},
          {"next_step", error.next_step}};
}

Error error_in(const Json& body, std::string_view peer) {
  Error error{.kind = kind_named(words(body, "kind")),
              .operation = words(body, "operation"),
              .subject = words(body, "subject"),
              .reason = words(body, "reason"),
              .next_step = words(body, "next_step")};
  // Only this side's own user can interrupt this side.
  error.kind = error.kind == ErrorKind::Interrupted ? ErrorKind::Refused : error.kind;
  error.subject =
      error.subject.empty() ? std::string(peer) : std::string(peer) + " says: " + error.subject;
  error.reason = error.reason.empty() ? "it gave no reason" : error.reason;
  return error;
}

}  // namespace chokepoint::control
