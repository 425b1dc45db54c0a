//===- Attn.td - umbrella -------------------------------------------------===//
include "AttnTileOps.td"
