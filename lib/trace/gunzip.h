// SPDX-License-Identifier: Apache-2.0
// Gzip undone: RFC 1952, of one member or several one after the other, as `cat a.gz b.gz` makes
// them and as writers that compress in blocks do. The only file beside its .cc that knows zlib.
#pragma once

#include <string>

namespace plumber {

/// The plain bytes of gzip; other bytes as they are. `name` is what messages call them. Throws
/// Error(kInput) if the stream is damaged, ends too early, or is more than a trace can be.
std::string gunzip_if_needed(const std::string& name, std::string bytes);

}  // namespace plumber
