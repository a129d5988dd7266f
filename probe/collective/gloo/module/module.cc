// libchokepoint-gloo.so: interface.h by libgloo. Inside, libgloo's exceptions are thrown; guarded()
// makes texts of them. One thread a group; libgloo receives on one of its own for each device.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/common/error.h>
#include <gloo/context.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <gloo/types.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "probe/collective/gloo/module/interface.h"
#include "probe/collective/operation.h"

namespace chokepoint::probe::collective::gloo_module {
namespace {

// Runs a prepared collective once, on the given context and with the given tag.
using Collectively = std::function<void(const std::shared_ptr<::gloo::Context>&, std::uint32_t)>;

// The program's store with the interface that libgloo wants.
class CallbackStore final : public ::gloo::rendezvous::Store {
 public:
  // The prefix keeps the keys of one context apart from another's.
  CallbackStore(const StoreCalls& calls, std::string prefix)
      : calls_(calls), prefix_(std::move(prefix)) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    if (calls_.set(calls_.store, (prefix_ + key).c_str(), data.data(), data.size()) != 0) {
      throw ::gloo::IoException("the store failed");
    }
  }

  std::vector<char> get(const std::string& key) override {
    const auto assign = [](void* into, const char* data, std::size_t size) {
      static_cast<std::vector<char>*>(into)->assign(data, data + size);
    };
    std::vector<char> found;
    if (calls_.get(calls_.store, (prefix_ + key).c_str(), &found, assign) != 0) {
      throw ::gloo::IoException("the store failed");
    }
    return found;
  }

  // Nothing: get() itself waits, within the store's own limit.
  void wait(const std::vector<std::string>& /*keys*/) override {}
  void wait(const std::vector<std::string>& /*keys*/,
            const std::chrono::milliseconds& /*timeout*/) override {}

 private:
  StoreCalls calls_;
  std::string prefix_;
};

// libgloo has no bf16 of its own.
struct BFloat16 {
  std::uint16_t bits = 0;

  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
  }

  // To the nearest, ties to even; a NaN stays one.
  static BFloat16 of(float value) {
    const auto whole = std::bit_cast<std::uint32_t>(value);
    if ((whole & 0x7fffffffU) > 0x7f800000U) {
      return {static_cast<std::uint16_t>((whole >> 16U) | 0x40U)};
    }
    return {static_cast<std::uint16_t>((whole + 0x7fffU + ((whole >> 16U) & 1U)) >> 16U)};
  }

  BFloat16& operator+=(BFloat16 other) { return *this = *this + other; }
  friend BFloat16 operator+(BFloat16 a, BFloat16 b) {
    return of(static_cast<float>(a) + static_cast<float>(b));
  }
};

// Calls `function` with an element of the type.
template <class Function>
decltype(auto) with_element(ElementType type, Function&& function) {
  switch (type) {
    case ElementType::Float64:
      return function(double{});
    case ElementType::Float16:
      return function(::gloo::float16{});
    case ElementType::BFloat16:
      return function(BFloat16{});
    case ElementType::Int32:
      return function(std::int32_t{});
    case ElementType::Int64:
      return function(std::int64_t{});
    case ElementType::Uint8:
      return function(std::uint8_t{});
    case ElementType::Float32:
      break;
  }
  return function(float{});
}

// Whole numbers wrap: sums in place, again and again, outgrow any type.
template <class Element>
Element sum_of(Element a, Element b) {
  if constexpr (std::is_integral_v<Element>) {
    using Bits = std::make_unsigned_t<Element>;
    return static_cast<Element>(static_cast<Bits>(a) + static_cast<Bits>(b));
  } else {
    return static_cast<Element>(a + b);
  }
}

// The reduction as libgloo's newer collectives call it; add_to: as its older ones do.
template <class Element>
void add(void* to, const void* a, const void* b, std::size_t count) {
  auto* sums = static_cast<Element*>(to);
  const auto* left = static_cast<const Element*>(a);
  const auto* right = static_cast<const Element*>(b);
  for (std::size_t at = 0; at < count; ++at) {
    sums[at] = sum_of(left[at], right[at]);
  }
}

template <class Element>
void add_to(Element* sums, const Element* others, std::size_t count) {
  add<Element>(sums, sums, others, count);
}

