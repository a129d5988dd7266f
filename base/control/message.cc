#include "base/control/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/json/codec.h"

namespace chokepoint::control {
namespace {

constexpr unsigned char kMagic0 = 'C';
constexpr unsigned char kMagic1 = 'K';
constexpr unsigned char kFraming = 1;
constexpr std::size_t kFirstRoom = std::size_t{16} * 1024;

std::unexpected<Error> malformed(std::string_view reason) {
  return fail(ErrorKind::Malformed, "read message", "", reason);
}

}  // namespace

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
  const auto type = static_cast<Type>(at(3));
  constexpr auto& kTypes = EnumNames<Type>::kNames;
  if (std::ranges::find(kTypes, type, &EnumName<Type>::first) == kTypes.end()) {
    return malformed(fmt::format("no message has the type {}", at(3)));
  }
  const std::size_t length = at(4) << 24U | at(5) << 16U | at(6) << 8U | at(7);
  if (length < 2 || length > most_body_) {
    return malformed(fmt::format("a {} of {} bytes; at most {} are taken here", name_of(type),
                                 length, most_body_));
  }
  type_ = type;
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
  TRY(Json body,
      json::parse_object(text, most_body_, fmt::format("the body of a {}", name_of(type_))));
  return Message{.type = type_, .body = std::move(body)};
}

namespace {

constexpr std::size_t kMaxTextBytes = 500;

std::string text_in(const Json& body, const char* name) {
  const auto at = body.find(name);
  return at != body.end() && at->is_string()
             ? at->get_ref<const std::string&>().substr(0, kMaxTextBytes)
             : std::string();
}

}  // namespace

Json body_of(const Error& error) { return json::to_json(error); }

Error of_peer(Error error) {
  error.kind = error.kind == ErrorKind::Interrupted ? ErrorKind::Refused : error.kind;
  error.reason = error.reason.empty() ? "it gave no reason" : error.reason;
  return error;
}

Error error_in(const Json& body, std::string_view peer) {
  Error error{.kind = named<ErrorKind>(text_in(body, "kind")).value_or(ErrorKind::Io),
              .operation = text_in(body, "operation"),
              .subject = text_in(body, "subject"),
              .reason = text_in(body, "reason"),
              .next_step = text_in(body, "next_step")};
  error.subject =
      error.subject.empty() ? std::string(peer) : std::string(peer) + " says: " + error.subject;
  return of_peer(std::move(error));
}

}  // namespace chokepoint::control
