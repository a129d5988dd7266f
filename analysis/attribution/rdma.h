// A job whose data go by RDMA: no socket and no packet tells of them, and the few bytes of TCP that
// such a job sends tell nothing. What is left are the ports' counters, once a second, and what the
// library says of its collectives where it does.
//
//   collectives known   what computing does not hide is the network's: first what the line needs
//                       for the bytes, the rest by the signs of loss and of congestion
//   else                only time that the port spent paused is known to be lost. What the line
//                       needs for the bytes is the least that communication takes; whether
//                       computing hides it cannot be told, so the verdict is `unknown`, unless it
//                       is too little to matter
//
// Never played against hardware: the thresholds are first guesses. Pure.
#pragma once

#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

Findings rdma_findings(const Scene& scene);

}  // namespace chokepoint::analysis