// libgloo's own reduce-scatter, by recursive halving: one of its older kind, whose buffers are set
// up once for all runs. Its steps time out after what was set when the pairs were connected: a
// fifth of other collectives' timeout.
template <class Element>
Collectively halving(const Work& work, const std::shared_ptr<::gloo::Context>& context) {
  static const ::gloo::ReductionFunction<Element> sum(::gloo::SUM, add_to<Element>);
  const auto ranks = static_cast<std::size_t>(context->size);
  const auto count = static_cast<int>(work.input_bytes / sizeof(Element));
  const std::vector<int> shares(ranks, static_cast<int>(work.output_bytes / sizeof(Element)));
  auto algorithm = std::make_shared<::gloo::ReduceScatterHalvingDoubling<Element>>(
      context, std::vector<Element*>{static_cast<Element*>(work.input)}, count, shares, &sum);
  return [work, algorithm](const std::shared_ptr<::gloo::Context>& /*context*/,
                           std::uint32_t /*tag*/) {
    algorithm->run();
    std::memcpy(work.output, work.input, work.output_bytes);
  };
}

Collectively reduce_scatter(const Work& work, const std::shared_ptr<::gloo::Context>& context) {
  if (work.input_bytes > INT_MAX) {
    throw std::invalid_argument(
        "libgloo's own reduce-scatter counts to 2 GiB; --algorithm all-reduce does it as PyTorch");
  }
  return with_element(static_cast<ElementType>(work.type),
                      [&](auto element) { return halving<decltype(element)>(work, context); });
}

// For each collective, as PyTorch runs it by libgloo where it does.
using Context = std::shared_ptr<::gloo::Context>;

::gloo::AllreduceOptions::Algorithm algorithm_of(Algorithm algorithm) {
  return algorithm == Algorithm::Bcube ? ::gloo::AllreduceOptions::Algorithm::BCUBE
                                       : ::gloo::AllreduceOptions::Algorithm::RING;
}

void all_reduce(const Work& work, const Context& context, std::uint32_t tag) {
  ::gloo::AllreduceOptions options(context);
  with_element(static_cast<ElementType>(work.type), [&](auto element) {
    using Element = decltype(element);
    options.setOutput(static_cast<Element*>(work.input), work.input_bytes / sizeof(Element));
    options.setReduceFunction(add<Element>);
  });
  options.setAlgorithm(algorithm_of(work.algorithm));
  options.setTag(tag);
  ::gloo::allreduce(options);
}

void reduce_scatter_by_all_reduce(const Work& work, const Context& context, std::uint32_t tag) {
  all_reduce(work, context, tag);
  const auto* sums = static_cast<const std::byte*>(work.input);
  const auto rank = static_cast<std::uint64_t>(context->rank);
  std::memcpy(work.output, sums + rank * work.output_bytes, work.output_bytes);
}

void all_gather(const Work& work, const Context& context, std::uint32_t tag) {
  ::gloo::AllgatherOptions options(context);
  options.setInput(static_cast<std::uint8_t*>(work.input), work.input_bytes);
  options.setOutput(static_cast<std::uint8_t*>(work.output), work.output_bytes);
  options.setTag(tag);
  ::gloo::allgather(options);
}

void broadcast(const Work& work, const Context& context, std::uint32_t tag) {
  ::gloo::BroadcastOptions options(context);
  options.setOutput(static_cast<std::uint8_t*>(work.output), work.output_bytes);
  options.setRoot(work.root);
  options.setTag(tag);
  ::gloo::broadcast(options);
}

void all_to_all(const Work& work, const Context& context, std::uint32_t tag) {
  ::gloo::AlltoallOptions options(context);
  options.setInput(static_cast<std::uint8_t*>(work.input), work.input_bytes);
  options.setOutput(static_cast<std::uint8_t*>(work.output), work.output_bytes);
  options.setTag(tag);
  ::gloo::alltoall(options);
}

void send_and_receive(const Work& work, const Context& context, std::uint32_t tag) {
  if (context->size == 1) {
    std::memcpy(work.output, work.input, work.output_bytes);
    return;
  }
  auto sent = context->createUnboundBuffer(work.input, work.input_bytes);
  auto received = context->createUnboundBuffer(work.output, work.output_bytes);
  received->recv((context->rank + context->size - 1) % context->size, tag);
  sent->send((context->rank + 1) % context->size, tag);
  received->waitRecv(context->getTimeout());
  sent->waitSend(context->getTimeout());
}

// Of one context, since some algorithms are set up once. Keeps what `work` points at.
Collectively collective_of(const Work& work, const Context& context) {
  const auto with = [work](auto* function) {
    return [work, function](const Context& on, std::uint32_t tag) { function(work, on, tag); };
  };
  switch (static_cast<Collective>(work.collective)) {
    case Collective::AllReduce:
      return with(all_reduce);
    case Collective::AllGather:
      return with(all_gather);
    case Collective::ReduceScatter:
      return work.algorithm == Algorithm::ByAllReduce
                 ? Collectively(with(reduce_scatter_by_all_reduce))
                 : reduce_scatter(work, context);
    case Collective::Broadcast:
      return with(broadcast);
    case Collective::AllToAll:
      return with(all_to_all);
    case Collective::SendReceive:
      return with(send_and_receive);
  }
  throw std::invalid_argument("no such collective");
}

