// port.speed, pci.slot, rdma.rate, collective.rate: what ports, slots and adapters give, and what a
// collective over all made of it. Pure.
#pragma once

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

void judge_ports(JudgeContext& desk);
void judge_slots(JudgeContext& desk);
void judge_rdma(JudgeContext& desk);
void judge_collective(JudgeContext& desk);

}  // namespace chokepoint::preflight
