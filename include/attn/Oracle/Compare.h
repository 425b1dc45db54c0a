//===- Compare.h - the one tolerance rule -----------------------*- C++ -*-===//
//
// Decides whether results agree with the oracle:
//
//   whole tensor   |out - ref| / |ref| <= 1e-5 / 6e-4 / 4e-3 (f32/f16/bf16)
//   each row       |out - ref| <= 5 x that x max(|ref row|, 1e-3 rms V)
//   LSE            |lse - ref| <= 1e-5 + 2e-6 max|s|
//   empty rows     exact
//
//   NaN rows       a row of NaN in the reference is one in the result
//
// Of the difference of two elements, half the least step of the output's type is
// free: 1e-9 stored as f16 is 0, and that is right.
//
// Invariant: NaN or infinity where the reference is finite is never ok.  Other rows
// whose reference is not finite are skipped and counted.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_ORACLE_COMPARE_H
#define ATTN_ORACLE_COMPARE_H

#include "attn/Oracle/Attention.h"

namespace attn::oracle {

/// Whole-tensor tolerance for inputs and output of these types: the wider one.
double toleranceOf(Element input, Element output);

struct Comparison {
  bool ok = true;
  double tensorError = 0; // |out - ref| / |ref|, rows with a finite reference
  double tensorLimit = 0;
  double rowError = 0; // worst |out - ref| / max(|ref row|, 1e-3 rms V)
  double rowLimit = 0;
  int64_t worstRow = -1; // index into Reference::rows
  double lseError = 0;   // |lse - ref| of the row nearest to or over its limit
  double lseLimit = 0;
  int64_t worstLseRow = -1;
  int64_t wrongEmptyRows = 0;
  int64_t nanRows = 0;     // all of the reference's row is NaN
  int64_t skippedRows = 0; // not finite in another way
  std::string message;     // what failed, with the numbers; empty if ok
};

/// `o` holds [rows][dimV] and `lse` [rows] (null: not compared), in the order
/// of ref.rows; `o` was stored as `output`.
Comparison compare(const Reference &ref, const float *o, const float *lse,
                   double tolerance, Element output = Element::F32);

} // namespace attn::oracle

#endif // ATTN_ORACLE_COMPARE_H
