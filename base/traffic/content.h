// What a TCP connection says first, by which its protocol is known: magic numbers and greetings
// that its first bytes have, in either direction. Nothing is decrypted, and what has no greeting
// stays unknown. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/json/fields.h"

namespace chokepoint::traffic {

enum class Content : std::uint8_t {
  Unknown,
  Gloo,
  Nccl,
  OpenMpi,
  Ucx,
  Pmix,
  TcpStore,
  TensorPipe,
  Zmq,
  Redis,
  Http,
  Http2,
  Tls,
  Nfs,
  Smb,
  Ceph,
  Lustre,
  Rsync,
  Ssh,
};

// More of a connection's beginning says no more.
inline constexpr std::size_t kMaxBeginning = 64;

// By the first bytes of one direction, however few there are.
Content content_of(std::span<const std::uint8_t> beginning);

}  // namespace chokepoint::traffic

namespace chokepoint {

template <>
struct EnumNames<traffic::Content> {
  using enum traffic::Content;
  static constexpr std::string_view kWhat = "a protocol";
  static constexpr auto kNames =
      std::to_array<EnumName<traffic::Content>>({{Unknown, ""},
                                                 {Gloo, "gloo"},
                                                 {Nccl, "nccl"},
                                                 {OpenMpi, "openmpi"},
                                                 {Ucx, "ucx"},
                                                 {Pmix, "pmix"},
                                                 {TcpStore, "tcpstore"},
                                                 {TensorPipe, "tensorpipe"},
                                                 {Zmq, "zmq"},
                                                 {Redis, "redis"},
                                                 {Http, "http"},
                                                 {Http2, "http2"},
                                                 {Tls, "tls"},
                                                 {Nfs, "nfs"},
                                                 {Smb, "smb"},
                                                 {Ceph, "ceph"},
                                                 {Lustre, "lustre"},
                                                 {Rsync, "rsync"},
                                                 {Ssh, "ssh"}});
};

}  // namespace chokepoint
