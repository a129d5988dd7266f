// What ranks of a job send each other in a step: one collective, or many alike that follow one
// another. A value.
#pragma once

namespace chokepoint::analysis {

enum class Collective { AllReduce, ReduceScatter, AllGather, Broadcast, AllToAll, SendReceive };

const char* name_of(Collective collective);  // "all-reduce"

struct PlannedExchange {
  Collective collective = Collective::AllReduce;
  double bytes = 0;     // of the whole tensor, as algorithm bandwidths count it
  double ready_ms = 0;  // of the step's computing, when there is something to send
  double times = 1;     // one after the other
  double ranks = 0;     // that take part; 0: all of the job
};

}  // namespace chokepoint::analysis
