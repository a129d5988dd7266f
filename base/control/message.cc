#include "base/control/message.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/json/codec.h"

namespace chokepoint::control {
namespace {

constexpr unsigned char kMagic0 = 'C';
constexpr unsigned char kMagic1 = 'K';
constexpr unsigned char kPlain = 1;
constexpr unsigned char kSealed = 2;
// With which 'iperf3 -s' answers, since it takes a hello for its client's cookie.
constexpr unsigned kIperf3Asks = 9;
constexpr std::size_t kFirstRoom = std::size_t{16} * 1024;

std::unexpected<Error> malformed(std::string_view reason) {
  return fail(ErrorKind::Malformed, "read message", "", reason);
}

std::string text_of(const Message& message) {
  return message.body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string header_of(unsigned char framing, Type type, std::size_t length) {
  std::string header{static_cast<char>(kMagic0), static_cast<char>(kMagic1),
                     static_cast<char>(framing), static_cast<char>(type)};
  for (const int shift : {24, 16, 8, 0}) {
    header += static_cast<char>((length >> shift) & 0xffU);
  }
  return header;
}

}  // namespace

std::string encode(const Message& message) {
  const std::string body = text_of(message);
  return header_of(kPlain, message.type, body.size()) + body;
}

std::string encode(const Message& message, Seal& seal) {
  const std::string body = text_of(message);
  const std::string header = header_of(kSealed, message.type, body.size() + Seal::kExtraBytes);
  return header + seal.close(header, body);
}

std::span<std::byte> FrameReader::wanted() {
  if (in_body_) {
    return std::as_writable_bytes(std::span(body_)).subspan(have_);
  }
  return std::span(header_).subspan(have_);
}

Result<std::optional<Message>> FrameReader::took(std::size_t count) {
  have_ += count;
  if (!in_body_) {
    TRY(check_magic());  // a client may never send a whole header
  }
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

Result<> FrameReader::check_magic() const {
  constexpr std::array kMagic{kMagic0, kMagic1};
  for (std::size_t i = 0; i < std::min(have_, kMagic.size()); ++i) {
    if (std::to_integer<unsigned char>(header_[i]) != kMagic.at(i)) {
      return have_ == 1 && std::to_integer<unsigned>(header_[0]) == kIperf3Asks
                 ? fail(ErrorKind::Malformed, "read message", "", "it answers as 'iperf3 -s' does",
                        "'probe tcp' and 'probe udp' test with it by --peer-program iperf3")
                 : malformed("this is not chokepoint's protocol");
    }
  }
  return {};
}

Result<> FrameReader::read_header() {
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(header_[i]); };
  const auto type = static_cast<Type>(at(3));
  constexpr auto& kTypes = EnumNames<Type>::kNames;
  if (std::ranges::find(kTypes, type, &EnumName<Type>::first) == kTypes.end()) {
    return malformed(fmt::format("no message has the type {}", at(3)));
  }
  TRY(check_framing(at(2), type));
  is_body_sealed_ = at(2) == kSealed;
  const std::size_t extra = is_body_sealed_ ? Seal::kExtraBytes : 0;
  const std::size_t length = at(4) << 24U | at(5) << 16U | at(6) << 8U | at(7);
  if (length < 2 + extra || length > most_body_ + extra) {
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

Result<> FrameReader::check_framing(unsigned framing, Type type) const {
  if (framing != kPlain && framing != kSealed) {
    return fail(
        ErrorKind::Newer, "read message", "",
        fmt::format("framing {} is not known here, only {} and {}", framing, kPlain, kSealed));
  }
  const bool may_be_plain = !seal_ || (seal_->is_fresh() && type == Type::Refused);
  if (framing == kPlain && !may_be_plain) {
    return malformed(fmt::format("a {} that is not sealed", name_of(type)));
  }
  if (framing == kSealed && !seal_) {
    return malformed(fmt::format("a sealed {} before there are keys", name_of(type)));
  }
  return {};
}

Result<std::string> FrameReader::opened(std::string body) {
  if (!is_body_sealed_) {
    return body;
  }
  const bool is_first = seal_->is_fresh();
  const std::string_view header(reinterpret_cast<const char*>(header_.data()), header_.size());
  if (std::optional<std::string> text = seal_->open(header, body)) {
    return *std::move(text);
  }
  if (is_first) {
    return fail(ErrorKind::Permission, "handshake", "", "the keys of both ends are not the same",
                "give both the same file with --key-file; is this the right host?");
  }
  return malformed(
      fmt::format("a {} was changed in transit, or is not the next one", name_of(type_)));
}

Result<Message> FrameReader::read_body() {
  TRY(const std::string text, opened(std::exchange(body_, {})));
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

namespace {

static_assert(sizeof(Secret) == crypto_scalarmult_BYTES);
static_assert(sizeof(Secret) == crypto_scalarmult_SCALARBYTES);
static_assert(sizeof(Secret) == crypto_aead_chacha20poly1305_ietf_KEYBYTES);
static_assert(Seal::kExtraBytes == crypto_aead_chacha20poly1305_ietf_ABYTES);

using Nonce = std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_NPUBBYTES>;

std::string_view text_of(const Secret& secret) {
  return {reinterpret_cast<const char*>(secret.data()), secret.size()};
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Four zero bytes and the number, little-endian, as RFC 7539 and Noise have it.
Nonce nonce_of(std::uint64_t frame) {
  Nonce nonce{};
  for (std::size_t i = 0; i < sizeof(frame); ++i) {
    nonce.at(4 + i) = static_cast<unsigned char>(frame >> (8 * i));
  }
  return nonce;
}

}  // namespace

KeyExchange::KeyExchange() : secret_(random_secret()) {
  crypto_scalarmult_base(public_.data(), secret_.data());
}

Result<ConnectionKeys> KeyExchange::keys(const Secret& other, const std::optional<Secret>& key,
                                         std::string_view hello, std::string_view welcome) const {
  Secret agreed{};
  if (crypto_scalarmult(agreed.data(), secret_.data(), other.data()) != 0) {
    return fail(ErrorKind::Malformed, "handshake", "'nonce'", "it is no public key");
  }
  const Secret root =
      mac_of(key.value_or(Secret{}), {"chokepoint root 2", hello, welcome, text_of(agreed)});
  return ConnectionKeys{.to_server = mac_of(root, {"to server"}),
                        .to_client = mac_of(root, {"to client"}),
                        .attach = mac_of(root, {"attach"})};
}

std::string Seal::close(std::string_view header, std::string_view body) {
  std::string sealed(body.size() + kExtraBytes, '\0');
  const Nonce nonce = nonce_of(frames_++);
  crypto_aead_chacha20poly1305_ietf_encrypt(reinterpret_cast<unsigned char*>(sealed.data()),
                                            nullptr, bytes_of(body), body.size(), bytes_of(header),
                                            header.size(), nullptr, nonce.data(), key_.data());
  return sealed;
}

std::optional<std::string> Seal::open(std::string_view header, std::string_view sealed) {
  if (sealed.size() < kExtraBytes) {
    return std::nullopt;
  }
  std::string body(sealed.size() - kExtraBytes, '\0');
  const Nonce nonce = nonce_of(frames_);
  if (crypto_aead_chacha20poly1305_ietf_decrypt(
          reinterpret_cast<unsigned char*>(body.data()), nullptr, nullptr, bytes_of(sealed),
          sealed.size(), bytes_of(header), header.size(), nonce.data(), key_.data()) != 0) {
    return std::nullopt;
  }
  ++frames_;
  return body;
}

}  // namespace chokepoint::control
