#include "rdma/fabric/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "rdma/fabric/signs.h"

namespace chokepoint::rdma::fabric {
namespace {

struct Sums {
  std::optional<std::uint64_t> resent;
  std::optional<std::uint64_t> missed;
  std::optional<std::uint64_t> gaps;
  std::optional<std::uint64_t> not_ready;
  std::optional<std::uint64_t> congestion;
};

Sums sums_of(const Changes& own, const Changes& peer) {
  return {.resent = sum_of(resent_signs(), own, peer),
          .missed = sum_of(missed_signs(), own, peer),
          .gaps = sum_of(gap_signs(), own, peer),
          .not_ready = sum_of(not_ready_signs(), own, peer),
          .congestion = sum_of(congestion_signs(), own, peer)};
}

// What follows a message that found no receive is out of sequence, too, and sent again: only what
// exceeds that was lost on the way.
bool is_lost(const Sums& sums) {
  const std::uint64_t resent = sums.resent.value_or(0);
  const bool is_told_by_missing = !sums.resent && sums.missed.value_or(0) > 0;
  return resent > 2 * sums.not_ready.value_or(0) || (is_told_by_missing && !sums.not_ready);
}

bool has_lost(std::span<const Sign> signs, const Changes& changes) {
  return std::ranges::any_of(
      signs, [&](const Sign& sign) { return changes.lost.contains(std::string(sign.counter)); });
}

// What would have told began to count anew in between.
bool has_lost(const Changes& changes) {
  return has_lost(resent_signs(), changes) || has_lost(missed_signs(), changes);
}

Status found_in(const Sums& sums) {
  if (is_lost(sums)) {
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
  return found == Status::Clean && (has_lost(own) || has_lost(peer)) ? Status::Unknown : found;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  return fmt::format("{}", fmt::join(parts, between));
}

bool counts(const Changes& own, const Changes& peer, std::string_view name) {
  return own.of(name) || peer.of(name);
}

// What was looked for and not found, and what nobody counts.
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
  std::string sentence = "the fabric was congested: " + told(congestion_signs(), own, peer);
  const bool is_paused = own.of("received_pauses").value_or(0) > 0;
  const bool is_pausing = own.of("sent_pauses").value_or(0) > 0;
  if (is_paused || is_pausing) {
    sentence += is_paused ? "; the network asked this host to wait"
                          : "; this host asked the network to wait";
  }
  return sentence;
}

std::string sentence_of(Status status, const Sums& sums, const Changes& own, const Changes& peer) {
  const auto both = [&](auto one, auto other) {
    std::vector<std::string> parts;
    for (const auto& signs : {one, other}) {
      if (std::string text = told(signs, own, peer); !text.empty()) {
        parts.push_back(std::move(text));
      }
    }
    return joined(parts, "; ");
  };
  switch (status) {
    case Status::Lost:
      return "packets were lost: " + both(resent_signs(), missed_signs());
    case Status::Late:
      return "nothing was missed, and yet sent again, since answers came late or were lost: " +
             both(resent_signs(), missed_signs());
    case Status::NotReady:
      return "the receiver was not ready: " + told(not_ready_signs(), own, peer);
    case Status::Congested:
      return congested_sentence(own, peer);
    case Status::Reordered:
      return fmt::format("packets overtook one another and none was sent again: {}",
                         told(missed_signs(), own, peer));
    case Status::Clean:
      return clean_sentence(sums, own, peer);
    case Status::Unknown:
      break;
  }
  return fmt::format("whether the fabric was clean cannot be told: {}",
                     has_lost(own) || has_lost(peer)
                         ? "counters began anew meanwhile"
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
             "loses one way alone";
    case Status::NotReady:
      return "give the receiver more posted receives, or a less busy core: the network is well";
    case Status::Congested:
      return fmt::format(
          "ethtool -S {} | grep -E 'pause|xoff' on both hosts: received pauses come from a full "
          "network, sent ones from a host that cannot drain; look who else sends to that port",
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

std::string_view name_of(Status status) {
  switch (status) {
    case Status::Clean:
      return "clean";
    case Status::Reordered:
      return "reordered";
    case Status::Congested:
      return "congested";
    case Status::NotReady:
      return "not-ready";
    case Status::Late:
      return "late";
    case Status::Lost:
      return "lost";
    case Status::Unknown:
      break;
  }
  return "unknown";
}

Judgement judge(const Changes& own, const Changes& peer) {
  const Sums sums = sums_of(own, peer);
  const Status status = status_of(sums, own, peer);
  return {.status = status,
          .sentence = sentence_of(status, sums, own, peer),
          .next_step = next_step_of(status, own)};
}

}  // namespace chokepoint::rdma::fabric
