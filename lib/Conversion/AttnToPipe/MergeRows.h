//===- MergeRows.h - merge records in turns of few rows ---------*- C++ -*-===//
//
// See MergeRows.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_ATTNTOPIPE_MERGEROWS_H
#define ATTN_LIB_CONVERSION_ATTNTOPIPE_MERGEROWS_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"

namespace attn {

/// The role that runs a merge kernel.
pipe::RoleAttr mergeRole(mlir::MLIRContext *context);

/// Takes the rows of a record, whose work is `record`, in turns.
void takeRowsInTurns(mlir::Block *record);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_ATTNTOPIPE_MERGEROWS_H
