//===- LinearMap.h - linear maps over bits ----------------------*- C++ -*-===//
//
// A map from n input bits to m output bits in which the image of an index is
// the XOR of the images of its set bits (a matrix over GF(2), kept as its
// columns).  Instruction layouts and XOR swizzles are both of this kind.
//
//   basis {1, 8, 2}:  map(0b101) = 1 ^ 2 = 3
//
// Invariant: every basis vector fits into outBits.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LAYOUT_LINEARMAP_H
#define ATTN_LAYOUT_LINEARMAP_H

#include <cstdint>
#include <optional>
#include <vector>

namespace attn::layout {

class LinearMap {
public:
  LinearMap() = default;
  /// basis[i] is the image of input bit i.  At most 32 bits on each side; a
  /// basis vector that does not fit gives nothing.
  static std::optional<LinearMap> make(std::vector<uint32_t> basis,
                                       unsigned outBits);
  static LinearMap identity(unsigned bits);

  unsigned inBits() const { return static_cast<unsigned>(basis.size()); }
  unsigned outBits() const { return numOutBits; }
  const std::vector<uint32_t> &getBasis() const { return basis; }

  /// Bits of `index` above inBits are ignored.
  uint32_t apply(uint32_t index) const;

  /// x -> outer(this(x)).  Nothing if the bit counts do not fit together.
  std::optional<LinearMap> then(const LinearMap &outer) const;

  /// Dimension of the image.
  unsigned rank() const;
  bool isBijective() const;
  /// Nothing if the map is not a bijection.
  std::optional<LinearMap> inverse() const;

  bool operator==(const LinearMap &o) const {
    return numOutBits == o.numOutBits && basis == o.basis;
  }
  bool operator!=(const LinearMap &o) const { return !(*this == o); }

private:
  std::vector<uint32_t> basis;
  unsigned numOutBits = 0;
};

} // namespace attn::layout

#endif // ATTN_LAYOUT_LINEARMAP_H
