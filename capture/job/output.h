// What the job prints, as it is handed over. Values.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace chokepoint::capture::job {

enum class Stream { Out, Err };

// What the job printed, as it passed: any bytes, cut anywhere.
struct OutputPiece {
  std::int64_t t_ns = 0;  // monotonic, when the relay read it
  Stream stream = Stream::Out;
  std::string_view bytes = {};
};

using OnOutput = std::function<void(const OutputPiece& piece)>;

}  // namespace chokepoint::capture::job
