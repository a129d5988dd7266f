// Tells chokepoint, where it watches, that a step begins: a message to the socket that
// CHOKEPOINT_MARKS names, as a path or, without its folder, as a name. Never waits, and never fails
// where nobody listens. One thread.
#pragma once

namespace chokepoint::trainer {

class Marks {
 public:
  explicit Marks(bool is_wanted);
  ~Marks();
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  void step(long number) const;

 private:
  int socket_ = -1;
};

}  // namespace chokepoint::trainer
