#include "capture/socket/ownership.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

namespace chokepoint::capture::socket {
namespace {

// How long a listener's address counts as the job's after it was closed: a judgement.
constexpr std::int64_t kHoldClosedNs = 10'000'000'000;
constexpr std::size_t kMaxPeers = 65'536;

// 0.0.0.0, or :: which takes both families.
bool is_any(const packet::Address& address) {
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), address.words.data(), bytes.size());
  const bool is_mapped = bytes[10] == 0xff && bytes[11] == 0xff;
  return address.words[0] == 0 && std::all_of(bytes.begin() + (is_mapped ? 12 : 8), bytes.end(),
                                              [](std::uint8_t byte) { return byte == 0; });
}

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// "socket:[4711]"
std::optional<std::uint32_t> inode_of(std::string_view link) {
  constexpr std::string_view kPrefix = "socket:[";
  std::uint32_t inode = 0;
  if (!link.starts_with(kPrefix)) {
    return std::nullopt;
  }
  link.remove_prefix(kPrefix.size());
  const auto [end, error] = std::from_chars(link.data(), link.data() + link.size(), inode);
  return error == std::errc() && end != link.data() + link.size() && *end == ']'
             ? std::optional(inode)
             : std::nullopt;
}

bool is_better(const job::JobProcess& one, const job::JobProcess& other) {
  return one.rank.rank.has_value() != other.rank.rank.has_value()
             ? one.rank.rank.has_value()
             : one.start_ticks < other.start_ticks;
}

}  // namespace

void Belonging::listens(std::uint64_t cookie, const packet::Ends& ends,
                        std::optional<std::int64_t> process) {
  listeners_[cookie] = {
      .address = ends.source, .port = ends.source_port, .process = process, .closed_ns = 0};
}

void Belonging::listener_closed(std::uint64_t cookie, std::int64_t now_ns) {
  if (const auto known = listeners_.find(cookie); known != listeners_.end()) {
    known->second.closed_ns = now_ns;
  }
}

void Belonging::forget_old(std::int64_t now_ns) {
  std::erase_if(listeners_, [&](const auto& known) {
    return known.second.closed_ns != 0 && now_ns - known.second.closed_ns > kHoldClosedNs;
  });
}

void Belonging::add_job_peer(const packet::Ends& ends) {
  if (PeerUse* use = use_of_peer(ends.destination)) {
    use->job = true;
  }
}

void Belonging::add_other_peer(const packet::Ends& ends) {
  if (PeerUse* use = use_of_peer(ends.destination)) {
    ++use->others;
  }
}

void Belonging::remove_other_peer(const packet::Ends& ends) {
  PeerUse* use = use_of_peer(ends.destination);
  if (use != nullptr && use->others > 0) {
    --use->others;
  }
}

// Null if there are too many to distinguish.
Belonging::PeerUse* Belonging::use_of_peer(const packet::Address& address) {
  return peers_.size() < kMaxPeers || peers_.contains(address) ? &peers_[address] : nullptr;
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
  const auto use = peers_.find(ends.destination);
  const bool is_jobs = !is_peer_here && use != peers_.end() && use->second.job &&
                       use->second.others == 0 && peers_.size() < kMaxPeers;
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

void Holders::read(const job::JobProcesses& processes) {
  processes_ = processes;
  by_inode_.clear();
  hidden_ = 0;
  for (std::size_t index = 0; index < processes_.size(); ++index) {
    read(processes_[index], index);
  }
}

const job::JobProcess* Holders::holder_of(std::uint32_t inode) const {
  const auto known = by_inode_.find(inode);
  return known == by_inode_.end() ? nullptr : &processes_[known->second];
}

// Of the call that has just failed.
void Holders::note_refusal(pid_t pid) {
  if (hidden_ == 0 && (errno == EACCES || errno == EPERM)) {
    hidden_ = pid;
  }
}

void Holders::read(const job::JobProcess& process, std::size_t index) {
  const Folder folder(opendir(root_.at(fmt::format("/proc/{}/fd", process.pid)).c_str()));
  if (!folder) {
    note_refusal(process.pid);
    return;
  }
  std::array<char, 32> link{};  // longer ones are of no socket
  while (const dirent* file = readdir(folder.get())) {
    const ssize_t length = readlinkat(dirfd(folder.get()), file->d_name, link.data(), link.size());
    // The folder may be listed without the right to read its links.
    if (length < 0) {
      note_refusal(process.pid);
    }
    const auto inode = inode_of({link.data(), length > 0 ? static_cast<std::size_t>(length) : 0});
    if (inode) {
      const auto [known, is_new] = by_inode_.try_emplace(*inode, index);
      known->second =
          !is_new && is_better(process, processes_[known->second]) ? index : known->second;
    }
  }
}

}  // namespace chokepoint::capture::socket
