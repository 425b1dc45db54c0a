//===- LdmatrixTest.cpp - emulated loads give the MMA operands ------------===//
//
// A shared tile whose elements are their own coordinates is written through the
// swizzle; ldmatrix is emulated on the bytes from the addresses that Ldmatrix
// names; the registers must hold what the operand's layout says.
//
//===----------------------------------------------------------------------===//

#include "attn/Layout/Ldmatrix.h"
#include "attn/Layout/Swizzle.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

using namespace attn::layout;

namespace {

using Bytes = std::vector<unsigned char>;

/// ldmatrix.sync.aligned.m8n8.x4[.trans].shared.b16 of one warp, by the PTX
/// manual: lanes 8i .. 8i+7 address the rows of matrix i, lane l receives row
/// l/4, elements 2(l%4) and 2(l%4)+1 (trans: column l/4, those rows).
void emulate(const Bytes &memory, const std::array<unsigned, 32> &address,
             bool trans, std::array<std::array<uint32_t, 4>, 32> &result) {
  auto element = [&](unsigned matrix, unsigned row, unsigned col) {
    uint16_t value;
    std::memcpy(&value, &memory[address[8 * matrix + row] + 2 * col], 2);
    return static_cast<uint32_t>(value);
  };
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      unsigned line = lane / 4, pair = lane % 4 * 2;
      uint32_t low = trans ? element(i, pair, line) : element(i, line, pair);
      uint32_t high =
          trans ? element(i, pair + 1, line) : element(i, line, pair + 1);
      result[lane][i] = low | high << 16;
    }
}

/// The shared tile is the operand or, for B from a K ring, its transpose.
void check(MmaOperand operand, unsigned rows, unsigned cols, unsigned warps,
           unsigned swizzle) {
  std::string error;
  bool isA = operand == MmaOperand::A;
  auto layout = Layout::make(isA ? "mma_a" : "mma_b", rows, cols, warps, error);
  ASSERT_TRUE(layout) << error;
  auto loads = Ldmatrix::make(*layout, operand, error);
  ASSERT_TRUE(loads) << error;
  bool transposedTile = operand == MmaOperand::BFromNK;
  unsigned tileRows = transposedTile ? cols : rows;
  unsigned tileCols = transposedTile ? rows : cols;
  auto shared = Swizzle::make(tileRows, tileCols, 2, swizzle, error);
  ASSERT_TRUE(shared) << error;

  // Element (row, col) of the operand holds row * cols + col.
  ASSERT_LE(rows * cols, 1u << 16);
  Bytes memory(shared->bytes());
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned col = 0; col < cols; ++col) {
      uint16_t value = static_cast<uint16_t>(row * cols + col);
      unsigned offset = transposedTile ? shared->byteOffset(col, row)
                                       : shared->byteOffset(row, col);
      std::memcpy(&memory[offset], &value, 2);
    }

  ASSERT_EQ(loads->loads() * 4, layout->machineRegistersPerThread());
  for (unsigned warp = 0; warp < warps; ++warp)
    for (unsigned j = 0; j < loads->loads(); ++j) {
      std::array<unsigned, 32> address;
      for (unsigned lane = 0; lane < 32; ++lane) {
        Coord at = loads->address(warp * 32 + lane, j);
        ASSERT_LT(at.row, tileRows);
        ASSERT_LT(at.col, tileCols);
        address[lane] = shared->byteOffset(at);
        ASSERT_EQ(address[lane] % 16, 0u);
      }
      std::array<std::array<uint32_t, 4>, 32> result;
      emulate(memory, address, loads->isTransposed(), result);
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned half = 0; half < 8; ++half) {
          unsigned reg = 8 * j + half;
          Coord want = layout->coord(warp * 32 + lane, reg);
          uint32_t got = result[lane][half / 2] >> (half % 2 * 16) & 0xffff;
          ASSERT_EQ(got, want.row * cols + want.col)
              << "warp " << warp << " lane " << lane << " register " << reg;
        }
    }
}

} // namespace

TEST(Ldmatrix, OperandA) {
  check(MmaOperand::A, 128, 128, 8, 128);
  check(MmaOperand::A, 128, 64, 8, 128);
  check(MmaOperand::A, 128, 64, 2, 128); // four grid rows
  check(MmaOperand::A, 64, 96, 4, 64);
  check(MmaOperand::A, 16, 16, 1, 32);
  check(MmaOperand::A, 32, 48, 1, 0);
}

TEST(Ldmatrix, OperandBFromKRing) {
  check(MmaOperand::BFromNK, 128, 64, 8, 128); // d 128, 64 keys
  check(MmaOperand::BFromNK, 64, 128, 4, 128);
  check(MmaOperand::BFromNK, 32, 48, 1, 64);
  check(MmaOperand::BFromNK, 16, 16, 1, 32);
}

TEST(Ldmatrix, OperandBFromVRing) {
  check(MmaOperand::BFromKN, 64, 128, 8, 128); // 64 keys, dv 128
  check(MmaOperand::BFromKN, 128, 64, 4, 128);
  check(MmaOperand::BFromKN, 48, 32, 1, 64);
  check(MmaOperand::BFromKN, 16, 16, 1, 32);
}

TEST(Ldmatrix, StepsNameTheAtomsOfAKStep) {
  std::string error;
  auto a = Layout::make("mma_a", 64, 64, 2, error);
  auto la = Ldmatrix::make(*a, MmaOperand::A, error);
  ASSERT_TRUE(la) << error;
  EXPECT_EQ(la->loadsPerStep(), 2u);
  for (unsigned k = 0; k < 4; ++k)
    for (unsigned i = 0; i < 2; ++i)
      EXPECT_EQ(8 * la->loadOf(k, i), a->gridRegister(i, k));
  auto b = Layout::make("mma_b", 64, 128, 2, error);
  auto lb = Ldmatrix::make(*b, MmaOperand::BFromKN, error);
  ASSERT_TRUE(lb) << error;
  EXPECT_EQ(lb->loadsPerStep(), 8u);
  for (unsigned k = 0; k < 4; ++k)
    for (unsigned i = 0; i < 8; ++i)
      EXPECT_EQ(8 * lb->loadOf(k, i), b->gridRegister(k, 2 * i));
}

TEST(Ldmatrix, Errors) {
  std::string error;
  auto a = Layout::make("mma_a", 16, 16, 1, error);
  auto b = Layout::make("mma_b", 16, 24, 1, error);
  auto column = Layout::make("mma_a", 32, 32, 1, error, GridOrder::ColMajor);
  ASSERT_TRUE(a && b && column);
  EXPECT_FALSE(Ldmatrix::make(*a, MmaOperand::BFromNK, error));
  EXPECT_EQ(error, "ldmatrix of operand b needs layout mma_b but got mma_a");
  EXPECT_FALSE(Ldmatrix::make(*b, MmaOperand::A, error));
  EXPECT_EQ(error, "ldmatrix of operand a needs layout mma_a but got mma_b");
  EXPECT_FALSE(Ldmatrix::make(*column, MmaOperand::A, error));
  EXPECT_EQ(error,
            "ldmatrix needs a row-major grid but got a column-major one");
  EXPECT_FALSE(Ldmatrix::make(*b, MmaOperand::BFromKN, error));
  EXPECT_EQ(error, "ldmatrix of operand b needs a multiple of 16 columns but "
                   "the tile has 24");
}
