// The job's flows on one captured interface: which they are (JobFlows), their rows in the record
// (JobRows) and what they sent and received (JobVolume).
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/record/writer.h"
#include "capture/book/flow_book.h"
#include "capture/flow/slot_table.h"
#include "capture/observer/analyser.h"
#include "capture/observer/recorder.h"

namespace chokepoint::capture::run {

// Which flows are the job's, as far as is known now. If one interface lies on another (VLAN, bond,
// bridge), both may be captured and see the same packet: it counts at the interface that has the
// connection's address. Any thread; the book outlives it.
class JobFlows {
 public:
  // `rivals`: captured interfaces below and above this one.
  JobFlows(const book::FlowBook& book, std::uint64_t network, std::vector<std::string> rivals)
      : book_(&book), network_(network), rivals_(std::move(rivals)) {}

  // True if ends.source is the job's end here; nullopt if the flow is not the job's.
  std::optional<bool> sends(const packet::Ends& ends) const {
    const std::optional<book::JobEnd> end = book_->job_end(ends, network_);
    const bool is_elsewhere = end && std::ranges::count(rivals_, end->interface) > 0;
    return end && !is_elsewhere ? std::optional(end->is_source) : std::nullopt;
  }
  // Changes whenever sends() may have another answer.
  std::uint64_t version() const { return book_->version(); }
  std::uint64_t network() const { return network_; }

 private:
  const book::FlowBook* book_;
  std::uint64_t network_;
  std::vector<std::string> rivals_;
};

// Rows of the record: the job's flows share theirs with its sockets; another flow gets one only if
// it is large enough to slow the job down. The analyser's thread; the book outlives it.
class JobRows final : public observer::RowKeeper {
 public:
  JobRows(book::FlowBook& book, JobFlows flows) : book_(book), flows_(std::move(flows)) {}

  observer::RowPlace place(std::uint32_t slot, const flow::FlowFacts& facts,
                           record::Flow row) override;
  void update(std::uint32_t slot, const observer::RowPlace& place, record::Flow row) override;
  void leave(std::uint32_t slot) override;
  bool is_worth_asking(std::uint32_t slot) override;

 private:
  struct State {
    book::EntryPointer entry = {};
    std::uint64_t asked_version = UINT64_MAX;  // of the book
    std::uint32_t passed_over = 0;
  };

  book::FlowBook& book_;
  JobFlows flows_;
  flow::SlotTable<State> states_;
  std::uint64_t keys_ = 0;
};

struct VolumeCounts {
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_packets = 0;
  std::uint64_t retransmitted_packets = 0;  // of those that were sent

  VolumeCounts& operator+=(const VolumeCounts& more) {
    sent_bytes += more.sent_bytes;
    received_bytes += more.received_bytes;
    sent_packets += more.sent_packets;
    retransmitted_packets += more.retransmitted_packets;
    return *this;
  }
};

// The two counters of the record that say what the job sent and received: of an interface, or as
// its sockets report it.
class VolumeSeries {
 public:
  // The writer outlives it.
  VolumeSeries(record::Writer& writer, const std::string& producer, const std::string& subject,
               const std::string& source);

  void push(std::int64_t now_ns, std::uint64_t sent_bytes, std::uint64_t received_bytes);

 private:
  record::Producer producer_;
  std::int64_t sent_;
  std::int64_t received_;
};

// What the job sent and received over the interface, in Ethernet frames: summed over its flows,
// ended ones included, and recorded as counters that begin at 0. measure() and fold() on the
// analyser's thread, counts() on any.
class JobVolume {
 public:
  // The writer outlives it.
  JobVolume(JobFlows flows, record::Writer& writer, const std::string& interface);

  void measure(observer::Analyser& analyser, std::int64_t now_ns);
  // The flow makes room for another.
  void fold(observer::Analyser& analyser, std::uint32_t slot, const flow::FlowFacts& facts);
  VolumeCounts counts() const;

 private:
  struct State {
    std::optional<bool> sends = {};            // the flow's a is the job's end here
    std::uint64_t asked_version = UINT64_MAX;  // of the book
  };

  std::optional<bool> sends(observer::Analyser& analyser, std::uint32_t slot,
                            const packet::Ends& ends);
  void keep(const VolumeCounts& counts, std::int64_t now_ns);

  JobFlows flows_;
  VolumeSeries series_;
  flow::SlotTable<State> states_;
  VolumeCounts folded_;
  mutable std::mutex mutex_;  // counts_
  VolumeCounts counts_;
  bool is_kept_ = false;
};

}  // namespace chokepoint::capture::run
