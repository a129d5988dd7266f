// The points of one level as they come: their noise, and whether the newest are further from the
// rest than noise takes them. A point costs less than a microsecond, since what a look needs of
// them stays sorted; change_points.h looks thoroughly where this says so. Values; one thread at a
// time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace chokepoint::trends {

// The least deviation of values as they are compared: equal ones may have been rounded by so much.
inline constexpr double kRounding = 1e-3;

// Is the end of the series anywhere off the rest by more than independent noise would be? By means
// of its last values, from `min_after` to `max_after` of them.
bool may_have_changed(std::span<const double> values, double center, double deviation,
                      std::size_t min_after, std::size_t max_after);

class QuickLook {
 public:
  // The standard error of a value is NaN where it is unknown.
  struct Point {
    double value = 0;
    double error = 0;
  };

  void add(const Point& point);
  void drop_oldest();
  void clear();

  std::size_t size() const { return points_.size(); }

  // As a thorough look does it, but for the rhythm of a day and lone spikes, which make it say yes
  // more often.
  bool may_have_changed(std::size_t min_after, std::size_t max_after) const;
  // Does the point that so many came after stand out of its neighbours?
  bool is_outlier(std::size_t after) const;

 private:
  class Sorted {
   public:
    void insert(double value);
    void erase(double value);
    void clear() { values_.clear(); }
    std::size_t size() const { return values_.size(); }
    double median() const;
    double largest_distance() const;  // from 0

   private:
    std::vector<double> values_;
  };

  void note(const Point& point);
  void compare_anew(bool by_logarithms);
  double compared(double value) const;
  double error_of(const Point& point) const;
  double unit() const;
  double by_differences() const;
  double deviation() const;

  std::vector<Point> points_;
  std::size_t not_positive_ = 0;
  bool is_logarithmic_ = true;    // values are compared as in change_points.cc
  std::vector<double> compared_;  // of each point
  Sorted values_;
  Sorted differences_;  // of neighbours
  Sorted errors_;       // of points that have one
};

}  // namespace chokepoint::trends
