// Real TCP sockets for tests: both ends of a connection, in the network namespace of the thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/sys/descriptor.h"

namespace chokepoint::capture::socket {

// A listener on a port that the kernel chooses.
class Listener {
 public:
  explicit Listener(const std::string& address = "127.0.0.1");

  std::uint16_t port() const { return port_; }
  sys::Descriptor accept() const;

 private:
  sys::Descriptor socket_;
  std::uint16_t port_ = 0;
};

struct SocketPair {
  sys::Descriptor client;
  sys::Descriptor server;
};

// `send_bytes`: of the client's buffer; 0: as the system has it.
sys::Descriptor connect_to(const std::string& address, std::uint16_t port, int send_bytes = 0);
SocketPair connect_over(const Listener& listener, const std::string& address = "127.0.0.1",
                        int send_bytes = 0);

// Sends and receives all of it, in pieces that fit.
void carry(const SocketPair& pair, std::size_t bytes);

// Another process, which does its part and then stays until the end of the test. It has what this
// one has open. Parts wait for each other by words through pipes.
class Child {
 public:
  using Body = std::function<void(Child& self)>;

  explicit Child(const Body& body);
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void kill();

  void send_word(std::uint16_t word) const;
  std::uint16_t receive_word() const;

 private:
  pid_t pid_ = 0;
  sys::Descriptor in_;
  sys::Descriptor out_;
};

}  // namespace chokepoint::capture::socket
