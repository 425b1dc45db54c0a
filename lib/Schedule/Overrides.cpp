//===- Overrides.cpp - field=value over a schedule ------------------------===//
//
//   tile_k=32,softmax=exact,channels.k=3,skew.load_kv=-1,roles=all:4
//
// One table of setters for the attention part and one for the pipe part; the
// list of legal fields in an error is made from the same tables.
//
// With roles two things follow from the tile, unless they are named themselves:
// atoms.qk from tile_k, and the replicas of compute with all registers from
// tile_q.  One role named in place of several (roles=all:4) brings all that such a schedule
// has: its place, agents, atoms, skew and order, v_tail and redo.  limit is 8 with softmax = lazy, a factor of 256; exp2_fma is 0 with a softmax
// that has no frozen loop, and pack 1 where the group does not fit a tile_q that is
// named.
//
// Invariant: a field that is not named, and does not follow from one that is, keeps its
// value; the result satisfies the attributes' own verifiers.
//
//===----------------------------------------------------------------------===//

#include "Shapes.h"
#include "Wgmma.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "attn/Schedule/Schedule.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace attn;

namespace {

/// The fields of both attributes, free to be changed one by one.
struct Fields {
  explicit Fields(ScheduleAttr s)
      : builder(s.getContext()), tileQ(s.getTileQ()), tileK(s.getTileK()),
        pack(s.getPack()), limit(s.getLimit()), exp2Fma(s.getExp2Fma()),
        kvOrder(s.getKvOrder()), softmax(s.getSoftmax()), redo(s.getRedo()),
        foldScale(s.getFoldScale()), pType(s.getPType()), vTail(s.getVTail()),
        merge(s.getMerge()), epilogue(s.getEpilogue()), pipe(s.getPipe()) {
    if (auto p = dyn_cast<pipe::ScheduleAttr>(pipe))
      take(p);
  }

  void take(pipe::ScheduleAttr p) {
    roles = p.getRoles();
    maps = {{"place", p.getPlace()},
            {"agents", p.getAgents()},
            {"atoms", p.getAtoms()},
            {"channels", p.getChannels()},
            {"skew", p.getSkew()}};
    handover = p.getHandover();
    persist = p.getPersist();
    unroll = p.getUnroll();
  }

  /// All that a schedule of this one role has, in place of several roles.
  void takeOneRole(pipe::RoleAttr role) {
    take(
        oneRole(builder, {role.getWarps() * role.getReplicas(), tileQ, tileK}));
    maps["place"] = builder.getDictionaryAttr(
        builder.getNamedAttr("default", role.getName()));
    vTail = builder.getStringAttr("zero_fill");
    redo = Redo::Item;
  }

  bool hasPipe() const { return isa<pipe::ScheduleAttr>(pipe); }

  Builder builder;
  int32_t tileQ, tileK, pack, limit, exp2Fma;
  KVOrder kvOrder;
  SoftmaxKind softmax;
  Redo redo;
  bool foldScale;
  Type pType;
  StringAttr vTail, merge, epilogue;
  Attribute pipe;

