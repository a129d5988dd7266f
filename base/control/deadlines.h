// The deadlines and periods of tests between two hosts that more than one kind of test has. Chosen,
// not measured, unless a line names its source.
#pragma once

#include <chrono>

namespace chokepoint::control {

// How long it takes at most to be connected to a server and admitted.
inline constexpr std::chrono::seconds kConnect{10};

// How long one address of a server has to answer: a host that is up answers a SYN at once, one far
// away within a second, and a lost SYN is repeated after one and after three seconds (RFC 6298).
inline constexpr std::chrono::seconds kConnectToAddress{5};

// How long the other side's kernel may be silent: longer than a link that flaps, shorter than the
// time for which other clients wait for their turn.
inline constexpr std::chrono::seconds kSilence{9};

// How long a test waits for its turn at a server, and how often it asks for it.
inline constexpr std::chrono::hours kMaxQueueTime{1};
inline constexpr std::chrono::milliseconds kTurnInterval{50};

// How long a server waits for all that comes before the data: connections, handshakes, greetings. A
// client has less for each.
inline constexpr std::chrono::seconds kSetUp{15};

// How long either end of a test waits for the other's next message.
inline constexpr std::chrono::seconds kAnswer{10};

// How often an end that sends or receives TCP looks at its clock, its peer's messages and the
// user's interrupt.
inline constexpr std::chrono::milliseconds kTick{20};

// How often an end that waits for datagrams looks for its peer's next message, and how often where
// the only message to come is the one that ends the test.
inline constexpr std::chrono::milliseconds kMessageInterval{50};
inline constexpr std::chrono::milliseconds kStopInterval{200};

// How long either end waits, once a test's time is over, for its last packets and the messages
// about them.
inline constexpr std::chrono::seconds kWindUp{15};

// How long the slowest path may take to deliver what TCP and QUIC have in flight once a test has
// ended.
inline constexpr std::chrono::seconds kDrain{40};

}  // namespace chokepoint::control
