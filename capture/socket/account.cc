#include "capture/socket/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chokepoint::capture::socket {
namespace {

constexpr double kNsPerUs = 1'000;

}  // namespace

void Account::open(const Peer& peer) {
  ++connections_;
  ++connections_ever_;
  if (peers_.size() < kMostPeers && peers_.insert(peer).second) {
    has_new_peers_ = true;
  }
}

void Account::count(Connection& connection) {
  const Totals more = connection.seen.since(connection.counted);
  connection.counted += more;
  sums_ += more;
  in_window_ += more;
  if (std::exchange(connection.window, window_) != window_) {
    connection.window_busy_us = 0;
  }
  connection.window_busy_us += more.busy_us;
  busiest_us_ = std::max(busiest_us_, connection.window_busy_us);
}

void Account::roll(std::int64_t now_ns) {
  if (window_start_ns_ == 0) {
    window_start_ns_ = now_ns;
  }
  const std::int64_t passed = now_ns - window_start_ns_;
  if (passed < kWindowNs) {
    return;
  }
  shares_ = shares_of_window(passed);
  ++window_;
  window_start_ns_ = now_ns;
  in_window_ = {};
  busiest_us_ = 0;
}

Shares Account::shares_of_window(std::int64_t passed_ns) const {
  if (in_window_.busy_us == 0) {
    return {};
  }
  const auto busy = static_cast<double>(in_window_.busy_us);
  Shares shares;
  shares.busy =
      std::min(1.0, static_cast<double>(busiest_us_) * kNsPerUs / static_cast<double>(passed_ns));
  shares.receive_window = std::min(1.0, static_cast<double>(in_window_.receive_window_us) / busy);
  shares.send_buffer =
      std::min(1.0 - shares.receive_window, static_cast<double>(in_window_.send_buffer_us) / busy);
  shares.network = 1.0 - shares.receive_window - shares.send_buffer;
  return shares;
}

std::string Account::judgements() const {
  const auto [local, other, peer] = judged_;
  const std::uint64_t sum = local + other + peer;
  return sum == 0 ? std::string()
                  : fmt::format(
                        "{} connections were closed before they were looked at and are "
                        "taken for the job's: {} to where it listens, {} from there, {} "
                        "with whom it alone talks",
                        sum, local, other, peer);
}

void Account::tell(Figures& figures) {
  figures.connections = static_cast<std::size_t>(std::max<std::int64_t>(connections_, 0));
  figures.connections_ever = connections_ever_;
  figures.sent_bytes = sums_.sent_bytes;
  figures.received_bytes = sums_.received_bytes;
  figures.retransmitted_bytes = sums_.retransmitted_bytes;
  figures.retransmitted_segments = sums_.retransmitted_segments;
  figures.sent_segments = sums_.sent_segments;
  figures.shares = shares_;
  if (std::exchange(has_new_peers_, false)) {
    figures.peers.assign(peers_.begin(), peers_.end());
  }
}

}  // namespace chokepoint::capture::socket
