// What a process that parses packets says to the watch of a job, and it may have been taken over:
// rows for the record, and errors.
#include <string_view>

#include "base/record/forward.h"
#include "base/sys/message_socket.h"

namespace {

using namespace chokepoint;

// Gives every row a place, and touches all that came.
class Target final : public record::RowTarget {
 public:
  record::FlowPlace place(std::int64_t id, const record::FlowPlace& known,
                          record::Flow row) override {
    bytes += row.a_address.size() + row.interface.size();
    return {.id = known.id == 0 ? id ^ 1 : known.id, .is_turned = (id & 1) != 0};
  }
  std::int64_t add(record::Series row) override {
    return static_cast<std::int64_t>(row.name.size());
  }
  void add(record::Event row) override { bytes += row.detail.size(); }
  void add(record::FlowTotal row) override { bytes += row.rtt_ms.size(); }
  void push(const record::FlowSample& /*row*/) override { ++bytes; }
  void push(const record::FlowMark& /*row*/) override { ++bytes; }
  void push(const record::CounterSample& /*row*/) override { ++bytes; }
  void push(const record::Step& /*row*/) override { ++bytes; }
  void push(const record::Collective& /*row*/, const record::FlowPlace& /*place*/) override {
    ++bytes;
  }
  void lost(std::uint64_t rows) override { bytes += rows; }

  std::size_t bytes = 0;
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Target target;
  record::Receiver receiver(target);
  // Two messages: what the first one named, the second one may use.
  const std::size_t half = size / 2 / sizeof(record::Word) * sizeof(record::Word);
  static_cast<void>(receiver.take(bytes.substr(0, half)));
  static_cast<void>(receiver.take(bytes.substr(half)));
  static_cast<void>(receiver.take(bytes));
  static_cast<void>(describe(sys::unpacked_error(bytes)));
  return 0;
}
