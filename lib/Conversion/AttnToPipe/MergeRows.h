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

/// Takes the rows of a record in turns; the role that can hold those of one.
mlir::FailureOr<pipe::RoleAttr> takeRowsInTurns(ForMergeOp merge);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_ATTNTOPIPE_MERGEROWS_H
