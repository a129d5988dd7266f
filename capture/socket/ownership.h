// Whose a socket is: by the process that holds it (Holders), else by rules (Belonging). The watcher
// owns the Holders, each NetworkWatch a Belonging; the watcher's thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/sys/root.h"
#include "capture/job/process.h"
#include "capture/packet/packet.h"
#include "capture/socket/kernel.h"

namespace chokepoint::capture::socket {

enum class Rule : std::uint8_t { LocalListener, OtherListener, Peer };

struct Verdict {
  Rule rule = Rule::Peer;
  std::optional<std::int64_t> process = {};  // record::Process::id, if the rule shows it
};

// Decides about connections that no process holds: they were closed before their process was found,
// or no process has accepted them yet. Such a connection is the job's
//
//   if the job listens on its local end;
//   if the job listens on its other end, on this host;
//   if a process of the job held a connection to the same address, and no other process did. Not so
//   on loopback, where all have the same address.
//
// One network namespace.
class Belonging {
 public:
  // The job listens there. A closed listener still counts for kHoldClosedNs.
  void listens(std::uint64_t cookie, const packet::Ends& ends, std::optional<std::int64_t> process);
  void listener_closed(std::uint64_t cookie, std::int64_t now_ns);
  void forget_old(std::int64_t now_ns);

  // A socket that the job holds, or that no process of the job holds.
  void add_job_peer(const packet::Ends& ends);
  void add_other_peer(const packet::Ends& ends);
  // Undoes add_other_peer(): the socket turned out to be the job's.
  void remove_other_peer(const packet::Ends& ends);

  std::optional<Verdict> judge(const packet::Ends& ends, const Interfaces& interfaces) const;
  // By the first rule alone.
  std::optional<Verdict> judge_by_listener(const packet::Ends& ends) const;

 private:
  struct Listener {
    packet::Address address = {};
    std::uint16_t port = 0;
    std::optional<std::int64_t> process = {};
    std::int64_t closed_ns = 0;  // 0: open
  };
  struct AddressHash {
    std::size_t operator()(const packet::Address& address) const {
      return static_cast<std::size_t>((address.words[0] * 31 + address.words[1]) *
                                      0x9e3779b97f4a7c15ULL);
    }
  };
  struct PeerUse {
    bool job = false;
    std::uint32_t others = 0;  // ever
  };

  PeerUse* use_of_peer(const packet::Address& address);
  const Listener* listener_at(const packet::Address& address, std::uint16_t port) const;

  std::map<std::uint64_t, Listener> listeners_;  // by cookie
  std::unordered_map<packet::Address, PeerUse, AddressHash> peers_;
};

// Which of the job's processes holds a socket, by the socket inodes among its open files. A socket
// that several hold, because it existed before they forked, is the one's that has a rank, or else
// the oldest's.
class Holders {
 public:
  explicit Holders(sys::Root root) : root_(std::move(root)) {}

  // Lists the open files of all of them.
  void read(const job::JobProcesses& processes);

  // Null: none of the processes has it. Valid until the next read.
  const job::JobProcess* holder_of(std::uint32_t inode) const;
  // The first process whose open files we may not see; 0: none.
  pid_t hidden() const { return hidden_; }

 private:
  void read(const job::JobProcess& process, std::size_t index);
  void note_refusal(pid_t pid);

  sys::Root root_;
  job::JobProcesses processes_;
  std::unordered_map<std::uint32_t, std::size_t> by_inode_;
  pid_t hidden_ = 0;
};

}  // namespace chokepoint::capture::socket
