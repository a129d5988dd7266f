#include "base/traffic/purpose.h"

#include <algorithm>

namespace chokepoint::traffic {
namespace {

// Of most protocols the purpose is clear; of the others it depends on who speaks them.
struct OfContent {
  Content content = Content::Unknown;
  Purpose among_ranks = Purpose::Unknown;
  Purpose to_a_server = Purpose::Unknown;
};
constexpr std::array kOfContents{
    OfContent{Content::Gloo, Purpose::Collectives, Purpose::Collectives},
    OfContent{Content::Nccl, Purpose::Collectives, Purpose::Collectives},
    OfContent{Content::OpenMpi, Purpose::Collectives, Purpose::Collectives},
    OfContent{Content::Ucx, Purpose::Collectives, Purpose::Collectives},
    OfContent{Content::Pmix, Purpose::Rendezvous, Purpose::Rendezvous},
    OfContent{Content::TcpStore, Purpose::Rendezvous, Purpose::Rendezvous},
    OfContent{Content::TensorPipe, Purpose::Rpc, Purpose::Rpc},
    OfContent{Content::Zmq, Purpose::Rpc, Purpose::Rpc},
    OfContent{Content::Redis, Purpose::Rpc, Purpose::Rpc},
    OfContent{Content::Http2, Purpose::Rpc, Purpose::Rpc},
    OfContent{Content::Http, Purpose::Weights, Purpose::Storage},
    OfContent{Content::Tls, Purpose::Unknown, Purpose::Storage},
    OfContent{Content::Nfs, Purpose::Storage, Purpose::Storage},
    OfContent{Content::Smb, Purpose::Storage, Purpose::Storage},
    OfContent{Content::Ceph, Purpose::Storage, Purpose::Storage},
    OfContent{Content::Lustre, Purpose::Storage, Purpose::Storage},
    OfContent{Content::Rsync, Purpose::Storage, Purpose::Storage},
    OfContent{Content::Ssh, Purpose::Storage, Purpose::Storage}};

// Of servers, as they are registered or documented; for what began before it was watched, and for
// what has no greeting.
struct OfPort {
  std::uint16_t port = 0;
  Purpose purpose = Purpose::Unknown;
};
constexpr std::array kOfPorts{
    OfPort{22, Purpose::Storage},        // SSH
    OfPort{80, Purpose::Storage},        // HTTP
    OfPort{443, Purpose::Storage},       // HTTPS
    OfPort{445, Purpose::Storage},       // SMB
    OfPort{873, Purpose::Storage},       // rsync
    OfPort{988, Purpose::Storage},       // Lustre
    OfPort{2049, Purpose::Storage},      // NFS
    OfPort{2379, Purpose::Rendezvous},   // etcd
    OfPort{2380, Purpose::Rendezvous},   // etcd, among its servers
    OfPort{3300, Purpose::Storage},      // Ceph
    OfPort{6789, Purpose::Storage},      // Ceph, its earlier protocol
    OfPort{6379, Purpose::Rpc},          // Redis, Ray
    OfPort{29400, Purpose::Rendezvous},  // torchrun
    OfPort{29500, Purpose::Rendezvous},  // init_process_group
};

Purpose by_ports(const Evidence& evidence) {
  if (evidence.is_at_meeting_port) {
    return Purpose::Rendezvous;
  }
  for (const std::uint16_t port : evidence.ports) {
    const auto* const found = std::ranges::find(kOfPorts, port, &OfPort::port);
    if (found != kOfPorts.end()) {
      return found->purpose;
    }
  }
  return Purpose::Unknown;
}

}  // namespace

std::string_view sentence_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::Collectives:
      return "collectives";
    case Purpose::Rendezvous:
      return "rendezvous of ranks";
    case Purpose::Rpc:
      return "remote procedure calls";
    case Purpose::Storage:
      return "data and checkpoints";
    case Purpose::Weights:
      return "weights and recovery";
    case Purpose::Unknown:
      break;
  }
  return "unknown";
}

Purpose purpose_of(const Evidence& evidence) {
  if (!evidence.is_tcp) {
    return evidence.is_between_ranks ? Purpose::Collectives : Purpose::Unknown;
  }
  const auto* const found = std::ranges::find(kOfContents, evidence.content, &OfContent::content);
  // etcd speaks HTTP/2: its port says more.
  if (found == kOfContents.end() || evidence.content == Content::Http2) {
    const Purpose purpose = by_ports(evidence);
    if (purpose != Purpose::Unknown || found == kOfContents.end()) {
      return purpose;
    }
  }
  return evidence.is_between_ranks ? found->among_ranks : found->to_a_server;
}

}  // namespace chokepoint::traffic
