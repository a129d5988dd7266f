// Findings about a job whose data go by RDMA, which sockets do not show. Other sources are the
// ports' counters, once a second; packets, where the device lets the kernel see them; and the
// library's reports of its collectives, where it makes them.
//
//   collectives known   what computing does not hide is the network's: first what the line needs
//                       for the bytes, the rest by the signs of loss and of congestion
//   packets seen        time of loss is what was spent waiting for retransmissions, and sending
//                       them; what is left is congestion's where switches marked packets or ports
//                       were slowed, else unattributed
//   else                only time that the port spent paused, or waiting for a time-out, is known
//                       to be lost. What the line needs for the bytes is the least that
//                       communication takes; whether computing hides it is not known, so the
//                       verdict is `unknown`, unless it is too little to matter
//
// Loss was tested with devices in software; the counters of cards in the tests are invented.
#pragma once

#include "analysis/attribution/findings.h"

namespace chokepoint::analysis {

Findings rdma_findings(const DiagnosisInput& input);

}  // namespace chokepoint::analysis
