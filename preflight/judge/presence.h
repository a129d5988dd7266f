// host.present, host.version: who took part, who did not and why, and with which program. Pure.
#pragma once

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

void judge_presence(JudgeContext& desk);
void judge_versions(JudgeContext& desk);

}  // namespace chokepoint::preflight
