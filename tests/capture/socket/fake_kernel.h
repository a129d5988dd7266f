// A kernel with the sockets that a test puts into it.
#pragma once

#include <linux/tcp.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/packet/address_text.h"
#include "capture/socket/kernel.h"

namespace chokepoint::capture::socket {

struct FakeSocket {
  std::uint64_t cookie = 0;
  std::uint32_t inode = 0;
  std::uint8_t state = 1;
  packet::Ends ends = {};
  tcp_info info = {};

  // Sends so much, all of which arrives.
  void send(std::uint64_t bytes) {
    info.tcpi_bytes_sent += bytes;
    info.tcpi_bytes_acked += bytes;
  }
  Reading reading() const {
    Reading reading;
    reading.name.id.idiag_cookie[0] = static_cast<std::uint32_t>(cookie);
    reading.cookie = cookie;
    reading.inode = inode;
    reading.state = state;
    reading.ends = ends;
    reading.info = std::as_bytes(std::span(&info, 1));
    return reading;
  }
};

// Stays with the test while the watcher has its own handle on it.
struct FakeHost {
  std::map<std::uint64_t, FakeSocket> sockets = {};
  std::vector<FakeSocket> last_words = {};
  std::optional<Error> trouble = {};         // of dumps
  std::optional<Error> events_trouble = {};  // of last words
  Interfaces interfaces = {};
  std::size_t dumps = 0;
  std::size_t looks = 0;

  FakeSocket& open(std::uint64_t cookie, std::uint32_t inode, const std::string& local,
                   std::uint16_t local_port, const std::string& remote, std::uint16_t remote_port) {
    FakeSocket made{.cookie = cookie, .inode = inode};
    made.ends = {.source = packet::as_in_packets(*net::Address::parse(local)),
                 .destination = packet::as_in_packets(*net::Address::parse(remote)),
                 .source_port = local_port,
                 .destination_port = remote_port,
                 .protocol = 6};
    return sockets[cookie] = made;
  }
  FakeSocket& listen(std::uint64_t cookie, std::uint32_t inode, std::uint16_t port) {
    FakeSocket& made = open(cookie, inode, "0.0.0.0", port, "0.0.0.0", 0);
    made.state = 10;
    return made;
  }
  void close(std::uint64_t cookie) {
    last_words.push_back(sockets.at(cookie));
    last_words.back().inode = 0;
    last_words.back().state = 7;
    sockets.erase(cookie);
  }
};

class FakeKernel final : public Kernel {
 public:
  explicit FakeKernel(FakeHost& host) : host_(host) {}

  Result<> dump(const Take& take) override {
    ++host_.dumps;
    if (host_.trouble) {
      return fail(*host_.trouble);
    }
    for (const auto& [cookie, socket] : host_.sockets) {
      take(socket.reading());
    }
    return {};
  }
  Result<> query(std::span<const Name> wanted, const TakeOne& take) override {
    for (std::size_t index = 0; index < wanted.size(); ++index) {
      ++host_.looks;
      const auto known = host_.sockets.find(wanted[index].id.idiag_cookie[0]);
      if (known == host_.sockets.end()) {
        take(index, nullptr);
      } else {
        const Reading reading = known->second.reading();
        take(index, &reading);
      }
    }
    return {};
  }
  Result<> destroyed(const Take& take) override {
    for (const FakeSocket& socket : std::exchange(host_.last_words, {})) {
      take(socket.reading());
    }
    return host_.events_trouble ? fail(*host_.events_trouble) : Result<>();
  }
  Result<Interfaces> interfaces() override { return host_.interfaces; }

 private:
  FakeHost& host_;
};

}  // namespace chokepoint::capture::socket
