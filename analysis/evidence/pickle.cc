#include "analysis/evidence/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/evidence/source.h"

namespace chokepoint::analysis {
namespace {

using json::Json;

// Far above what 20 000 entries of the Flight Recorder need, with all their stacks: 2 million.
constexpr std::size_t kMaxValues = std::size_t{12} << 20;  // on the stack and in containers
constexpr std::size_t kMaxPlaces = std::size_t{4} << 20;   // of the memo
constexpr std::size_t kMaxUses = std::size_t{16} << 20;    // of values from the memo
// Of a document that is made of it, in which what is used twice is there twice.
constexpr std::size_t kMaxCopies = std::size_t{4} << 20;
constexpr std::size_t kMaxTextBytes = std::size_t{256} << 20;

constexpr const char* kTooMany = "it has too many values";

// As Python's Lib/pickletools.py names them.
enum Opcode : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kEmptyDict = '}',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kMemoize = 0x94,
  kFrame = 0x95,
};

class Machine {
 public:
  Machine(std::string_view bytes, Values& values)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), values_(values) {
    values_.reserve(bytes.size());
  }

  Result<Value> run() {
    while (is_fine_) {
      const auto opcode = static_cast<std::uint8_t>(number<1>());
      if (!is_fine_ || opcode == kStop) {
        break;
      }
      step(opcode);
    }
    check(depth_ > floor(), "it ends without a value");
    if (!is_fine_) {
      return fail(ErrorKind::Malformed, "", "pickle", why_);
    }
    return stack_[depth_ - 1];
  }

 private:
  void step(std::uint8_t opcode) {
    switch (opcode) {
      case kProto:
        check(number<1>() <= 5, "its protocol is newer than 5");
        return;
      case kFrame:
        number<8>();
        return;
      case kMark:
        return mark();
      case kEmptyList:
      case kEmptyTuple:
        return push_container(Value::Kind::List);
      case kEmptyDict:
        return push_container(Value::Kind::Dictionary);
      case kPop:
        pop();
        return;
      case kAppend:
        return extend(Value::Kind::List, top(1));
      case kSetItem:
        return extend(Value::Kind::Dictionary, top(2));
      case kAppends:
        return extend(Value::Kind::List, above_mark());
      case kSetItems:
        return extend(Value::Kind::Dictionary, above_mark());
      case kTuple:
        return tuple(above_mark());
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return tuple(top(1 + std::size_t{opcode} - kTuple1));
      default:
        scalar_or_memo(opcode);
    }
  }

  [[gnu::always_inline]] void scalar_or_memo(std::uint8_t opcode) {
    switch (opcode) {
      case kNone:
        return push({});
      case kNewTrue:
        return push(Value::of(true));
      case kNewFalse:
        return push(Value::of(false));
      case kBinInt:
        return push(Value::of(static_cast<std::int64_t>(static_cast<std::int32_t>(number<4>()))));
      case kBinInt1:
        return push(Value::of(static_cast<std::int64_t>(number<1>())));
      case kBinInt2:
        return push(Value::of(static_cast<std::int64_t>(number<2>())));
      case kLong1:
        return push(Value::of(signed_number(number<1>())));
      case kBinFloat:
        return push(Value::of(real()));
      case kShortBinUnicode:
        return push(Value::of(bytes(number<1>())));
      case kBinUnicode:
        return push(Value::of(bytes(number<4>())));
      case kBinUnicode8:
        return push(Value::of(bytes(number<8>())));
      case kMemoize:
        return put(places_);
      case kBinPut:
        return put(number<1>());
      case kLongBinPut:
        return put(number<4>());
      case kBinGet:
        return get(number<1>());
      case kLongBinGet:
        return get(number<4>());
      default:
        is_fine_ = false;
        why_ = fmt::format(
            "it uses opcode 0x{:02x}, which is not of plain data: a pickle may run any program, so "
            "only dictionaries, lists, texts and numbers are read",
            opcode);
    }
  }

  // The first that does not hold is why.
  [[gnu::always_inline]] bool check(bool holds, const char* why) {
    if (!holds && is_fine_) [[unlikely]] {
      is_fine_ = false;
      why_ = why;
    }
    return is_fine_;
  }