  ArrayAttr roles;
  llvm::StringMap<DictionaryAttr> maps;
  StringAttr handover, persist;
  int32_t unroll = 1;
};

/// False with what the value should have been.
using Setter = bool (*)(Fields &, StringRef value, std::string &expected);

struct Field {
  StringRef name;
  Setter set;
};

bool toInt(StringRef value, int32_t &out, std::string &expected) {
  expected = "an integer";
  return !value.getAsInteger(10, out);
}

template <int32_t Fields::*member>
bool setInt(Fields &f, StringRef value, std::string &expected) {
  return toInt(value, f.*member, expected);
}

template <StringAttr Fields::*member>
bool setText(Fields &f, StringRef value, std::string &expected) {
  expected = "a name";
  f.*member = f.builder.getStringAttr(value);
  return !value.empty();
}

bool setOrder(Fields &f, StringRef value, std::string &expected) {
  expected = "descending or ascending";
  std::optional<KVOrder> order = symbolizeKVOrder(value);
  f.kvOrder = order.value_or(f.kvOrder);
  return order.has_value();
}

bool setSoftmax(Fields &f, StringRef value, std::string &expected) {
  expected = "exact, frozen or lazy";
  std::optional<SoftmaxKind> kind = symbolizeSoftmaxKind(value);
  f.softmax = kind.value_or(f.softmax);
  return kind.has_value();
}

bool setRedo(Fields &f, StringRef value, std::string &expected) {
  expected = "item or visit";
  std::optional<Redo> redo = symbolizeRedo(value);
  f.redo = redo.value_or(f.redo);
  return redo.has_value();
}

bool setFold(Fields &f, StringRef value, std::string &expected) {
  expected = "true or false";
  f.foldScale = value == "true";
  return value == "true" || value == "false";
}

bool setPType(Fields &f, StringRef value, std::string &expected) {
  expected = "f16, bf16 or f32";
  if (value == "f16")
    f.pType = f.builder.getF16Type();
  else if (value == "bf16")
    f.pType = f.builder.getBF16Type();
  else if (value == "f32")
    f.pType = f.builder.getF32Type();
  else
    return false;
  return true;
}

constexpr Field attentionFields[] = {
    {"tile_q", setInt<&Fields::tileQ>},
    {"tile_k", setInt<&Fields::tileK>},
    {"pack", setInt<&Fields::pack>},
    {"kv_order", setOrder},
    {"softmax", setSoftmax},
    {"limit", setInt<&Fields::limit>},
    {"redo", setRedo},
    {"exp2_fma", setInt<&Fields::exp2Fma>},
    {"fold_scale", setFold},
    {"p_type", setPType},
    {"v_tail", setText<&Fields::vTail>},
    {"merge", setText<&Fields::merge>},
    {"epilogue", setText<&Fields::epilogue>},
};

/// name:warps[:replicas[:regs]], joined by '+'.
bool setRoles(Fields &f, StringRef value, std::string &expected) {
  expected = "name:warps[:replicas[:regs]] joined by '+'";
  SmallVector<Attribute> roles;
  for (StringRef text : llvm::split(value, '+')) {
    SmallVector<StringRef> parts;
    text.split(parts, ':');
    int32_t numbers[3] = {0, 1, 0}; // warps, replicas, registers
    if (parts.size() < 2 || parts.size() > 4 || parts[0].empty())
      return false;
    for (size_t i = 1; i < parts.size(); ++i)
      if (parts[i].getAsInteger(10, numbers[i - 1]))
        return false;
    std::string why;
    ScopedDiagnosticHandler handler(f.builder.getContext(), [&](Diagnostic &d) {
      why = d.str();
      return success();
    });
    auto role = pipe::RoleAttr::getChecked(
        [&] { return emitError(f.builder.getUnknownLoc()); },
        f.builder.getContext(), f.builder.getStringAttr(parts[0]), numbers[0],
        numbers[1], numbers[2]);
    if (!role) {
      expected = "a role: " + why;
      return false;
    }
    roles.push_back(role);
  }
  if (roles.size() == 1 && f.roles.size() > 1)
    f.takeOneRole(cast<pipe::RoleAttr>(roles[0]));
  f.roles = f.builder.getArrayAttr(roles);
  return true;
}

constexpr Field pipeFields[] = {
    {"roles", setRoles},
    {"handover", setText<&Fields::handover>},
    {"persist", setText<&Fields::persist>},
    {"unroll", setInt<&Fields::unroll>},
};

/// Fields of the pipe part that map names to values.
constexpr StringRef textMaps[] = {"place", "agents", "atoms"};
constexpr StringRef numberMaps[] = {"channels", "skew"};

bool setEntry(Fields &f, StringRef map, StringRef key, StringRef value,
              std::string &expected) {
  Attribute attr;
  if (llvm::is_contained(numberMaps, map)) {
    int32_t number;
    if (!toInt(value, number, expected))
      return false;
    attr = f.builder.getI32IntegerAttr(number);
  } else {
    expected = "a name";
    if (value.empty())
      return false;
    attr = f.builder.getStringAttr(value);
  }
  NamedAttrList entries(f.maps.lookup(map));
  entries.set(key, attr);
  f.maps[map] = entries.getDictionary(f.builder.getContext());
  return true;
}

std::string legalFields(bool withPipe) {
  SmallVector<std::string> names;
  for (const Field &field : attentionFields)
    names.push_back(field.name.str());
  if (withPipe) {
    for (const Field &field : pipeFields)
      names.push_back(field.name.str());
    for (StringRef map : textMaps)
      names.push_back((map + ".<name>").str());
    for (StringRef map : numberMaps)
      names.push_back((map + ".<name>").str());
  }
  return llvm::join(names, ", ");
}

bool apply(Fields &f, StringRef name, StringRef value, std::string &error) {
  std::string expected;
  auto wrong = [&] {
    error = ("schedule field " + name + ": '" + value + "' is not " + expected)
                .str();
    return false;
  };
  for (const Field &field : attentionFields)
    if (field.name == name)
      return field.set(f, value, expected) || wrong();
  if (f.hasPipe()) {
    StringRef inner = name;
    inner.consume_front("pipe.");
    for (const Field &field : pipeFields)
      if (field.name == inner)
        return field.set(f, value, expected) || wrong();
    auto [map, key] = inner.split('.');
    if (!key.empty() && (llvm::is_contained(textMaps, map) ||
                         llvm::is_contained(numberMaps, map)))
      return setEntry(f, map, key, value, expected) || wrong();
  }
  error = ("unknown schedule field '" + name +
           "' (fields: " + legalFields(f.hasPipe()) + ")")
              .str();
  return false;
}

/// A row keeps a lazy reference up to weights of 2^8.
constexpr int32_t lazyThreshold = 8;

/// Sets what follows from the tile and is not in `named`.
void follow(Fields &f, const llvm::StringSet<> &named) {
  if (named.contains("softmax") && !named.contains("exp2_fma") &&
      f.softmax != SoftmaxKind::Frozen)
    f.exp2Fma = 0;
  if (named.contains("softmax") && !named.contains("redo") &&
      f.softmax != SoftmaxKind::Frozen)
    f.redo = Redo::Item;
  if (named.contains("softmax") && !named.contains("limit") &&
      f.softmax == SoftmaxKind::Lazy)
    f.limit = lazyThreshold;
  bool roles = f.hasPipe() && f.roles.size() > 1;
  if (named.contains("tile_q") && !named.contains("pack") && f.pack > 0 &&
      (roles ? f.tileQ % f.pack != 0 : f.pack > f.tileQ))
    f.pack = 1;
  if (!roles)
    return;
  if (named.contains("tile_k") && !named.contains("atoms.qk")) {
    NamedAttrList atoms(f.maps["atoms"]);
    atoms.set("qk", f.builder.getStringAttr(wgmmaAtom(f.tileK)));
    f.maps["atoms"] = atoms.getDictionary(f.builder.getContext());
  }
  int32_t replicas = f.tileQ / warpgroupRows;
  if (named.contains("tile_q") && !named.contains("roles") &&
      f.tileQ % warpgroupRows == 0 && replicas >= 1 && replicas <= 7)
    f.roles = wgmmaRoles(f.builder, replicas);
}

/// The attributes' verifiers speak through diagnostics; take their text.
ScheduleAttr rebuild(Fields &f, std::string &error) {
  MLIRContext *context = f.builder.getContext();
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &d) {
    error = d.str();
    return success();
  });
  auto emit = [&] { return emitError(f.builder.getUnknownLoc()); };
  Attribute pipe = f.pipe;
  if (f.hasPipe()) {
    pipe = pipe::ScheduleAttr::getChecked(
        emit, context, f.roles, f.maps["place"], f.maps["agents"],
        f.maps["atoms"], f.maps["channels"], f.maps["skew"], f.handover,
        f.persist, f.unroll);
    if (!pipe)
      return {};
  }
  return ScheduleAttr::getChecked(emit, context, f.tileQ, f.tileK, f.pack,
                                  f.kvOrder, f.softmax, f.limit, f.redo,
                                  f.exp2Fma, f.foldScale, f.pType, f.vTail,
                                  f.merge, f.epilogue, pipe);
}

} // namespace

ScheduleAttr attn::applyOverrides(ScheduleAttr schedule, StringRef text,
                                  std::string &error) {
  Fields fields(schedule);
  SmallVector<std::pair<StringRef, StringRef>> entries;
  llvm::StringSet<> named;
  for (StringRef entry : llvm::split(text, ',')) {
    entry = entry.trim();
    if (entry.empty())
      continue;
    if (!entry.contains('=')) {
      error = ("schedule override '" + entry + "' is not field=value").str();
      return {};
    }
    auto [name, value] = entry.split('=');
    entries.push_back({name.trim(), value.trim()});
    StringRef field = name.trim();
    field.consume_front("pipe.");
    if (!named.insert(field).second) {
      error = ("schedule override '" + entry + "' gives " + field +
               " a second time")
                  .str();
      return {};
    }
  }
  // Other fields may follow from the roles, so these come first.
  llvm::stable_sort(entries, [](const auto &a, const auto &b) {
    return a.first.ends_with("roles") > b.first.ends_with("roles");
  });
  for (auto [name, value] : entries)
    if (!apply(fields, name, value, error))
      return {};
  follow(fields, named);
  return rebuild(fields, error);
}
