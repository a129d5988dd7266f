// libgloo's own reduce-scatter, by recursive halving: of the older kind, whose buffers are set up
// once for all runs. A step of it waits as long as the pairs were told when they were connected: a
// fifth of what other collectives wait. Throws gloo's exceptions.
#pragma once

#include "probe/collective/gloo/module/group.h"

namespace chokepoint::probe::collective::gloo_module {

Collectively reduce_scatter(const Work& work, const std::shared_ptr<::gloo::Context>& context);

}  // namespace chokepoint::probe::collective::gloo_module
