//===- Version.h - version numbers of the binary contracts ------*- C99 -*-===//
//
// One number a contract.  A reader refuses a number that it does not know; it
// never guesses.  Raise the number in the commit that changes the layout.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_ABI_VERSION_H
#define ATTN_ABI_VERSION_H

/* Bundle file: header, FlatBuffers schema, kernel parameter fields. */
#define ATTN_ABI_VERSION 3
/* Postfix encoding of hooks (HookExpr.h). */
#define ATTN_HOOK_EXPR_VERSION 1

#endif /* ATTN_ABI_VERSION_H */
