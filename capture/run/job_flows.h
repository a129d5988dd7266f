// Which of an interface's flows are the job's, as far as is known by now. Where one interface lies
// on another (VLAN, bond, bridge) both may be listened to and both see a packet: it counts where
// the connection's address is. Any thread; the book outlives it. A value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/book/flow_book.h"

namespace chokepoint::capture::run {

class JobFlows {
 public:
  // `rivals`: interfaces below and above this one that are listened to.
  JobFlows(const book::FlowBook& book, std::uint64_t network, std::vector<std::string> rivals)
      : book_(&book), network_(network), rivals_(std::move(rivals)) {}

  // True where ends.source is the job's end here, nothing where the flow is not the job's.
  std::optional<bool> sends(const packet::Ends& ends) const {
    const std::optional<book::JobEnd> end = book_->job_end(ends, network_);
    const bool is_elsewhere = end && std::ranges::count(rivals_, end->interface) > 0;
    return end && !is_elsewhere ? std::optional(end->is_source) : std::nullopt;
  }
  // Another one whenever sends() may have another answer.
  std::uint64_t version() const { return book_->version(); }
  std::uint64_t network() const { return network_; }

 private:
  const book::FlowBook* book_;
  std::uint64_t network_;
  std::vector<std::string> rivals_;
};

}  // namespace chokepoint::capture::run
