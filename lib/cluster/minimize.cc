// SPDX-License-Identifier: Apache-2.0
#include "cluster/minimize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace plumber {
namespace {

constexpr int kRestarts = 3;

struct Search {
  int steps;          // of one simplex
  double first_step;  // variables are logarithms or of order 1
  double converged;   // relative
};
constexpr Search kFar{600, 0.5, 1e-10};
constexpr Search kNear{150, 0.05, 1e-6};

struct Vertex {
  std::vector<double> x;
  double value = 0;
};

std::vector<double> along(const std::vector<double>& from, const std::vector<double>& to,
                          double share) {
  std::vector<double> x = from;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += share * (to[i] - from[i]);
  return x;
}

std::vector<double> centre_of(const std::vector<Vertex>& simplex) {
  std::vector<double> centre(simplex[0].x.size(), 0);
  const std::size_t others = simplex.size() - 1;
  for (std::size_t v = 0; v < others; ++v) {
    for (std::size_t i = 0; i < centre.size(); ++i) {
      centre[i] += simplex[v].x[i] / static_cast<double>(others);
    }
  }
  return centre;
}

void shrink(std::vector<Vertex>& simplex, const Objective& objective) {
  for (std::size_t v = 1; v < simplex.size(); ++v) {
    simplex[v].x = along(simplex[0].x, simplex[v].x, 0.5);
    simplex[v].value = objective(simplex[v].x);
  }
}

// Replaces the worst vertex, which is the last.
void step(std::vector<Vertex>& simplex, const Objective& objective) {
  const std::vector<double> centre = centre_of(simplex);
  Vertex& worst = simplex.back();
  const auto at = [&](double share) {
    Vertex vertex{along(centre, worst.x, share), 0};
    vertex.value = objective(vertex.x);
    return vertex;
  };
  const Vertex reflected = at(-1);
  if (reflected.value < simplex[0].value) {
    const Vertex farther = at(-2);
    worst = farther.value < reflected.value ? farther : reflected;
  } else if (reflected.value < simplex[simplex.size() - 2].value) {
    worst = reflected;
  } else {
    const Vertex nearer = at(reflected.value < worst.value ? -0.5 : 0.5);
    if (nearer.value < std::min(worst.value, reflected.value)) {
      worst = nearer;
    } else {
      shrink(simplex, objective);
    }
  }
}

Vertex descend(const Objective& objective, const std::vector<double>& start, const Search& search) {
  std::vector<Vertex> simplex(start.size() + 1, {start, objective(start)});
  for (std::size_t i = 0; i < start.size(); ++i) {
    simplex[i + 1].x[i] += search.first_step;
    simplex[i + 1].value = objective(simplex[i + 1].x);
  }
  const auto by_value = [](const Vertex& a, const Vertex& b) { return a.value < b.value; };
  for (int i = 0; i < search.steps; ++i) {
    std::stable_sort(simplex.begin(), simplex.end(), by_value);
    if (simplex.back().value - simplex[0].value <= search.converged * std::abs(simplex[0].value))
      break;
    step(simplex, objective);
  }
  return *std::min_element(simplex.begin(), simplex.end(), by_value);
}

}  // namespace

std::vector<double> minimize(const Objective& objective, const std::vector<double>& start) {
  Vertex best = descend(objective, start, kFar);
  for (int i = 0; i < kRestarts; ++i) {
    const Vertex next = descend(objective, best.x, kFar);
    const bool done = next.value >= best.value * (1 - 1e-6);
    if (next.value < best.value) best = next;
    if (done) break;
  }
  return best.x;
}

std::vector<double> minimize_near(const Objective& objective, const std::vector<double>& start) {
  return descend(objective, start, kNear).x;
}

}  // namespace plumber
