#include "capture/socket/belonging.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace chokepoint::capture::socket {
namespace {

constexpr std::int64_t kRememberNs = 10'000'000'000;
constexpr std::size_t kMostPeers = 65'536;

// 0.0.0.0, or :: which takes both families.
bool is_any(const packet::Address& address) {
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), address.words.data(), bytes.size());
  const bool is_mapped = bytes[10] == 0xff && bytes[11] == 0xff;
  return address.words[0] == 0 && std::all_of(bytes.begin() + (is_mapped ? 12 : 8), bytes.end(),
                                              [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

void Belonging::listens(std::uint64_t cookie, const packet::Ends& ends,
                        std::optional<std::int64_t> process) {
  listeners_[cookie] = {
      .address = ends.source, .port = ends.source_port, .process = process, .closed_ns = 0};
}

void Belonging::listens_no_more(std::uint64_t cookie, std::int64_t now_ns) {
  if (const auto known = listeners_.find(cookie); known != listeners_.end()) {
    known->second.closed_ns = now_ns;
  }
}

void Belonging::forget_old(std::int64_t now_ns) {
  std::erase_if(listeners_, [&](const auto& known) {
    return known.second.closed_ns != 0 && now_ns - known.second.closed_ns > kRememberNs;
  });
}

void Belonging::job_talks(const packet::Ends& ends) {
  if (Talkers* talkers = talkers_with(ends.destination)) {
    talkers->job = true;
  }
}

void Belonging::others_talk(const packet::Ends& ends) {
  if (Talkers* talkers = talkers_with(ends.destination)) {
    ++talkers->others;
  }
}

void Belonging::others_do_not_talk(const packet::Ends& ends) {
  Talkers* talkers = talkers_with(ends.destination);
  if (talkers != nullptr && talkers->others > 0) {
    --talkers->others;
  }
}

// Null where there are too many to tell.
Belonging::Talkers* Belonging::talkers_with(const packet::Address& address) {
  return peers_.size() < kMostPeers || peers_.contains(address) ? &peers_[address] : nullptr;
}

std::optional<Verdict> Belonging::judge(const packet::Ends& ends,
                                        const Interfaces& interfaces) const {
  if (const auto verdict = judge_by_listener(ends)) {
    return verdict;
  }
  const bool is_peer_here = interfaces.is_own(ends.destination);
  if (is_peer_here && listener_at(ends.destination, ends.destination_port) != nullptr) {
    return Verdict{.rule = Rule::OtherListener};
  }
  const auto talkers = peers_.find(ends.destination);
  const bool is_jobs = !is_peer_here && talkers != peers_.end() && talkers->second.job &&
                       talkers->second.others == 0 && peers_.size() < kMostPeers;
  return is_jobs ? std::optional(Verdict{.rule = Rule::Peer}) : std::nullopt;
}

std::optional<Verdict> Belonging::judge_by_listener(const packet::Ends& ends) const {
  const Listener* listener = listener_at(ends.source, ends.source_port);
  return listener == nullptr
             ? std::nullopt
             : std::optional(Verdict{.rule = Rule::LocalListener, .process = listener->process});
}

const Belonging::Listener* Belonging::listener_at(const packet::Address& address,
                                                  std::uint16_t port) const {
  const auto found = std::ranges::find_if(listeners_, [&](const auto& known) {
    const Listener& listener = known.second;
    return listener.port == port && (listener.address == address || is_any(listener.address));
  });
  return found == listeners_.end() ? nullptr : &found->second;
}

}  // namespace chokepoint::capture::socket
