#include "analysis/evidence/pickle.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

namespace chokepoint::analysis {
namespace {

using json::Json;

// Far above what 20 000 entries of the Flight Recorder need, with all their stacks. Nodes: also
// places of the memo, and values made of nodes.
constexpr std::size_t kMaxNodes = std::size_t{4} << 20;
constexpr std::size_t kMaxUses = std::size_t{16} << 20;        // of values from the memo
constexpr std::size_t kMaxTextBytes = std::size_t{256} << 20;  // of all texts, with each use

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

struct Node;
using Value = std::shared_ptr<Node>;

// A list or dictionary may be put aside in the memo before it is filled, so they are shared.
struct Node {
  enum class Kind : std::uint8_t { Scalar, List, Dictionary, Mark };
  Kind kind = Kind::Scalar;
  Json scalar = {};
  std::vector<Value> items = {};  // of a dictionary key, value, key, value …
};

class Machine {
 public:
  Machine(std::string_view bytes, std::string_view skipped) : rest_(bytes), skipped_(skipped) {}

  Result<Json> run() {
    while (why_.empty()) {
      const auto opcode = static_cast<std::uint8_t>(number(1));
      if (!why_.empty() || opcode == kStop) {
        break;
      }
      step(opcode);
    }
    if (why_.empty() && (stack_.empty() || stack_.back()->kind == Node::Kind::Mark)) {
      why_ = "it ends without a value";
    }
    Json made = why_.empty() ? made_of(*stack_.back(), 0) : Json();
    // Freed one by one: a chain of lists would free itself by calling itself.
    take_apart();
    if (!why_.empty()) {
      return fail(ErrorKind::Malformed, "", "pickle", why_);
    }
    return made;
  }

 private:
  void step(std::uint8_t opcode) {
    switch (opcode) {
      case kProto:
        check(number(1) <= 5, "its protocol is newer than 5");
        return;
      case kFrame:
        number(8);
        return;
      case kMark:
        return push(Node::Kind::Mark);
      case kEmptyList:
      case kEmptyTuple:
        return push(Node::Kind::List);
      case kEmptyDict:
        return push(Node::Kind::Dictionary);
      case kPop:
        pop();
        return;
      case kAppend:
        return append(1);
      case kSetItem:
        return append(2);
      case kAppends:
        return fill(Node::Kind::List);
      case kSetItems:
        return fill(Node::Kind::Dictionary);
      case kTuple:
        return tuple(above_mark());
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return tuple(take(1 + opcode - kTuple1));
      default:
        scalar_or_memo(opcode);
    }
  }

  void scalar_or_memo(std::uint8_t opcode) {
    switch (opcode) {
      case kNone:
        return push(Json());
      case kNewTrue:
        return push(Json(true));
      case kNewFalse:
        return push(Json(false));
      case kBinInt:
        return push(Json(static_cast<std::int64_t>(static_cast<std::int32_t>(number(4)))));
      case kBinInt1:
        return push(Json(number(1)));
      case kBinInt2:
        return push(Json(number(2)));
      case kLong1:
        return push(Json(signed_number(number(1))));
      case kBinFloat:
        return push(real());
      case kShortBinUnicode:
        return push(Json(text(number(1))));
      case kBinUnicode:
        return push(Json(text(number(4))));
      case kBinUnicode8:
        return push(Json(text(number(8))));
      case kMemoize:
        return put(memo_.size());
      case kBinPut:
        return put(number(1));
      case kLongBinPut:
        return put(number(4));
      case kBinGet:
        return get(number(1));
      case kLongBinGet:
        return get(number(4));
      default:
        why_ = fmt::format(
            "it uses opcode 0x{:02x}, which is not of plain data: a pickle may run any program, so "
            "only dictionaries, lists, texts and numbers are read",
            opcode);
    }
  }

  void check(bool holds, const char* why) {
    if (!holds && why_.empty()) {
      why_ = why;
    }
  }