constexpr std::chrono::milliseconds kLeaving{2000};
// libgloo waits up to so many times the context's timeout for a connection.
constexpr int kConnectTimeouts = 5;

std::shared_ptr<::gloo::transport::Device> make_device(const DeviceChoice& choice) {
  ::gloo::transport::tcp::attr attributes;
  if (choice.interface != nullptr) {
    attributes.iface = choice.interface;
  } else {
    attributes.hostname = choice.address;
  }
  return ::gloo::transport::tcp::CreateDevice(attributes);
}

std::shared_ptr<::gloo::Context> connect(const Meeting& meeting, std::size_t number,
                                         const StoreCalls& calls) {
  auto device = make_device(meeting.devices[number]);
  CallbackStore store(calls, "gloo/" + std::to_string(number) + "/");
  auto context = std::make_shared<::gloo::rendezvous::Context>(meeting.rank, meeting.ranks);
  const std::chrono::milliseconds deadline(meeting.timeout_ms);
  context->setTimeout(deadline / kConnectTimeouts);
  context->connectFullMesh(store, device);
  context->setTimeout(deadline);
  return context;
}

}  // namespace

// The connected ranks, and the one collective that was prepared for them.
struct Group {
  Group(const Meeting& meeting, const StoreCalls& store);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  // Waits a moment for the other ranks: closing earlier would break what they still do.
  ~Group();

  void prepare(const Work& work);
  // In microseconds.
  double run();

 private:
  // PyTorch has one for each interface that it was given, and takes them in turn.
  std::vector<std::shared_ptr<::gloo::Context>> contexts_;
  std::vector<Collectively> prepared_;
  std::uint32_t tag_ = 0;
  bool failed_ = false;
};

Group::Group(const Meeting& meeting, const StoreCalls& store) {
  for (std::size_t number = 0; number < meeting.device_count; ++number) {
    contexts_.push_back(connect(meeting, number, store));
  }
}

void Group::prepare(const Work& work) {
  prepared_.clear();
  for (const std::shared_ptr<::gloo::Context>& context : contexts_) {
    prepared_.push_back(collective_of(work, context));
  }
}

Group::~Group() {
  if (failed_) {
    return;
  }
  try {
    for (const std::shared_ptr<::gloo::Context>& context : contexts_) {
      ::gloo::BarrierOptions options(context);
      options.setTag(tag_);
      options.setTimeout(std::min(context->getTimeout(), kLeaving));
      ::gloo::barrier(options);
    }
  } catch (const std::exception&) {
    failed_ = true;  // the others are gone already
  }
}

double Group::run() {
  const std::size_t turn = tag_ % contexts_.size();
  failed_ = true;
  const auto begin = std::chrono::steady_clock::now();
  prepared_.at(turn)(contexts_[turn], tag_++);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  failed_ = false;
  return took.count();
}

namespace {

void write_text(Text* problem, std::string_view words) {
  const std::size_t size = std::min(words.size(), sizeof problem->words - 1);
  std::memcpy(problem->words, words.data(), size);
  problem->words[size] = '\0';
}

template <class Function>
int guarded(Text* problem, Function&& function) {
  try {
    function();
    return 0;
  } catch (const std::exception& thrown) {
    write_text(problem, thrown.what());
  } catch (...) {
    write_text(problem, "unknown failure");
  }
  return 1;
}

int open(const Meeting* meeting, const StoreCalls* store, Group** made, Text* problem) {
  return guarded(problem, [&] { *made = std::make_unique<Group>(*meeting, *store).release(); });
}

int prepare(Group* group, const Work* work, Text* problem) {
  return guarded(problem, [&] { group->prepare(*work); });
}

int run(Group* group, int runs, double* times_us, Text* problem) {
  return guarded(problem, [&] {
    for (double& took : std::span(times_us, static_cast<std::size_t>(std::max(runs, 0)))) {
      took = group->run();
    }
  });
}

void close(Group* group) {
  Text ignored{};
  guarded(&ignored, [&] { const std::unique_ptr<Group> owned(group); });
}

constexpr Functions kFunctions{
    .layout = kLayout, .open = open, .prepare = prepare, .run = run, .close = close};

}  // namespace

}  // namespace chokepoint::probe::collective::gloo_module

// The one name that it exports; kEntryName.
extern "C"
    [[gnu::visibility("default")]] const chokepoint::probe::collective::gloo_module::Functions*
    chokepoint_gloo_functions() {
  return &chokepoint::probe::collective::gloo_module::kFunctions;
}
