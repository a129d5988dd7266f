// Whose a connection is that no process could be asked about: it was closed before anybody looked,
// or no process has fetched it yet. It is the job's
//
//   where its local end is one that the job listens on;
//   where its other end is one that the job listens on, on this host;
//   where the job has talked with the same address, by a socket that one of its processes held, and
//   nobody else has. Not so on loopback, where everybody has the same address.
//
// Of one network namespace. The watcher's thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "capture/packet/packet.h"
#include "capture/socket/interfaces.h"

namespace chokepoint::capture::socket {

enum class Rule : std::uint8_t { LocalListener, OtherListener, Peer };

struct Verdict {
  Rule rule = Rule::Peer;
  std::optional<std::int64_t> process = {};  // record::Process::id, where the rule tells
};

class Belonging {
 public:
  // The job listens there. What has closed counts for a while still.
  void listens(std::uint64_t cookie, const packet::Ends& ends, std::optional<std::int64_t> process);
  void listens_no_more(std::uint64_t cookie, std::int64_t now_ns);
  void forget_old(std::int64_t now_ns);

  // A socket of which it is known who holds it: the job, or nobody of the job.
  void job_talks(const packet::Ends& ends);
  void others_talk(const packet::Ends& ends);
  // It turned out to be the job's after all.
  void others_do_not_talk(const packet::Ends& ends);

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
  struct Talkers {
    bool job = false;
    std::uint32_t others = 0;  // ever
  };

  Talkers* talkers_with(const packet::Address& address);
  const Listener* listener_at(const packet::Address& address, std::uint16_t port) const;

  std::map<std::uint64_t, Listener> listeners_;  // by cookie
  std::unordered_map<packet::Address, Talkers, AddressHash> peers_;
};

}  // namespace chokepoint::capture::socket
