// The captured end of capture/tap/messages.h: a process of its own for one interface.
//
//   main thread   messages of the watch
//   packets       source, observer, the job's rows and volume
//   rows          sends them
#pragma once

namespace chokepoint::capture::tap {

// Until the watch sends Stop or ends, or the interface goes. The protocol of the socket is
// messages.h; nothing else is open. Returns the process's exit status.
int run_reader(int socket);

}  // namespace chokepoint::capture::tap
