// SPDX-License-Identifier: Apache-2.0
// Catch2 version 2 (Debian 12) or 3 (Ubuntu 24.04) under one include and one spelling of what
// differs: Approx, Catch::Contains.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#include <string>
using Catch::Approx;
namespace Catch {
inline auto Contains(const std::string& text) { return Matchers::ContainsSubstring(text); }
}  // namespace Catch
#else
#include <catch2/catch.hpp>
#endif