  std::string_view bytes(std::uint64_t count) {
    check(count <= rest_.size(), "it is cut off");
    if (!why_.empty()) {
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::uint64_t number(std::size_t width) {
    std::uint64_t value = 0;
    const std::string_view taken = bytes(width);
    for (std::size_t at = taken.size(); at > 0; --at) {
      value = value << 8 | static_cast<std::uint8_t>(taken[at - 1]);
    }
    return value;
  }

  std::int64_t signed_number(std::uint64_t width) {
    check(width <= sizeof(std::int64_t), "it has a number of more than 64 bits");
    if (!why_.empty() || width == 0) {
      return 0;
    }
    const std::uint64_t value = number(width);
    const unsigned unused = 64 - 8 * static_cast<unsigned>(width);
    return static_cast<std::int64_t>(value << unused) >> unused;
  }

  // Big-endian, unlike all else.
  Json real() {
    std::uint64_t value = 0;
    for (const char byte : bytes(sizeof(double))) {
      value = value << 8 | static_cast<std::uint8_t>(byte);
    }
    const auto real = std::bit_cast<double>(value);
    return std::isfinite(real) ? Json(real) : Json();
  }

  std::string text(std::uint64_t count) { return std::string(bytes(count)); }

  void push(Json scalar) { push(Node{.scalar = std::move(scalar)}); }
  void push(Node::Kind kind) { push(Node{.kind = kind}); }
  void push(Node node) {
    check(all_.size() < kMaxNodes, kTooMany);
    if (why_.empty()) {
      all_.push_back(std::make_shared<Node>(std::move(node)));
      stack_.push_back(all_.back());
    }
  }

  void pop() {
    check(!stack_.empty(), "it takes a value where there is none");
    if (why_.empty()) {
      stack_.pop_back();
    }
  }

  std::vector<Value> take(std::size_t count) {
    check(stack_.size() >= count, "it takes a value where there is none");
    if (!why_.empty()) {
      return {};
    }
    const auto from = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<Value> taken(from, stack_.end());
    stack_.erase(from, stack_.end());
    for (const Value& value : taken) {
      check(value->kind != Node::Kind::Mark, "it has a mark for a value");
    }
    return taken;
  }

  std::vector<Value> above_mark() {
    std::size_t count = 0;
    while (count < stack_.size() && stack_[stack_.size() - 1 - count]->kind != Node::Kind::Mark) {
      ++count;
    }
    check(count < stack_.size(), "it lacks a mark");
    std::vector<Value> taken = take(count);
    pop();
    return taken;
  }

  void tuple(std::vector<Value> items) {
    push(Node{.kind = Node::Kind::List, .items = std::move(items)});
  }

  void append(std::size_t count) {
    extend(count == 1 ? Node::Kind::List : Node::Kind::Dictionary, take(count));
  }
  void fill(Node::Kind kind) { extend(kind, above_mark()); }

  void extend(Node::Kind kind, const std::vector<Value>& items) {
    check(!stack_.empty() && stack_.back()->kind == kind, "it adds to what is no such list");
    check(kind == Node::Kind::List || items.size() % 2 == 0, "it has a key without a value");
    if (why_.empty()) {
      std::vector<Value>& into = stack_.back()->items;
      into.insert(into.end(), items.begin(), items.end());
    }
  }

  void put(std::uint64_t place) {
    check(!stack_.empty() && stack_.back()->kind != Node::Kind::Mark, "it keeps what is not there");
    check(memo_.size() < kMaxNodes, kTooMany);
    if (why_.empty()) {
      memo_[place] = stack_.back();
    }
  }

  void get(std::uint64_t place) {
    const auto found = memo_.find(place);
    check(found != memo_.end(), "it takes what it has not kept");
    check(++uses_ <= kMaxUses, kTooMany);
    if (why_.empty()) {
      stack_.push_back(found->second);
    }
  }

  // A list may be in itself, or many times in others: depth and the number of copies are bounded.
  Json made_of(const Node& node, int depth) {
    check(depth < json::kMaxDepth, "it is nested too deeply");
    check(++copies_ <= kMaxNodes, kTooMany);
    if (!why_.empty()) {
      return {};
    }
    switch (node.kind) {
      case Node::Kind::List:
        return list_of(node, depth);
      case Node::Kind::Dictionary:
        return dictionary_of(node, depth);
      default:
        count(node.scalar);
        return node.scalar;
    }
  }

  Json list_of(const Node& node, int depth) {
    Json made = Json::array();
    for (std::size_t at = 0; at < node.items.size() && why_.empty(); ++at) {
      made.push_back(made_of(*node.items[at], depth + 1));
    }
    return made;
  }

  Json dictionary_of(const Node& node, int depth) {
    check(node.items.size() <= 2 * kMaxKeys, "it has a dictionary of too many keys");
    Json made = Json::object();
    for (std::size_t at = 0; at + 1 < node.items.size() && why_.empty(); at += 2) {
      const Json& key = node.items[at]->scalar;
      count(key);
      const std::string name =
          key.is_string() ? key.get<std::string>() : key.dump(-1, ' ', false, kReplaced);
      if (skipped_.empty() || name != skipped_) {
        made[name] = made_of(*node.items[at + 1], depth + 1);
      }
    }
    return made;
  }

  void count(const Json& scalar) {
    text_bytes_ += scalar.is_string() ? scalar.get_ref<const std::string&>().size() : 0;
    check(text_bytes_ <= kMaxTextBytes, kTooMany);
  }

  void take_apart() {
    for (const Value& value : all_) {
      value->items.clear();
    }
  }

  static constexpr Json::error_handler_t kReplaced = Json::error_handler_t::replace;

  static constexpr const char* kTooMany = "it has too many values";

  std::string_view rest_;
  std::string_view skipped_;
  std::string why_;
  std::vector<Value> stack_;
  std::map<std::uint64_t, Value> memo_;
  std::vector<Value> all_;
  std::size_t uses_ = 0;
  std::size_t copies_ = 0;
  std::size_t text_bytes_ = 0;
};

}  // namespace

Result<Json> unpickled(std::string_view bytes, std::string_view skipped) {
  return Machine(bytes, skipped).run();
}

}  // namespace chokepoint::analysis
