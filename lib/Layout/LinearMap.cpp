//===- LinearMap.cpp - linear maps over bits ------------------------------===//

#include "attn/Layout/LinearMap.h"

#include <utility>

using namespace attn::layout;

static bool fits(uint32_t value, unsigned bits) {
  return bits >= 32 || (value >> bits) == 0;
}

std::optional<LinearMap> LinearMap::make(std::vector<uint32_t> basis,
                                         unsigned outBits) {
  if (basis.size() > 32 || outBits > 32)
    return std::nullopt;
  for (uint32_t v : basis)
    if (!fits(v, outBits))
      return std::nullopt;
  LinearMap map;
  map.basis = std::move(basis);
  map.numOutBits = outBits;
  return map;
}

LinearMap LinearMap::identity(unsigned bits) {
  LinearMap map;
  for (unsigned i = 0; i < bits && i < 32; ++i)
    map.basis.push_back(1u << i);
  map.numOutBits = map.inBits();
  return map;
}

uint32_t LinearMap::apply(uint32_t index) const {
  uint32_t image = 0;
  for (unsigned i = 0; i < inBits(); ++i)
    if ((index >> i) & 1)
      image ^= basis[i];
  return image;
}

std::optional<LinearMap> LinearMap::then(const LinearMap &outer) const {
  if (numOutBits != outer.inBits())
    return std::nullopt;
  LinearMap map;
  for (uint32_t v : basis)
    map.basis.push_back(outer.apply(v));
  map.numOutBits = outer.numOutBits;
  return map;
}

unsigned LinearMap::rank() const {
  std::vector<uint32_t> rows = basis;
  unsigned rank = 0;
  for (unsigned bit = 0; bit < numOutBits && rank < rows.size(); ++bit) {
    unsigned pivot = rank;
    while (pivot < rows.size() && !((rows[pivot] >> bit) & 1))
      ++pivot;
    if (pivot == rows.size())
      continue;
    std::swap(rows[rank], rows[pivot]);
    for (unsigned i = 0; i < rows.size(); ++i)
      if (i != rank && ((rows[i] >> bit) & 1))
        rows[i] ^= rows[rank];
    ++rank;
  }
  return rank;
}

bool LinearMap::isBijective() const {
  return inBits() == numOutBits && rank() == numOutBits;
}

std::optional<LinearMap> LinearMap::inverse() const {
  if (inBits() != numOutBits)
    return std::nullopt;
  // Gauss-Jordan on the pairs (image, preimage): the images become unit
  // vectors, the preimages the columns of the inverse.
  unsigned n = numOutBits;
  std::vector<uint32_t> image = basis;
  std::vector<uint32_t> preimage = identity(n).basis;
  for (unsigned bit = 0; bit < n; ++bit) {
    unsigned pivot = bit;
    while (pivot < n && !((image[pivot] >> bit) & 1))
      ++pivot;
    if (pivot == n)
      return std::nullopt;
    std::swap(image[bit], image[pivot]);
    std::swap(preimage[bit], preimage[pivot]);
    for (unsigned i = 0; i < n; ++i)
      if (i != bit && ((image[i] >> bit) & 1)) {
        image[i] ^= image[bit];
        preimage[i] ^= preimage[bit];
      }
  }
  LinearMap map;
  map.basis = std::move(preimage);
  map.numOutBits = n;
  return map;
}
