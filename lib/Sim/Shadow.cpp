//===- Shadow.cpp - who wrote and who read a place of memory --------------===//
//
// Neighbouring granules mostly have the same history, so a check is skipped where
// the writer is the one just checked.
//
//===----------------------------------------------------------------------===//

#include "Shadow.h"

using namespace attn::sim;

Shadow::Shadow(size_t bytes)
    : fine(bytes / 16 + 1), index(bytes / 4 + 4), granules(bytes / 16 + 1) {
  for (size_t i = 0; i < index.size(); ++i)
    index[i] = uint32_t(std::min(i / 4, granules.size() - 1));
}

void Shadow::makeFine(size_t begin, size_t end) {
  for (size_t block = begin / 16; block * 16 < end; ++block) {
    if (block >= fine.size() || fine[block])
      continue;
    fine[block] = true;
    for (size_t i = 1; i < 4; ++i) {
      index[block * 4 + i] = uint32_t(granules.size());
      granules.emplace_back();
    }
  }
}

bool Shadow::checkWriter(const Access &writer, const Access &by,
                         const Order &order, Conflict::Kind &kind) {
  if (!order.covers(writer.actor, writer.step))
    return false;
  if (by.async && !writer.async && order.async[writer.actor] < writer.step) {
    kind = Conflict::Fence;
    return false;
  }
  return true;
}

std::optional<Conflict> Shadow::read(size_t begin, size_t bytes,
                                     const Access &by, const Order &order) {
  Access checked;
  for (size_t byte = begin, end = begin + bytes; byte < end;) {
    Granule &granule = at(byte);
    if (granule.writers.empty())
      return Conflict{Conflict::Unwritten, {}, byte};
    for (const Access &writer : granule.writers) {
      if (checked.op == writer.op && checked.step == writer.step &&
          checked.actor == writer.actor && checked.op)
        continue;
      Conflict::Kind kind = Conflict::ReadWrite;
      if (!checkWriter(writer, by, order, kind))
        return Conflict{kind, writer, byte};
      checked = writer;
    }
    bool found = false;
    for (Access &reader : granule.readers)
      if (reader.actor == by.actor) {
        reader = by;
        found = true;
        break;
      }
    if (!found)
      granule.readers.push_back(by);
    size_t step = stepFrom(byte);
    byte = (byte / step + 1) * step;
  }
  return std::nullopt;
}

std::optional<Conflict> Shadow::write(size_t begin, size_t bytes,
                                      const Access &by, const Order &order,
                                      bool same) {
  for (size_t byte = begin, end = begin + bytes; byte < end;) {
    Granule &granule = at(byte);
    bool together = false;
    for (const Access &reader : granule.readers)
      if (!order.covers(reader.actor, reader.step))
        return Conflict{Conflict::WriteRead, reader, byte};
    for (const Access &writer : granule.writers) {
      Conflict::Kind kind = Conflict::WriteWrite;
      if (checkWriter(writer, by, order, kind))
        continue;
      // The same value by the same op of another warp.
      if (same && kind == Conflict::WriteWrite && writer.op == by.op) {
        together = true;
        continue;
      }
      return Conflict{kind, writer, byte};
    }
    if (!together)
      granule.writers.clear();
    granule.readers.clear();
    granule.writers.push_back(by);
    size_t step = stepFrom(byte);
    byte = (byte / step + 1) * step;
  }
  return std::nullopt;
}
