// SPDX-License-Identifier: Apache-2.0
// Draws digits: a pen path bent by a random hand, fitted as MNIST fits its digits, then inked by distance.
#include "data/digits.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "data/bit_images.h"
#include "data/digit_shapes.h"
#include "data/watched_loop.h"

namespace filigree::internal {

namespace {

constexpr double kDigitSize = 20.0 / 28;  // the longer side of a digit's box, as in MNIST
constexpr std::size_t kBatch = 1024;      // images between two looks at the stop token
constexpr std::size_t kGrain = 16;

struct Point {
  double x, y;
};
Point operator+(Point a, Point b) {
  return {a.x + b.x, a.y + b.y};
}
Point operator-(Point a, Point b) {
  return {a.x - b.x, a.y - b.y};
}
Point operator*(double s, Point a) {
  return {s * a.x, s * a.y};
}
double dot(Point a, Point b) {
  return a.x * b.x + a.y * b.y;
}

// A straight bit of the pen's way.
struct Segment {
  Point from, to;
  double radius_from, radius_to;
};

// One hand: how a person at this moment bends, slants and inks a shape.
class Hand {
 public:
  explicit Hand(Random& random) {
    const double slant = 0.12 + 0.20 * random.normal();  // most people lean to the right
    const double turn = 0.09 * random.normal();
    const double width = std::exp(0.16 * random.normal());
    across_ = {width * std::cos(turn), width * std::sin(turn)};
    down_ = {-std::sin(turn) - slant * std::cos(turn), std::cos(turn) - slant * std::sin(turn)};
    for (Wave& wave : waves_) {
      const double direction = random.uniform(0, 2 * std::numbers::pi);
      const double frequency = random.uniform(2.5, 6.5);  // of a digit's height: half a wave to one wave
      wave.frequency = {frequency * std::cos(direction), frequency * std::sin(direction)};
      wave.phase = random.uniform(0, 2 * std::numbers::pi);
      const double size = 0.12 / frequency;  // gentle bends may be wide, quick ones only small
      wave.shift = {size * random.normal(), size * random.normal()};
    }
    radius = std::clamp(0.0335 * std::exp(0.36 * random.normal()), 0.016, 0.075);
    pressure = random.uniform(-0.22, 0.22);
  }

  Point bend(Point p) const {
    Point bent = p;
    for (const Wave& wave : waves_) bent = bent + std::sin(dot(wave.frequency, p) + wave.phase) * wave.shift;
    return bent.x * across_ + bent.y * down_;
  }

  double radius;    // of the pen, as a share of the image's side
  double pressure;  // how much thicker a stroke ends than it begins

