// Connects the queue pairs of endpoints by rdma_cm instead of by their addresses: one connection
// for each of them. rdma_cm finds device, GID and route by IP addresses, and only exchanges the
// parameters; the endpoints keep their queue pairs. RC only.
//
//   connect_by_cm                                    CmListener::accept
//     resolve address, route
//     connect {card: token, queue} ────────────────►  CONNECT_REQUEST   other cards are rejected
//     CONNECT_RESPONSE  ◄───────────────────────────  queue pair ready, accept
//     queue pair ready, establish ─────────────────►  ESTABLISHED
//
// The listening side has sent its port and its token by the control connection before. Nothing here
// waits longer than its deadline. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/net/address.h"
#include "base/net/deadline.h"
#include "base/sys/error.h"
#include "rdma/verbs/endpoint.h"

namespace chokepoint::rdma::verbs {

// 16 random bytes of the listener: a request for a connection that carries them is from this test's
// peer.
struct CmToken {
  std::array<std::uint8_t, 16> bytes = {};
  bool operator==(const CmToken&) const = default;
};

// Disconnects from the peer when it is destroyed, which must be before the endpoint is.
class CmConnections {
 public:
  virtual ~CmConnections() = default;
};

class CmListener {
 public:
  virtual ~CmListener() = default;

  virtual std::uint16_t port() const = 0;
  virtual const CmToken& token() const = 0;
  // Returns once the peer has connected every queue pair. The result may outlive the listener.
  virtual Result<std::unique_ptr<CmConnections>> accept(Endpoint& endpoint, const PathOptions& path,
                                                        const net::Deadline& deadline) = 0;
};

struct CmPeer {
  net::Endpoint address;
  CmToken token = {};
  std::optional<net::Address> source = {};  // this side's; nullopt: by the host's routes
};

// librdmacm.so.1 is opened at run time; without it there is an error. Port 0: any.
Result<std::unique_ptr<CmListener>> listen_by_cm(const net::Endpoint& address);
Result<std::unique_ptr<CmConnections>> connect_by_cm(Endpoint& endpoint, const CmPeer& peer,
                                                     const PathOptions& path,
                                                     const net::Deadline& deadline);

}  // namespace chokepoint::rdma::verbs
