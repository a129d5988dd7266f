// How the job is doing, in words: one line for a terminal while it runs, some when it is over. Pure
// functions.
#pragma once

#include <cstddef>
#include <string>

#include "capture/live/figures.h"

namespace chokepoint::capture::live {

// "03:25 · step 182 ms (marks) · out 940 in 938 Mb/s · again 0.01 % · held by: receive window
// 61 %"; at most `columns` wide, the least important parts left out first.
std::string line_of(const Figures& figures, std::size_t columns);

// What limits now, in words: "receive window 61 %", "send buffer 40 %", "network 97 %",
// "a core (softirq 93 %)", "a thread (gloo_tcp_loop 98 %)", "not the network" where there is hardly
// ever something to send. A first look and no verdict. Where nothing is known: empty.
std::string limit_of(const Figures& figures);

// At the end, for standard error: steps, volume each way, throughput, what was sent again, what was
// not seen and why, where the record lies and what to do with it.
std::string summary_of(const Figures& figures, const std::string& record_path);

}  // namespace chokepoint::capture::live
