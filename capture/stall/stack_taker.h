// Takes the stacks of this node's ranks into the record while their job stands still: those of
// Python by py-spy where that is installed, and what the kernel says of the threads. Neither stops
// a process. Nothing here waits; a py-spy that takes too long is killed.
//
//   look() ─▶ ranks, the worst first ─ one by one ─▶ kernel's words ─▶ py-spy ─▶ event kStacks
//                                                                 └ none, failed, late ─▶ likewise
//
// The thread of its owner.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/record/stacks.h"
#include "base/record/stall.h"
#include "base/record/writer.h"
#include "base/sys/child_output.h"
#include "base/sys/root.h"

namespace chokepoint::capture::stall {

class StackTaker {
 public:
  // Root and writer outlive it.
  StackTaker(const sys::Root& root, record::Writer& writer) : root_(root), writer_(writer) {}
  ~StackTaker() { end_stall(); }
  StackTaker(const StackTaker&) = delete;
  StackTaker& operator=(const StackTaker&) = delete;

  // The job stands still. Looks at its ranks, a few times in a stall.
  void look(const record::Stall& stall, std::int64_t now_ns);
  // Some times a second.
  void poll(std::int64_t now_ns);
  // The job goes on: what has not been taken is given up.
  void end_stall();

 private:
  struct Rank {
    std::optional<std::int64_t> number = {};
    std::int64_t pid = 0;
  };
  struct Dumping {
    sys::ChildOutput child;
    record::Stacks stacks = {};  // the kernel's words
    std::int64_t t_ns = 0;       // when it began
    std::string out = {};
    std::string err = {};
    std::string failed = {};  // why it was killed
  };

  void begin(const Rank& rank, std::int64_t now_ns);
  bool has_ended(Dumping& dumping, std::int64_t now_ns) const;
  void finish(Dumping& dumping);
  void add_python(record::Stacks& stacks, std::vector<record::StackThread> threads) const;
  void write(const record::Stacks& stacks, std::int64_t t_ns);

  const sys::Root& root_;
  record::Writer& writer_;
  std::deque<Rank> waiting_ = {};
  std::optional<Dumping> dumping_ = {};
  int looks_ = 0;  // in this stall
  std::int64_t looked_ns_ = 0;
};

}  // namespace chokepoint::capture::stall
