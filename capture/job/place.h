// Where the record of a run goes: the folder that the user named, or one that all nodes of the job
// find without any communication. The watch's process, which may wait for a disk.
//
//   --out DIR                      DIR; an Error if it holds an earlier run, except with --append
//   a job with a name of its own   chokepoint-runs/812
//   a job known by the address     chokepoint-runs/gpu1-29500-20261126T1003: the folder that
//   another where its ranks meet           node began within the last ten minutes, else a new one
//   a job without a name           chokepoint-runs/20261126T100321, made at once, so that no other
//                                  job gets it
//
// The last three get a number, as in 812-2, where an earlier run has that name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/host/launcher.h"
#include "base/sys/error.h"

namespace chokepoint::capture::job {

struct PlaceOptions {
  std::string folder = {};  // --out; empty: none was named
  host::JobName job = {};
  bool may_append = false;  // to an earlier run in that folder
  int repetition = 0;       // names a folder below; 0: none
};

struct Place {
  std::filesystem::path folder = {};
  bool is_new = false;  // of this run alone: made for it, or still to be made
};

// `node` is the name of this node's record.
Result<Place> choose_folder(const PlaceOptions& options, const std::string& node,
                            std::int64_t wall_ns);

}  // namespace chokepoint::capture::job
