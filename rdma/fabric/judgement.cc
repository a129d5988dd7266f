#include "rdma/fabric/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdma/fabric/counters.h"

namespace chokepoint::rdma::fabric {
namespace {

// A counter that is a sign of something, and how a sentence calls it.
struct Sign {
  std::string_view counter;
  std::string_view one;   // "timeout"
  std::string_view many;  // "timeouts"
};

// At the requester: packets that were surely lost, unless an answer was late.
constexpr std::array kResent{
    Sign{"retransmissions", "retransmission", "retransmissions"},
    Sign{"adaptive_retransmissions", "adaptive retransmission", "adaptive retransmissions"},
    Sign{"packet_seq_err", "NAK received", "NAKs received"},
    Sign{"implied_nak_seq_err", "answer missed", "answers missed"},
    Sign{"ack_timeouts", "timeout", "timeouts"},
    Sign{"retries_exceeded", "connection given up", "connections given up"},
};
// At the responder: lost, or overtaken by others.
constexpr std::array kMissed{
    Sign{"out_of_sequence", "packet out of sequence", "packets out of sequence"},
    Sign{"duplicate_request", "request that came twice", "requests that came twice"},
};
// At either end: something did not arrive.
constexpr std::array kGaps{
    Sign{"packet_seq_err", "NAK received", "NAKs received"},
    Sign{"implied_nak_seq_err", "answer missed", "answers missed"},
    Sign{"out_of_sequence", "packet out of sequence", "packets out of sequence"},
    Sign{"retries_exceeded", "connection given up", "connections given up"},
};
// At either end.
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

// The sum over both ends; nullopt if neither counts any of them.
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

// "3 timeouts here, 2 sequence gaps at the peer"; empty if none grew.
std::string describe(std::span<const Sign> signs, const Changes& own, const Changes& peer) {
  std::string text;
  append(signs, own, "here", text);
  append(signs, peer, "at the peer", text);
  return text;
}

struct Sums {
  std::optional<std::uint64_t> resent;
  std::optional<std::uint64_t> missed;
  std::optional<std::uint64_t> gaps;
  std::optional<std::uint64_t> not_ready;
  std::optional<std::uint64_t> congestion;
};

Sums sums_of(const Changes& own, const Changes& peer) {
  return {.resent = sum_of(kResent, own, peer),
          .missed = sum_of(kMissed, own, peer),
          .gaps = sum_of(kGaps, own, peer),
          .not_ready = sum_of(kNotReady, own, peer),
          .congestion = sum_of(kCongestion, own, peer)};
}

// Packets behind a message that found no receive are out of sequence, too, and retransmitted: only
// what exceeds those was lost on the way.
bool has_lost_packets(const Sums& sums) {
  const std::uint64_t resent = sums.resent.value_or(0);
  const bool is_seen_by_responder = !sums.resent && sums.missed.value_or(0) > 0;
  return resent > 2 * sums.not_ready.value_or(0) || (is_seen_by_responder && !sums.not_ready);
}

bool has_restarted_counter(std::span<const Sign> signs, const Changes& changes) {
  return std::ranges::any_of(signs, [&](const Sign& sign) {
    return std::ranges::find(changes.lost, sign.counter) != changes.lost.end();
  });
}

// A counter that decides restarted during the test, or could not be read after it.
bool has_restarted_counter(const Changes& changes) {
  return has_restarted_counter(kResent, changes) || has_restarted_counter(kMissed, changes);
}

Status found_in(const Sums& sums) {
  if (has_lost_packets(sums)) {
    return sums.gaps == 0U ? Status::Late : Status::Lost;
  }
  if (sums.not_ready.value_or(0) > 0) {
    return Status::NotReady;
  }
  if (sums.congestion.value_or(0) > 0) {
    return Status::Congested;
  }
  return sums.missed.value_or(0) > 0 ? Status::Reordered : Status::Clean;
}

Status status_of(const Sums& sums, const Changes& own, const Changes& peer) {
  if (!sums.resent && !sums.missed) {
    return Status::Unknown;
  }
  const Status found = found_in(sums);
  return found == Status::Clean && (has_restarted_counter(own) || has_restarted_counter(peer))
             ? Status::Unknown
             : found;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  return fmt::format("{}", fmt::join(parts, between));
}

bool counts(const Changes& own, const Changes& peer, std::string_view name) {
  return own.of(name) || peer.of(name);
}

// Names what did not occur, and what neither end counts.
std::string clean_sentence(const Sums& sums, const Changes& own, const Changes& peer) {
  std::vector<std::string> none{};
  std::vector<std::string> uncounted{};
  (sums.resent ? none : uncounted).emplace_back("retransmission");
  (sums.missed ? none : uncounted).emplace_back("packet out of sequence");
  const bool has_cnp = counts(own, peer, "cnp_handled") || counts(own, peer, "cnp_sent");
  (has_cnp ? none : uncounted).emplace_back("CNP");
  (counts(own, peer, "received_pauses") ? none : uncounted).emplace_back("pause");
  std::string sentence = "the fabric was clean: no " + joined(none, ", no ");
  if (!uncounted.empty()) {
    sentence += fmt::format(" (neither end counts a {})", joined(uncounted, " or a "));
  }
  return sentence;
}

std::string congested_sentence(const Changes& own, const Changes& peer) {
  std::string sentence = "the fabric was congested: " + describe(kCongestion, own, peer);
  const bool is_paused = own.of("received_pauses").value_or(0) > 0;
  const bool is_pausing = own.of("sent_pauses").value_or(0) > 0;
  if (is_paused || is_pausing) {
    sentence += is_paused ? "; the network asked this host to wait"
                          : "; this host asked the network to wait";
  }
  return sentence;
}

std::string sentence_of(Status status, const Sums& sums, const Changes& own, const Changes& peer) {
  const auto resent_or_missed = [&] {
    std::vector<std::string> parts;
    for (const std::span<const Sign> signs :
         {std::span<const Sign>(kResent), std::span<const Sign>(kMissed)}) {
      if (std::string text = describe(signs, own, peer); !text.empty()) {
        parts.push_back(std::move(text));
      }
    }
    return joined(parts, "; ");
  };
  switch (status) {
    case Status::Lost:
      return "packets were lost: " + resent_or_missed();
    case Status::Late:
      return "nothing was lost, but packets were retransmitted, because acknowledgements came late "
             "or were lost: " +
             resent_or_missed();
    case Status::NotReady:
      return "the receiver was not ready: " + describe(kNotReady, own, peer);
    case Status::Congested:
      return congested_sentence(own, peer);
    case Status::Reordered:
      return fmt::format("packets were reordered and none was retransmitted: {}",
                         describe(kMissed, own, peer));
    case Status::Clean:
      return clean_sentence(sums, own, peer);
    case Status::Unknown:
      break;
  }
  return fmt::format("whether the fabric was clean is not known: {}",
                     has_restarted_counter(own) || has_restarted_counter(peer)
                         ? "counters restarted during the test, or could not be read after it"
                         : "neither end counts retransmissions or packets out of sequence");
}

std::string interface_of(const Changes& own) {
  return own.netdev.empty() ? "INTERFACE" : own.netdev;
}

std::string next_step_of(Status status, const Changes& own) {
  switch (status) {
    case Status::Lost:
      return fmt::format(
          "ethtool -S {} | grep -E 'discard|drop|crc|err' on both hosts, and the same of the "
          "switch "
          "ports between them; where those drop, turn PFC or ECN on along the whole path",
          interface_of(own));
    case Status::Late:
      return "mpstat -P ALL 1 on both hosts: a busy core answers late; else look for a path that "
             "loses packets in one direction only";
    case Status::NotReady:
      return "give the receiver more posted receives, or a less busy core: the network is not the "
             "cause";
    case Status::Congested:
      return fmt::format(
          "ethtool -S {} | grep -E 'pause|xoff' on both hosts: received pauses come from a full "
          "network, sent ones from a host that cannot drain; look for other senders to that port",
          interface_of(own));
    case Status::Reordered:
      return "nothing, as long as the cards take packets in any order; else one path for each "
             "connection, at the switches";
    case Status::Unknown:
      return fmt::format("ls /sys/class/infiniband/{}/ports/*/hw_counters",
                         own.subject.substr(0, own.subject.find('/')));
    case Status::Clean:
      break;
  }
  return "";
}

}  // namespace

Judgement judge(const Changes& own, const Changes& peer) {
  const Sums sums = sums_of(own, peer);
  const Status status = status_of(sums, own, peer);
  return {.status = status,
          .sentence = sentence_of(status, sums, own, peer),
          .next_step = next_step_of(status, own)};
}

}  // namespace chokepoint::rdma::fabric
