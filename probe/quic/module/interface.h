// The entry of libchokepoint-quic.so, which links ngtcp2 and GnuTLS so that the program runs and
// starts without them. What crosses it is C++ between two objects of one build: the module is used
// only where its layout and its compiler are the program's. No exception crosses it.
#pragma once

#include <cstdint>
#include <memory>

#include "probe/quic/connection.h"

namespace chokepoint::probe::quic::module {

inline constexpr const char* kModuleName = "libchokepoint-quic.so";
inline constexpr const char* kEntryName = "chokepoint_quic_functions";
// The version of all below and of connection.h: a module with another one is not used.
inline constexpr std::uint32_t kLayout = 1;
inline constexpr const char* kCompiler = __VERSION__;

struct Functions {
  std::uint32_t layout;
  const char* compiler;
  const char* library;  // "ngtcp2 0.12.1"
  Result<std::unique_ptr<Identity>> (*make_identity)();
  Result<std::unique_ptr<Gate>> (*make_gate)();
  Result<std::unique_ptr<Connection>> (*accept)(const Identity& identity, const Ends& ends,
                                                const Tuning& tuning, Packet first,
                                                const Opening* retried, std::int64_t now_ns);
  Result<std::unique_ptr<Connection>> (*connect)(const Expected& server, const Ends& ends,
                                                 const Tuning& tuning, const Ticket* ticket,
                                                 std::int64_t now_ns);
};

using Entry = const Functions*();

}  // namespace chokepoint::probe::quic::module
