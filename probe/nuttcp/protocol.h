// What nuttcp and its peer send on the control connection (TCP 5000) before the results: lines of
// text. The data goes over connections of its own, from port 5001 up, one a stream.
//
//   client                                   server
//     │── HELO nuttcp v6.1.2 ──────────────────►│
//     │◄────────────────── HELO nuttcp vX.Y.Z ──│
//     │── buflen = …, nbuf = …, … ─────────────►│   one line, see messages.h
//     │◄──────────────────────────── OK vX.Y.Z ─│   or KO, a text, KO
//     │◄═ data: the transmitter connects ══════►│   flipped by reverse = 1, TCP only
//     │◄──── lines an interval, then DONE ──────│   where an interval was asked for
//     │◄───────── what the server counted, EOF ─│   see messages.h
//
// A server of version 6.1.2 sends OK before it listens for the data, so the client waits a moment.
// TCP data ends by a close. UDP data is one stream between marks of four bytes:
//
//   BOD0 ─ 250 ms ─ BOD1 ─ data ─ EOD0 ─ 500 ms ─ EOD1 … EOD4
//
// mark_of and the line functions are pure; a LineChannel owns the control connection and belongs to
// one thread. The functions that send or await marks block.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/net/address.h"
#include "base/net/deadline.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/peer/datagram_loop.h"

namespace chokepoint::probe::nuttcp {

inline constexpr std::uint16_t kControlPort = 5000;
inline constexpr std::uint16_t kDataPort = 5001;
inline constexpr int kMaxStreams = 128;
inline constexpr std::size_t kMaxLineBytes = 4096;  // nuttcp's own buffer

struct Version {
  int major = 6;
  int minor = 1;
  int patch = 2;

  std::string text() const;  // 6.1.2
  auto operator<=>(const Version&) const = default;
};

// What this program claims to be: the oldest version, with the fewest fields, that peers accept.
inline constexpr Version kOwnVersion{};

std::string hello_line();
Result<Version> read_hello(std::string_view line);

std::string ok_line();
std::string refusal(std::string_view why);  // KO, the text, KO

enum class Answer { Ok, Refused };
Result<Answer> read_answer(std::string_view line);

enum class Mark { Begin, End };

// nullopt if the datagram is data.
std::optional<Mark> mark_of(std::span<const std::byte> datagram);

class LineChannel {
 public:
  // `peer`: its name in errors; `received`: what was read from the socket before.
  LineChannel(sys::Descriptor fd, std::string peer, std::string received = {})
      : fd_(std::move(fd)), peer_(std::move(peer)), received_(std::move(received)) {}

  int descriptor() const { return fd_.get(); }
  const std::string& peer() const { return peer_; }

  Result<> send(std::string_view text, const net::Deadline& deadline);
  // With its newline.
  Result<std::string> line(const net::Deadline& deadline);
  // Until the peer closes.
  Result<std::string> rest(std::size_t most, const net::Deadline& deadline);

 private:
  Result<bool> receive_more(const net::Deadline& deadline);

  sys::Descriptor fd_;
  std::string peer_;
  std::string received_;
};

// `fd` is connected to the receiver. These block for about 250 ms before the data and 600 ms after
// it.
Result<> send_begin_marks(int fd, int interrupt);
Result<> send_end_marks(int fd, int interrupt);

// Waits for the first mark from this address and connects the socket to its port, so that datagrams
// of other senders are not received.
Result<> await_begin_mark(int fd, const net::Address& from, const net::Deadline& deadline);

// How the loops of probe/peer write and read nuttcp's datagrams; they carry no number.
struct DatagramFormat {
  bool counts = false;  // with the bytes sent so far: the receiver reports by the interval

  void stamp(std::span<std::byte> packet, std::uint64_t number, std::int64_t) const {
    constexpr std::size_t kCountOffset = 24;
    const std::uint64_t sent = (number + 1) * packet.size();
    if (counts && packet.size() >= kCountOffset + sizeof(sent)) {
      std::memcpy(packet.data() + kCountOffset, &sent, sizeof(sent));
    }
  }

  std::optional<peer::Numbered> read(std::span<const std::byte> packet) const {
    return mark_of(packet) ? std::nullopt : std::optional(peer::Numbered{});
  }

  bool ends(std::span<const std::byte> packet) const { return mark_of(packet) == Mark::End; }
};

}  // namespace chokepoint::probe::nuttcp
