#include "base/traffic/content.h"

#include <algorithm>
#include <array>

namespace chokepoint::traffic {
namespace {

// Bytes from the first on; "." is any.
class Pattern {
 public:
  // As two hexadecimal digits each, or "..", between blanks.
  static consteval Pattern hex(std::string_view text) {
    Pattern pattern;
    for (std::size_t at = 0; at + 1 < text.size(); at += 3) {
      const bool is_any = text[at] == '.';
      pattern.add(is_any ? 0 : digit(text[at]) * 16 + digit(text[at + 1]), is_any);
    }
    return pattern;
  }
  static consteval Pattern text(std::string_view text) {
    Pattern pattern;
    for (const char letter : text) {
      pattern.add(static_cast<unsigned char>(letter), false);
    }
    return pattern;
  }

  bool fits(std::span<const std::uint8_t> bytes) const {
    if (bytes.size() < size_) {
      return false;
    }
    for (std::size_t at = 0; at < size_; ++at) {
      if (!any_.at(at) && bytes[at] != bytes_.at(at)) {
        return false;
      }
    }
    return true;
  }

 private:
  static consteval int digit(char letter) {
    return letter <= '9' ? letter - '0' : letter - 'A' + 10;
  }
  consteval void add(int byte, bool is_any) {
    bytes_.at(size_) = static_cast<std::uint8_t>(byte);
    any_.at(size_) = is_any;
    ++size_;
  }

  std::array<std::uint8_t, 24> bytes_{};
  std::array<bool, 24> any_{};
  std::size_t size_ = 0;
};

struct Signature {
  Content content = Content::Unknown;
  Pattern pattern = {};
};

// docs/internals/traffic.md says where each is from.
constexpr std::array kSignatures{
    Signature{Content::Nccl, Pattern::hex("6C 9D 4B FC F2 B9 4A 56")},
    Signature{Content::OpenMpi,
              Pattern::hex(".. .. .. .. .. .. .. .. 4F 50 41 4C 2D 54 43 50 2D 42 54 4C")},
    Signature{Content::Pmix,
              Pattern::hex("FF FF FF FF FF FF FF FF .. .. .. .. .. .. .. .. 6E 61 74 69 76 65")},
    Signature{Content::Ucx, Pattern::hex("78 56 34 12 BE BA FE CA")},
    Signature{Content::TcpStore, Pattern::hex("00 CE F7 85 3C")},
    Signature{Content::TensorPipe, Pattern::hex(".. 00 00 00 00 00 00 00 B8 .. B9 01")},
    Signature{Content::Zmq, Pattern::hex("FF 00 00 00 00 00 00 00 .. 7F")},
    Signature{Content::Redis, Pattern::hex("2A 31 0D 0A 24")},
    Signature{Content::Redis, Pattern::hex("2A 32 0D 0A 24")},
    Signature{Content::Redis, Pattern::hex("2A 33 0D 0A 24")},
    Signature{Content::Http2, Pattern::text("PRI * HTTP/2.0")},
    Signature{Content::Http, Pattern::text("GET /")},
    Signature{Content::Http, Pattern::text("PUT /")},
    Signature{Content::Http, Pattern::text("POST /")},
    Signature{Content::Http, Pattern::text("HEAD /")},
    Signature{Content::Http, Pattern::text("DELETE /")},
    Signature{Content::Http, Pattern::text("HTTP/1.")},
    Signature{Content::Tls, Pattern::hex("16 03 .. .. .. 01")},
    Signature{Content::Tls, Pattern::hex("16 03 .. .. .. 02")},
    // A call of ONC RPC, version 2, to program 100003.
    Signature{Content::Nfs,
              Pattern::hex("80 .. .. .. .. .. .. .. 00 00 00 00 00 00 00 02 00 01 86 A3")},
    Signature{Content::Smb, Pattern::hex("00 .. .. .. FE 53 4D 42")},
    Signature{Content::Smb, Pattern::hex("00 .. .. .. FF 53 4D 42")},
    Signature{Content::Ceph, Pattern::text("ceph v")},
    Signature{Content::Lustre, Pattern::hex("00 71 CE AC")},
    Signature{Content::Lustre, Pattern::hex("ED 0D BC EE")},
    Signature{Content::Rsync, Pattern::text("@RSYNCD:")},
    Signature{Content::Ssh, Pattern::text("SSH-")}};

}  // namespace

Content content_of(std::span<const std::uint8_t> beginning) {
  const auto* const found = std::ranges::find_if(
      kSignatures, [&](const Signature& each) { return each.pattern.fits(beginning); });
  return found == kSignatures.end() ? Content::Unknown : found->content;
}

}  // namespace chokepoint::traffic
