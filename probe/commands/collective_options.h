// What `probe collective` was told, in the terms of those who take part: the rank, who leads, and
// the servers that start ranks. Pure but for key files and what memory this host has left.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/cli/context.h"
#include "base/control/client.h"
#include "probe/collective/backend.h"
#include "probe/collective/launch/leader.h"
#include "probe/collective/launch/rank_thread.h"
#include "probe/collective/launch/seat.h"
#include "probe/commands/collective_flags.h"

namespace chokepoint::probe {

Result<collective::Job> job_of(const CollectiveFlags& told,
                               std::span<const collective::Backend> backends,
                               const collective::RankPlacement& seat, const cli::Context& context);
Result<collective::MemberOptions> member_options(const CollectiveFlags& told,
                                                 const collective::RankPlacement& seat,
                                                 int interrupt, const cli::Context& context);
// One for each host, in their order.
Result<std::vector<control::ClientOptions>> server_options(const CollectiveFlags& told,
                                                           const std::vector<std::string>& hosts,
                                                           const cli::Context& context);
// The context outlives them: on a terminal each size is told as it ends.
collective::LeaderOptions leader_options(const CollectiveFlags& told, int ranks, int interrupt,
                                         const cli::Context& context);

}  // namespace chokepoint::probe
