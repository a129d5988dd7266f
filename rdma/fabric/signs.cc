#include "rdma/fabric/signs.h"

#include <fmt/format.h>

#include <array>

namespace chokepoint::rdma::fabric {
namespace {

constexpr std::array kResent{
    Sign{"retransmissions", "retransmission", "retransmissions"},
    Sign{"adaptive_retransmissions", "adaptive retransmission", "adaptive retransmissions"},
    Sign{"packet_seq_err", "NAK received", "NAKs received"},
    Sign{"implied_nak_seq_err", "answer missed", "answers missed"},
    Sign{"ack_timeouts", "timeout", "timeouts"},
    Sign{"retries_exceeded", "connection given up", "connections given up"},
};
constexpr std::array kMissed{
    Sign{"out_of_sequence", "packet out of sequence", "packets out of sequence"},
    Sign{"duplicate_request", "request that came twice", "requests that came twice"},
};
constexpr std::array kGaps{
    Sign{"packet_seq_err", "NAK received", "NAKs received"},
    Sign{"implied_nak_seq_err", "answer missed", "answers missed"},
    Sign{"out_of_sequence", "packet out of sequence", "packets out of sequence"},
    Sign{"retries_exceeded", "connection given up", "connections given up"},
};
constexpr std::array kNotReady{
    Sign{"rnr_retries", "receiver-not-ready received", "receiver-not-readies received"},
    Sign{"rnr_sent", "receiver-not-ready sent", "receiver-not-readies sent"},
    Sign{"out_of_buffer", "packet without a posted receive", "packets without a posted receive"},
    Sign{"rnr_retries_exceeded", "connection given up", "connections given up"},
};
constexpr std::array kCongestion{
    Sign{"ecn_marked", "packet marked", "packets marked"},
    Sign{"cnp_sent", "CNP sent", "CNPs sent"},
    Sign{"cnp_handled", "CNP received", "CNPs received"},
    Sign{"received_pauses", "pause received", "pauses received"},
    Sign{"sent_pauses", "pause sent", "pauses sent"},
};

void append(std::span<const Sign> signs, const Changes& changes, std::string_view where,
            std::string& text) {
  std::string own;
  for (const Sign& sign : signs) {
    if (const std::uint64_t count = changes.of(sign.counter).value_or(0); count > 0) {
      own +=
          fmt::format("{}{} {}", own.empty() ? "" : ", ", count, count == 1 ? sign.one : sign.many);
    }
  }
  if (!own.empty()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", own, where);
  }
}

}  // namespace

std::span<const Sign> resent_signs() { return kResent; }
std::span<const Sign> missed_signs() { return kMissed; }
std::span<const Sign> gap_signs() { return kGaps; }
std::span<const Sign> not_ready_signs() { return kNotReady; }
std::span<const Sign> congestion_signs() { return kCongestion; }

std::optional<std::uint64_t> sum_of(std::span<const Sign> signs, const Changes& own,
                                    const Changes& peer) {
  std::optional<std::uint64_t> sum;
  for (const Changes* each : {&own, &peer}) {
    for (const Sign& sign : signs) {
      if (const std::optional<std::uint64_t> count = each->of(sign.counter)) {
        sum = sum.value_or(0) + *count;
      }
    }
  }
  return sum;
}

std::string told(std::span<const Sign> signs, const Changes& own, const Changes& peer) {
  std::string text;
  append(signs, own, "here", text);
  append(signs, peer, "at the peer", text);
  return text;
}

}  // namespace chokepoint::rdma::fabric
