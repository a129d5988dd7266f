// Findings about the network of a job whose data go over sockets: the charges of the connections,
// joined into a verdict for each class, with the numbers that it rests on; NCCL's own waits beside
// them; and outages among what looks like loss.
#pragma once

#include "analysis/attribution/findings.h"

namespace chokepoint::analysis {

// A verdict for each direction in which the network, or a host at its end, held the job back.
Findings network_findings(const DiagnosisInput& input);

// Adds to each finding the part of NCCL's network waits that bears on it. It decides nothing: a
// wait for the own GPU is also one for its computing, one for credit also for a rank that has not
// come yet; and over sockets a receiver's back-pressure looks like the network.
void add_nccl_waits(const DiagnosisInput& input, Findings& findings);

// Gives a verdict of loss the cause that explains it better: an interface that went down, or a link
// that carried nothing for a while although no host saw it go.
void explain_loss(const DiagnosisInput& input, Verdict& verdict);

}  // namespace chokepoint::analysis