  [[gnu::always_inline]] std::string_view bytes(std::uint64_t count) {
    if (!check(count <= static_cast<std::uint64_t>(end_ - at_), kCutOff)) {
      return {};
    }
    const std::string_view taken(at_, count);
    at_ += count;
    return taken;
  }

  // Little-endian, as pickles are on any host.
  template <std::size_t kWidth>
  [[gnu::always_inline]] std::uint64_t number() {
    if (!check(static_cast<std::size_t>(end_ - at_) >= kWidth, kCutOff)) {
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t at = kWidth; at > 0; --at) {
      value = value << 8 | static_cast<std::uint8_t>(at_[at - 1]);
    }
    at_ += kWidth;
    return value;
  }

  std::int64_t signed_number(std::uint64_t width) {
    if (!check(width <= sizeof(std::int64_t), "it has a number of more than 64 bits")) {
      return 0;
    }
    const std::string_view taken = bytes(width);
    if (!is_fine_ || width == 0) {
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t at = taken.size(); at > 0; --at) {
      value = value << 8 | static_cast<std::uint8_t>(taken[at - 1]);
    }
    const unsigned unused = 64 - 8 * static_cast<unsigned>(width);
    return static_cast<std::int64_t>(value << unused) >> unused;
  }

  // Big-endian, unlike all else.
  double real() {
    std::uint64_t value = 0;
    for (const char byte : bytes(sizeof(double))) {
      value = value << 8 | static_cast<std::uint8_t>(byte);
    }
    return std::bit_cast<double>(value);
  }

  // Where the newest mark is: what lies below it is taken only when the mark has gone.
  [[gnu::always_inline]] std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  [[gnu::always_inline]] void push(Value value) {
    if (depth_ < stack_.size() || grow()) [[likely]] {
      stack_[depth_++] = value;
    }
  }

  void mark() {
    if (check(marks_.size() < kMaxValues, kTooMany)) {
      marks_.push_back(depth_);
    }
  }

  [[gnu::noinline]] bool grow() {
    constexpr std::size_t kFirst = 4096;
    if (check(stack_.size() < kMaxValues, kTooMany)) {
      stack_.resize(std::max(kFirst, 2 * stack_.size()));
    }
    return is_fine_;
  }

  [[gnu::always_inline]] bool has_room_for(std::size_t count) {
    return check(values_.size() + count < kMaxValues, kTooMany);
  }

  void push_container(Value::Kind kind) {
    if (has_room_for(1)) {
      push(kind == Value::Kind::List ? values_.list() : values_.dictionary());
    }
  }

  void pop() {
    if (check(depth_ > floor(), "it takes a value where there is none")) {
      --depth_;
    }
  }

  // The last values, which lie above the newest mark.
  [[gnu::always_inline]] std::span<const Value> top(std::size_t count) {
    if (!check(depth_ - floor() >= count, "it takes a value where there is none")) {
      return {};
    }
    return std::span<const Value>(stack_).subspan(depth_ - count, count);
  }

  // All of them, and the mark goes.
  std::span<const Value> above_mark() {
    if (!check(!marks_.empty(), "it lacks a mark")) {
      return {};
    }
    const std::size_t first = marks_.back();
    marks_.pop_back();
    return std::span<const Value>(stack_).subspan(first, depth_ - first);
  }

  void tuple(std::span<const Value> items) {
    if (is_fine_ && has_room_for(items.size() + 1)) {
      const Value made = values_.list();
      values_.extend(made, items);
      depth_ -= items.size();
      push(made);
    }
  }

  // What lies below the items.
  void extend(Value::Kind kind, std::span<const Value> by) {
    if (!is_fine_ || !has_room_for(by.size())) {
      return;
    }
    const std::size_t under = depth_ - by.size();
    check(under > floor() && stack_[under - 1].kind == kind, "it adds to what is no such list");
    check(kind == Value::Kind::List || by.size() % 2 == 0, "it has a key without a value");
    if (is_fine_) {
      const Value into = stack_[under - 1];
      values_.extend(into, by);
      check(kind == Value::Kind::List || values_.items(into).size() <= 2 * kMaxKeys,
            "it has a dictionary of too many keys");
      depth_ = under;
    }
  }