 private:
  struct Wave {
    Point frequency, shift;
    double phase;
  };
  Point across_, down_;
  std::array<Wave, 3> waves_;
};

// The Catmull-Rom curve through b and c, t from 0 to 1; a and d are their neighbours.
Point curve(Point a, Point b, Point c, Point d, double t) {
  return b + (0.5 * t) * ((c - a) + t * ((2 * a - 5 * b + 4 * c - d) + t * ((3 * b - a) + (d - 3 * c))));
}

// Adds the segments of one stroke, as this hand writes it.
void write_stroke(PenStroke stroke, const Hand& hand, Random& random, std::vector<Segment>& ink) {
  constexpr int kSteps = 6;  // chords between two points; they leave the curve by 0.2 pixels at side 256
  std::array<Point, 16> points;
  assert(stroke.size() <= points.size());
  for (std::size_t i = 0; i < stroke.size(); ++i) {
    if (i > 0 && stroke[i] == stroke[i - 1]) {
      points[i] = points[i - 1];
    } else {
      points[i] = {stroke[i].x + 0.020 * random.normal(), stroke[i].y + 0.020 * random.normal()};
    }
  }
  const auto corner = [&](std::size_t i) { return stroke[i] == stroke[i + 1]; };
  const std::size_t spans = stroke.size() - 1;
  const auto radius_at = [&](double way) {
    return hand.radius * (1 + hand.pressure * (2 * way / spans - 1));
  };
  Point from = hand.bend(points[0]);
  for (std::size_t i = 0; i < spans; ++i) {
    if (corner(i)) continue;
    const Point b = points[i];
    const Point c = points[i + 1];
    const Point a = i == 0 || corner(i - 1) ? b : points[i - 1];
    const Point d = i + 1 == spans || corner(i + 1) ? c : points[i + 2];
    for (int step = 1; step <= kSteps; ++step) {
      const double t = static_cast<double>(step) / kSteps;
      const Point to = hand.bend(curve(a, b, c, d, t));
      const double way = i + t;
      ink.push_back({from, to, radius_at(way - 1.0 / kSteps), radius_at(way)});
      from = to;
    }
  }
}

// Scales the ink's box to kDigitSize and moves its centre of mass to the middle of the unit square.
void fit(std::vector<Segment>& ink, const Hand& hand) {
  constexpr double kFar = std::numeric_limits<double>::max();
  Point low{kFar, kFar};
  Point high{-kFar, -kFar};
  Point moment{0, 0};
  double mass = 0;
  for (const Segment& s : ink) {
    low = {std::min({low.x, s.from.x, s.to.x}), std::min({low.y, s.from.y, s.to.y})};
    high = {std::max({high.x, s.from.x, s.to.x}), std::max({high.y, s.from.y, s.to.y})};
    const double length = std::sqrt(dot(s.to - s.from, s.to - s.from));
    moment = moment + (length / 2) * (s.from + s.to);
    mass += length;
  }
  const double scale = (kDigitSize - 2 * hand.radius) / std::max(high.x - low.x, high.y - low.y);
  const Point centre = (1 / mass) * moment;
  const auto place = [&](Point p) { return Point{0.5, 0.5} + scale * (p - centre); };
  for (Segment& s : ink) {
    s.from = place(s.from);
    s.to = place(s.to);
  }
}

// Darkens the pixels that a segment covers: grey 0.5 lies on its edge, and the edge is one pixel wide.
void draw(const Segment& segment, Index side, std::span<float> grey) {
  const Point from = side * segment.from;
  const Point way = side * (segment.to - segment.from);
  const double radius = side * segment.radius_from;
  const double growth = side * (segment.radius_to - segment.radius_from);
  const double reach = std::max(radius, radius + growth) + 0.5;
  const double shrink = 1 / std::max(dot(way, way), 1e-12);
  const auto pixels = [&](double a, double b) {  // those with their middle within reach of [a, b]
    const double first = std::ceil(std::min(a, b) - reach - 0.5);
    const double last = std::floor(std::max(a, b) + reach - 0.5);
    return std::pair{static_cast<Index>(std::clamp<double>(first, 0, side)),
                     static_cast<Index>(std::clamp<double>(last + 1, 0, side))};
  };
  const auto [left, right] = pixels(from.x, from.x + way.x);
  const auto [top, bottom] = pixels(from.y, from.y + way.y);
  for (Index row = top; row < bottom; ++row) {
    float* line = grey.data() + static_cast<std::size_t>(row) * side;
    for (Index column = left; column < right; ++column) {
      const Point p = Point{column + 0.5, row + 0.5} - from;
      const double t = std::clamp(dot(p, way) * shrink, 0.0, 1.0);
      const Point off = p - t * way;
      const double ink = radius + t * growth - std::sqrt(dot(off, off)) + 0.5;
      line[column] = std::max(line[column], static_cast<float>(std::min(ink, 1.0)));
    }
  }
}

void check_side(Index side) {
  if (side < 8 || side > 256) fail("digits are drawn at a side of 8 to 256 pixels, not {}", side);
}

// The label is the first thing drawn from an image's random numbers.
int draw_label(Random& random) {
  return random.below(10);
}

}  // namespace

std::uint8_t digit_label(std::uint64_t seed, Index image) {
  Random random(seed, image);
  return static_cast<std::uint8_t>(draw_label(random));
}

void draw_digit(std::uint64_t seed, Index image, Index side, std::span<float> grey) {
  check_side(side);
  if (std::cmp_not_equal(grey.size(), side * side)) {
    fail("a digit of side {} has {} pixels, not {}", side, side * side, grey.size());
  }

  Random random(seed, image);
  const auto shapes = digit_shapes(draw_label(random));
  const DigitShape shape = shapes[random.below(shapes.size())];
  const Hand hand(random);
  std::vector<Segment> ink;
  ink.reserve(96);
  for (const PenStroke& stroke : shape) write_stroke(stroke, hand, random, ink);
  fit(ink, hand);
  std::ranges::fill(grey, 0.0f);
  for (const Segment& segment : ink) draw(segment, side, grey);
}

InputRows digit_images(Index count, Index side, std::uint64_t seed, const Observer& observer) {
  check_side(side);
  if (count < 0) fail("cannot draw {} digits", count);
  const std::size_t width = side;
  BitImages bits(count, side);
  const auto draw_all = [&](std::size_t begin, std::size_t end) {
    std::vector<float> grey(width * width);
    for (std::size_t i = begin; i < end; ++i) {
      draw_digit(seed, i, side, grey);
      const auto words = bits.image(i);
      for (std::size_t row = 0; row < width; ++row) {
        for (std::size_t column = 0; column < width; ++column) {
          if (grey[row * width + column] > 0.5f) {
            const std::size_t k = column * width + row;
            words[k / 32] |= std::uint32_t{1} << (k % 32);
          }
        }
      }
    }
  };
  watched_loop(observer, "images", count, kBatch, kGrain, draw_all);
  return rows_of(bits);
}

}  // namespace filigree::internal
