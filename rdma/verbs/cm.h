// Connects the queue pairs of endpoints by rdma_cm instead of by their addresses: one connection
// for each of them. rdma_cm finds device, GID and route by IP addresses, and takes part in the
// exchange alone; queue pairs stay their endpoints'. RC only.
//
// The side that listens tells the other one its port and its token by a way of their own; who asks
// without that token is sent away. Nothing here waits for longer than its patience. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/net/address.h"
#include "base/net/patience.h"
#include "base/sys/error.h"
#include "rdma/verbs/endpoint.h"

namespace chokepoint::rdma::verbs {

using CmToken = std::array<std::uint8_t, 16>;

// Says goodbye to the peer when it goes, which is before the endpoint does.
class CmConnections {
 public:
  virtual ~CmConnections() = default;
};

class CmListener {
 public:
  virtual ~CmListener() = default;

  virtual std::uint16_t port() const = 0;
  virtual const CmToken& token() const = 0;
  // Until the peer has connected every queue pair. What it returns may outlive the listener.
  virtual Result<std::unique_ptr<CmConnections>> accept(Endpoint& endpoint, const PathOptions& path,
                                                        const net::Patience& patience) = 0;
};

struct CmPeer {
  net::Endpoint address;
  CmToken token = {};
  std::optional<net::Address> source = {};  // this side's; nothing: as the host's routes have it
};

// librdmacm.so.1 is opened at run time; without it an error that says so. Port 0: any.
Result<std::unique_ptr<CmListener>> listen_by_cm(const net::Endpoint& address);
Result<std::unique_ptr<CmConnections>> connect_by_cm(Endpoint& endpoint, const CmPeer& peer,
                                                     const PathOptions& path,
                                                     const net::Patience& patience);

}  // namespace chokepoint::rdma::verbs