  // Places are counted one by one; only a pickle that was made smaller leaves some out.
  void put(std::uint64_t place) {
    check(depth_ > floor(), "it keeps what is not there");
    check(places_ < kMaxPlaces, kTooMany);
    if (!is_fine_) {
      return;
    }
    ++places_;
    if (place <= memo_.size()) {
      if (place == memo_.size()) {
        memo_.emplace_back();
      }
      memo_[place] = stack_[depth_ - 1];
    } else {
      far_memo_[place] = stack_[depth_ - 1];
    }
  }

  [[gnu::always_inline]] void get(std::uint64_t place) {
    check(++uses_ <= kMaxUses, kTooMany);
    if (place < memo_.size()) {
      return push(memo_[place]);
    }
    const auto found = far_memo_.find(place);
    check(found != far_memo_.end(), "it takes what it has not kept");
    if (is_fine_) {
      push(found->second);
    }
  }

  static constexpr const char* kCutOff = "it is cut off";

  const char* at_;
  const char* end_;
  Values& values_;
  bool is_fine_ = true;
  std::string why_;
  std::vector<Value> stack_;  // of which the first depth_ are in use
  std::size_t depth_ = 0;
  std::vector<std::size_t> marks_;  // how deep the stack was at each
  std::vector<Value> memo_;
  std::unordered_map<std::uint64_t, Value> far_memo_;
  std::size_t places_ = 0;
  std::size_t uses_ = 0;
};

// A list may be in itself, or many times in others: depth and the number of copies are bounded.
class Copier {
 public:
  Copier(const Values& values, std::string_view skipped) : values_(values), skipped_(skipped) {}

  Json made_of(Value value, int depth) {
    check(depth < json::kMaxDepth, "it is nested too deeply");
    check(++copies_ <= kMaxCopies, kTooMany);
    if (*why_ != '\0') {
      return {};
    }
    switch (value.kind) {
      case Value::Kind::List:
        return list_of(value, depth);
      case Value::Kind::Dictionary:
        return dictionary_of(value, depth);
      default:
        return scalar_of(value);
    }
  }

  const char* why() const { return why_; }

 private:
  Json scalar_of(Value value) {
    switch (value.kind) {
      case Value::Kind::False:
      case Value::Kind::True:
        return value.is_true();
      case Value::Kind::Whole:
        return value.whole;
      case Value::Kind::Real:
        return value.real;
      case Value::Kind::Text:
        text_bytes_ += value.size;
        check(text_bytes_ <= kMaxTextBytes, kTooMany);
        return std::string(value.as_text());
      default:
        return {};
    }
  }

  Json list_of(Value list, int depth) {
    Json made = Json::array();
    for (const Value& item : values_.items(list)) {
      if (*why_ == '\0') {
        made.push_back(made_of(item, depth + 1));
      }
    }
    return made;
  }

  Json dictionary_of(Value dictionary, int depth) {
    Json made = Json::object();
    const std::span<const Value> items = values_.items(dictionary);
    for (std::size_t at = 0; at + 1 < items.size() && *why_ == '\0'; at += 2) {
      const Json key = scalar_of(items[at]);
      const std::string name =
          key.is_string() ? key.get<std::string>() : key.dump(-1, ' ', false, kReplaced);
      if (skipped_.empty() || name != skipped_) {
        made[name] = made_of(items[at + 1], depth + 1);
      }
    }
    return made;
  }

  void check(bool holds, const char* why) { why_ = holds || *why_ != '\0' ? why_ : why; }

  static constexpr Json::error_handler_t kReplaced = Json::error_handler_t::replace;

  const Values& values_;
  std::string_view skipped_;
  const char* why_ = "";
  std::size_t copies_ = 0;
  std::size_t text_bytes_ = 0;
};

}  // namespace

Result<Value> read_pickle(std::string_view bytes, Values& values) {
  return Machine(bytes, values).run();
}

Result<Json> unpickled(std::string_view bytes, std::string_view skipped) {
  Values values;
  TRY(const Value root, read_pickle(bytes, values));
  Copier copier(values, skipped);
  Json made = copier.made_of(root, 0);
  return *copier.why() == '\0' ? Result<Json>(std::move(made))
                               : fail(ErrorKind::Malformed, "", "pickle", copier.why());
}

}  // namespace chokepoint::analysis
