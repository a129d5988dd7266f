#include "capture/counter/softnet_sampler.h"

#include <fmt/format.h>

#include "base/record/names.h"
#include "capture/counter/words.h"

namespace chokepoint::capture::counter {
namespace {

constexpr const char* kPath = "/proc/net/softnet_stat";

struct Line {
  std::uint64_t dropped = 0;
  std::uint64_t squeezed = 0;
  std::uint64_t core = 0;
};

// Hexadecimal columns; older kernels leave out the core's number, and the lines are in order.
Line line_of(std::string_view text, std::uint64_t number) {
  constexpr std::size_t kBetweenSqueezedAndCore = 9;
  Words words(text);
  words.skip(1);
  Line line;
  line.dropped = number_in(words.next(), 16).value_or(0);
  line.squeezed = number_in(words.next(), 16).value_or(0);
  words.skip(kBetweenSqueezedAndCore);
  line.core = number_in(words.next(), 16).value_or(number);
  return line;
}

Counter& counter_of(std::string_view name, const std::string& subject, Sink& sink) {
  return sink.counter({std::string(name), subject, "count", kPath},
                      subject == "all" ? Keep::Always : Keep::OnceChanged, Wrap::At32Bits);
}

}  // namespace

void SoftnetSampler::sample(const Moment& moment, Sink& sink) {
  const Result<std::string_view> text = stat_.read(buffer_);
  if (!text) {
    sink.remark("softnet: " + describe(text.error()));
    return;
  }
  Line sum;
  std::uint64_t number = 0;
  Words lines = lines_of(*text);
  for (std::string_view row = lines.next(); !row.empty(); row = lines.next()) {
    const Line line = line_of(row, number++);
    const std::string subject = fmt::format("cpu{}", line.core);
    Counter& dropped = counter_of(record::kSoftnetDropped, subject, sink);
    Counter& squeezed = counter_of(record::kSoftnetSqueezed, subject, sink);
    dropped.see(moment.now_ns, line.dropped);
    squeezed.see(moment.now_ns, line.squeezed);
    sum.dropped += dropped.value();
    sum.squeezed += squeezed.value();
  }
  counter_of(record::kSoftnetDropped, "all", sink).see(moment.now_ns, sum.dropped);
  counter_of(record::kSoftnetSqueezed, "all", sink).see(moment.now_ns, sum.squeezed);
}

}  // namespace chokepoint::capture::counter
