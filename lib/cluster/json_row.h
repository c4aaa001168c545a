// SPDX-License-Identifier: Apache-2.0
// An object of a JSON document as a row of a table, so that tables and documents are read alike.
#pragma once

#include "base/json_member.h"
#include "cluster/table_file.h"

namespace plumber {

/// The members of an object as the cells of a row; nested ones are left out. Places cost a scan of
/// the document each: only for a row that is known to be refused.
TableRow row_of(const JsonMember& object, bool with_places);

}  // namespace plumber
