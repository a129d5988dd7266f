// A client of QUIC's protocol perf that sends what this program's client never would, and the
// server that it sends it to: packets are handed over in memory, by a clock of the test's own. Both
// ends are the module's code, which these tests link instead of opening it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "probe/quic/connection.h"
#include "probe/quic/module/transport.h"
#include "probe/quic/socket.h"

namespace chokepoint::probe::quic {

class OddClient final : public module::Ngtcp2Connection {
 public:
  OddClient(const Ends& ends, const Tuning& tuning) : Ngtcp2Connection(ends, tuning, false) {}

  // nullopt where the server grants no more.
  std::optional<std::int64_t> open_stream() {
    std::int64_t id = 0;
    return ngtcp2_conn_open_bidi_stream(connection_, &id, nullptr) == 0 ? std::optional(id)
                                                                        : std::nullopt;
  }

  // A packet with as much of the data as fits, and how much that is.
  struct Sent {
    std::size_t packet_bytes = 0;
    std::size_t data_bytes = 0;
  };
  Sent send(std::int64_t stream, std::span<const std::byte> data, bool ends,
            std::span<std::byte> into, std::int64_t now_ns) {
    ngtcp2_pkt_info info{};
    ngtcp2_path_storage path;
    ngtcp2_path_storage_zero(&path);
    ngtcp2_ssize taken = -1;
    const ngtcp2_vec part{
        .base = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(data.data())),
        .len = data.size()};
    const ngtcp2_ssize bytes = ngtcp2_conn_writev_stream(
        connection_, &path.path, &info, module::raw(into), into.size(), &taken,
        ends ? NGTCP2_WRITE_STREAM_FLAG_FIN : NGTCP2_WRITE_STREAM_FLAG_NONE, stream, &part, 1,
        module::stamp(now_ns));
    return {.packet_bytes = static_cast<std::size_t>(std::max<ngtcp2_ssize>(bytes, 0)),
            .data_bytes = static_cast<std::size_t>(std::max<ngtcp2_ssize>(taken, 0))};
  }

  // Its ClientHello, which takes two packets then. Before the first of them.
  void enlarge_hello() {
    constexpr int kUnassigned = 0x3a3a;  // RFC 8701, for servers to pass over
    gnutls_session_ext_register(
        tls_.handle, "enlarged", kUnassigned, GNUTLS_EXT_TLS,
        [](gnutls_session_t, const unsigned char*, std::size_t) { return 0; },
        [](gnutls_session_t, gnutls_buffer_t into) {
          static constexpr std::array<unsigned char, 1500> kBytes{};
          const int code = gnutls_buffer_append_data(into, kBytes.data(), kBytes.size());
          return code == 0 ? static_cast<int>(kBytes.size()) : code;
        },
        nullptr, nullptr, nullptr, GNUTLS_EXT_FLAG_CLIENT_HELLO);
  }

  void take_back(std::int64_t stream) { shut(ngtcp2_conn_shutdown_stream_write, stream); }
  void want_no_more(std::int64_t stream) { shut(ngtcp2_conn_shutdown_stream_read, stream); }

 private:
  template <class Shut>
  void shut(Shut how, std::int64_t stream) {
#ifdef CHOKEPOINT_NGTCP2_1
    how(connection_, 0, stream, 0);
#else
    how(connection_, stream, 0);
#endif
  }
};

class OddClientAndServer {
 public:
  OddClientAndServer(const Identity& identity, const Tuning& tuning)
      : identity_(identity), tuning_(tuning), client_(ends(1, 2), tuning) {
    is_well_ = client_.open_as_client({}, tuning, nullptr, now_ns_).has_value();
  }

  static Ends ends(std::uint16_t local, std::uint16_t peer) {
    const net::Address address = net::Address::parse("10.0.0.1").value();
    return ends_of({.address = address, .port = local}, {.address = address, .port = peer});
  }

  OddClient& client() { return client_; }
  // nullptr before the client's first packet.
  Connection* server() { return server_.get(); }
  std::int64_t now_ns() const { return now_ns_; }
  // Neither end has failed or closed the connection.
  bool is_well() const { return is_well_; }

  bool shake_hands() {
    // The library paces the first packets by a round trip of a third of a second.
    for (int i = 0; i < 500 && is_well_ && !(client_.is_ready() && server_->is_ready()); ++i) {
      carry();
    }
    return is_well_ && client_.is_ready() && server_->is_ready();
  }

  // Both ends send what they have, a few packets at the most.
  void carry() {
    give_all(client_, [this](Packet packet) { give_server(packet); });
    pass(kOneWayNs);
    if (server_) {
      give_all(*server_, [this](Packet packet) { note(client_.read(packet, 0, now_ns_)); });
    }
    pass(kOneWayNs);
  }

  void give_server(Packet packet) {
    if (!server_) {
      auto opened =
          module::accept_connection(identity_, ends(2, 1), tuning_, packet, nullptr, now_ns_);
      is_well_ = is_well_ && opened.has_value();
      if (!opened) {
        return;
      }
      server_ = *std::move(opened);
    }
    note(server_->read(packet, 0, now_ns_));
    is_well_ = is_well_ && !server_->is_closed();
  }

  void pass(std::int64_t ns) {
    now_ns_ += ns;
    for (Connection* each : {static_cast<Connection*>(&client_), server_.get()}) {
      if (each != nullptr && is_well_ && each->expiry_ns() <= now_ns_) {
        note(each->expire(now_ns_));
      }
    }
  }

  // In packets of its own, as far as the server's window allows. How much that was.
  std::size_t send(std::int64_t stream, std::span<const std::byte> data, bool ends) {
    // The library keeps pointers into it until it is acknowledged.
    const std::vector<std::byte>& kept = kept_.emplace_back(data.begin(), data.end());
    std::size_t sent = 0;
    for (int i = 0; i < 16 && is_well_; ++i) {
      std::array<std::byte, kMaxPayload> room{};
      const OddClient::Sent each =
          client_.send(stream, std::span(kept).subspan(sent), ends, room, now_ns_);
      if (each.packet_bytes == 0) {
        return sent;
      }
      sent += each.data_bytes;
      give_server(std::span(room).first(each.packet_bytes));
      if (sent == kept.size()) {
        return sent;
      }
    }
    return sent;
  }

 private:
  static constexpr std::int64_t kOneWayNs = 500'000;

  template <class Give>
  void give_all(Connection& from, Give give) {
    for (int i = 0; i < 32 && is_well_; ++i) {
      std::array<std::byte, kMaxPayload> room{};
      const Result<Written> written = from.write(room, now_ns_);
      is_well_ = is_well_ && written.has_value();
      if (!written || written->bytes == 0) {
        break;
      }
      give(std::span(room).first(written->bytes));
    }
    from.sent(now_ns_);
  }

  void note(const Result<>& done) {
    is_well_ = is_well_ && done.has_value() && !client_.is_closed();
  }

  const Identity& identity_;
  Tuning tuning_;
  std::int64_t now_ns_ = 1'000'000'000;
  bool is_well_ = true;
  std::deque<std::vector<std::byte>> kept_ = {};
  OddClient client_;
  std::unique_ptr<Connection> server_ = {};
};

}  // namespace chokepoint::probe::quic
