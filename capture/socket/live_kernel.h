// sock_diag over netlink, framed by libmnl, in the calling thread's network namespace or in
// another:
//
//   requests ── dump ──▶                     ──▶ parts … done
//   requests ── one datagram, many names ──▶ ──▶ an answer for each
//   events      (joined: the groups that tell of destroyed sockets) ──▶ last states
#pragma once

#include <libmnl/libmnl.h>

#include <array>
#include <memory>
#include <vector>

#include "base/sys/descriptor.h"
#include "base/sys/root.h"
#include "capture/socket/kernel.h"

namespace chokepoint::capture::socket {

class LiveKernel final : public Kernel {
 public:
  // Entering another namespace needs CAP_SYS_ADMIN; the calling thread stays where it is.
  static Result<std::unique_ptr<Kernel>> open(const sys::Root& root, const Network& network);

  Result<> dump(const Take& take) override;
  Result<> look(std::span<const Name> wanted, const TakeOne& take) override;
  Result<> destroyed(const Take& take) override;
  Result<Interfaces> interfaces() override;

 private:
  struct Close {
    void operator()(mnl_socket* socket) const { mnl_socket_close(socket); }
  };
  using Socket = std::unique_ptr<mnl_socket, Close>;

  // Answers to single requests are taken from the kernel so many at a time.
  static constexpr std::size_t kBatch = 64;
  static constexpr std::size_t kAnswerBytes = 1024;
  static constexpr std::size_t kDumpBytes = 65'536;

  explicit LiveKernel(sys::Descriptor inside) : inside_(std::move(inside)) {}

  Result<> open_sockets();
  Result<> dump(std::uint8_t family, const Take& take);
  Result<bool> take_part(const Take& take);
  Result<> send_names(std::span<const Name> wanted);
  void take_answers(std::size_t wanted, std::size_t first, const TakeOne& take);
  // How many came into answers_; 0: nothing is there, or it failed and errno tells.
  std::size_t receive(mnl_socket* socket);

  sys::Descriptor inside_;  // another network namespace; closed: the thread's own
  Socket requests_;
  Socket events_;
  std::optional<Error> no_events_;
  std::uint32_t sequence_ = 0;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kDumpBytes);
  std::vector<std::array<std::byte, kAnswerBytes>> answers_ =
      std::vector<std::array<std::byte, kAnswerBytes>>(kBatch);
  std::array<std::size_t, kBatch> lengths_ = {};
};

}  // namespace chokepoint::capture::socket
