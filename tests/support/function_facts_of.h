// SPDX-License-Identifier: Apache-2.0
// What functions of a kind reach, for pipelines written by hand.
#pragma once

#include "pipeline/pipeline.h"

namespace plumber {

inline FunctionFacts random_facts() {
  FunctionFacts facts;
  facts.random = {"RandomUniform"};
  return facts;
}

inline FunctionFacts python_facts() {
  FunctionFacts facts;
  facts.python = {"PyFunc"};
  return facts;
}

}  // namespace plumber
