// The live figures as text: one line for a terminal while the job runs, several when it is over.
// Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/record/samples.h"
#include "capture/live/figures.h"

namespace chokepoint::capture::live {

// "03:25 · step 182 ms (marks) · out 940 in 938 Mb/s · resent 0.01 % · TCP waits for: receive
// window 61 %"; at most `columns` wide: the least important parts are left out first.
std::string line_of(const Figures& figures, std::size_t columns);

// What limits now, in words: "limited by: a core (softirq 93 %)", "limited by: a thread
// (gloo_tcp_loop 98 %)", "limited by: not the network" if there is hardly ever something to send,
// else what the senders' kernels count: "TCP waits for: receive window 61 %", "send buffer 40 %",
// "network 97 %". A first indication, not a diagnosis. Empty if nothing is known.
std::string limit_of(const Figures& figures);

// At the end, for standard error: steps, volume in each direction, throughput, retransmissions,
// what was not seen and why, the record's path and the next command.
std::string summary_of(const Figures& figures, const std::string& record_path);

std::string clock_text(double seconds);     // "03:25", "1:03:25"
std::string grouped(std::uint64_t number);  // "15,000,000"
// "0.01 %"; "<0.01 %" if it is less but not 0.
std::string share_text(std::uint64_t part, std::uint64_t whole);
// Both in the unit of the larger: "out 940 in 938 Mb/s".
std::string rates_text(double sent_mbps, double received_mbps);

}  // namespace chokepoint::capture::live
