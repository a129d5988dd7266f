// A job whose data go by RDMA: no socket tells of them, and the few bytes of TCP that such a job
// sends tell nothing. What is left are the ports' counters, once a second, packets where the
// device lets the kernel see them, and what the library says of its collectives where it does.
//
//   collectives known   what computing does not hide is the network's: first what the line needs
//                       for the bytes, the rest by the signs of loss and of congestion
//   packets seen        time of loss is what was spent waiting for what had to be sent again, and
//                       sending it; what is left is congestion's where switches marked packets or
//                       ports were slowed, else nobody's
//   else                only time that the port spent paused, or waiting for a time-out, is known
//                       to be lost. What the line needs for the bytes is the least that
//                       communication takes; whether computing hides it cannot be told, so the
//                       verdict is `unknown`, unless it is too little to matter
//
// Loss was played against devices in software; cards' counters are made-up ones. Pure.
#pragma once

#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

Findings rdma_findings(const DiagnosisInput& input);

}  // namespace chokepoint::analysis
