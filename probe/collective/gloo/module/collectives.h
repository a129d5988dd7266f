// How each collective is run by libgloo: as PyTorch asks for it, where PyTorch has it. Throws
// gloo's exceptions.
#pragma once

#include "probe/collective/gloo/module/group.h"

namespace chokepoint::probe::collective::gloo_module {

// Of a context, since some algorithms set theirs up once. Keeps what the work points at.
Collectively collective_of(const Work& work, const std::shared_ptr<::gloo::Context>& context);

}  // namespace chokepoint::probe::collective::gloo_module
