#include "capture/counter/pressure_sampler.h"

#include "base/record/names.h"
#include "capture/counter/words.h"

namespace chokepoint::capture::counter {
namespace {

// "some avg10=6.99 avg60=3.67 avg300=1.17 total=2541208851"
std::optional<std::uint64_t> total_us_in(std::string_view line) {
  constexpr std::string_view kTotal = "total=";
  const std::size_t at = line.find(kTotal);
  return at == std::string_view::npos ? std::nullopt
                                      : number_in(Words(line.substr(at + kTotal.size())).next());
}

}  // namespace

void PressureSampler::sample(const Moment& moment, Sink& sink) {
  for (KeptFile& file : files_) {
    const std::string resource = file.path().substr(file.path().rfind('/') + 1);
    const Result<std::string_view> text = file.read(buffer_);
    if (!text) {
      sink.remark("pressure: " + describe(text.error()));
      continue;
    }
    Words lines = lines_of(*text);
    for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
      const bool is_full = line.starts_with("full");
      if (const std::optional<std::uint64_t> total_us = total_us_in(line)) {
        sink.counter({std::string(is_full ? record::kPressureFull : record::kPressureSome),
                      resource, "ns", file.path()},
                     is_full ? Keep::OnceChanged : Keep::Always)
            .see(moment.now_ns, *total_us * 1000);
      }
    }
  }
}

}  // namespace chokepoint::capture::counter
