// --record: a run record that is filled while the observer works. Opened before it starts, after
// rights were given up, because it starts a thread; finished once the observer has ended.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/record/writer.h"
#include "capture/observer/collective_recorder.h"
#include "capture/observer/connection_flows.h"
#include "capture/observer/observer.h"
#include "capture/observer/recorder.h"

namespace chokepoint::capture {

struct RecordFlags {
  std::string folder = {};  // empty: nothing is kept
  std::string node = {};    // empty: the host's name
};

void define(cli::Flags& flags, RecordFlags& record);

class Recording {
 public:
  static Result<std::unique_ptr<Recording>> open(const RecordFlags& flags,
                                                 std::vector<packet::Address> own_addresses,
                                                 bool is_live, const cli::Context& context);

  // One an analyser; they live as long as the recording.
  observer::FlowListener* listener();
  void keep(const gloo::Collective& collective) { collectives_.keep(collective); }

  // What is still open, and the end of the record. An error where rows are missing.
  Result<> finish(const observer::Observer& observer, const cli::Context& context);

 private:
  Recording(std::unique_ptr<record::Writer> writer, observer::RecorderOptions options);

  std::unique_ptr<record::Writer> writer_;
  observer::ConnectionFlows connections_;
  observer::RecorderOptions options_;
  std::vector<std::unique_ptr<observer::Recorder>> recorders_;
  observer::CollectiveRecorder collectives_;
};

}  // namespace chokepoint::capture
