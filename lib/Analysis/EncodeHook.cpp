//===- EncodeHook.cpp - hook region to postfix program --------------------===//
//
// Values are emitted operands first, with a stack of our own, so that a long
// chain in the source does not recurse.  Operations that HookExpr.h lacks are
// spelled by those it has, with both operands in locals:
//
//   remsi a, d  =  m - (m != 0 and (a < 0) != (d < 0) ? d : 0),  m = a mod d
//
//===----------------------------------------------------------------------===//

#include "attn/Analysis/EncodeHook.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

static attn_scalar scalarOf(Type type) {
  if (type.isF32())
    return ATTN_F32;
  return type.isInteger(1) ? ATTN_I1 : ATTN_I32;
}

mask::Signature attn::signatureOf(VariantOp variant) {
  mask::Signature signature;
  for (ParamOp param : variant.getBody().front().getOps<ParamOp>())
    signature.params.push_back(scalarOf(param.getType()));
  for (TableOp table : variant.getBody().front().getOps<TableOp>())
    signature.tables.push_back({scalarOf(table.getType().getElement()),
                                unsigned(table.getType().getIndex().size())});
  return signature;
}

namespace {

class Encoder {
public:
  explicit Encoder(HookOp hook)
      : hook(hook), a(attn_hook_kind(unsigned(hook.getKind()))) {
    VariantOp variant = cast<VariantOp>(hook->getParentOp());
    unsigned params = 0, tables = 0;
    for (ParamOp op : variant.getBody().front().getOps<ParamOp>())
      ordinals[op.getResult()] = params++;
    for (TableOp op : variant.getBody().front().getOps<TableOp>())
      ordinals[op.getResult()] = tables++;
  }

  bool run(std::vector<uint8_t> &bytes, std::string &error) {
    if (!emit(hook.getYielded())) {
      error = failure;
      return false;
    }
    return a.finish(bytes, error);
  }

private:
  bool emit(Value root);
  bool emitLeaf(Value value);
  bool emitOp(Operation *op);
  bool emitCmpI(arith::CmpIOp op);
  bool emitCmpF(arith::CmpFOp op);
  bool emitDivision(Operation *op);
  void emitNaNSpreading(attn_hook_op op);
  bool emitCast(Operation *op);

  bool refuse(Operation *op, const Twine &why) {
    failure = ("'" + op->getName().getStringRef() + "' " + why).str();
    return false;
  }
  bool plain(attn_hook_op op) {
    a.op(op);
    return true;
  }
  /// Pops the two operands into locals (first, second).
  std::pair<unsigned, unsigned> popPair() {
    unsigned second = a.set();
    return {a.set(), second};
  }

  HookOp hook;
  mask::Assembler a;
  llvm::DenseMap<Value, unsigned> ordinals; // of params and tables
  llvm::DenseMap<Value, unsigned> locals;
  std::string failure;
};

} // namespace

/// Arguments, parameters and constants: pushed anew at each use.
bool Encoder::emitLeaf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    static constexpr attn_hook_arg scalarArgs[] = {
        ATTN_ARG_S, ATTN_ARG_B, ATTN_ARG_H, ATTN_ARG_Q, ATTN_ARG_K};
    static constexpr attn_hook_arg vectorArgs[] = {ATTN_ARG_S /* unused */,
                                                   ATTN_ARG_B, ATTN_ARG_H,
                                                   ATTN_ARG_Q, ATTN_ARG_I};
    unsigned number = argument.getArgNumber();
    if (isVectorHook(hook.getKind()))
      a.arg(vectorArgs[number]);
    else // mask and sink have no s
      a.arg(scalarArgs[number + (hook.getKind() != HookKind::Score)]);
    return true;
  }
  if (value.getDefiningOp<ParamOp>()) {
    a.param(ordinals.lookup(value));
    return true;
  }
  if (auto length = value.getDefiningOp<LengthOp>()) {
    a.arg(length.getIsKv() ? ATTN_ARG_KV_LEN : ATTN_ARG_Q_LEN);
    return true;
  }
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return false;
  if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
    a.f32(number.getValue().convertToFloat());
  else if (value.getType().isInteger(1))
    a.i1(cast<IntegerAttr>(constant.getValue()).getValue().getBoolValue());
  else
    a.i32(int32_t(cast<IntegerAttr>(constant.getValue()).getInt()));
  return true;
}

bool Encoder::emit(Value root) {
  struct Frame {
    Operation *op;
    unsigned next;
  };
  std::vector<Frame> frames;
  // Pushes a value that is ready, or a frame for the operation that makes it.
  auto push = [&](Value value) {
    auto it = locals.find(value);
    if (it != locals.end())
      a.get(it->second);
    else if (!emitLeaf(value))
      frames.push_back({value.getDefiningOp(), 0});
  };
  push(root);
  while (!frames.empty()) {
    Frame &frame = frames.back();
    Operation *op = frame.op;
    if (frame.next < op->getNumOperands()) {
      Value operand = op->getOperand(frame.next++);
      bool isSource = isa<TableType>(operand.getType()) ||
                      isa<VectorType>(operand.getType());
      if (!isSource)
        push(operand);
      continue;
    }
    frames.pop_back();
    if (!emitOp(op))
      return false;
    Value result = op->getResult(0);
    if (!result.hasOneUse()) {
      unsigned local = a.set();
      locals[result] = local;
      a.get(local);
    }
  }
  return true;
}

bool Encoder::emitCmpI(arith::CmpIOp op) {
  using P = arith::CmpIPredicate;
  bool isBool = op.getLhs().getType().isInteger(1);
  switch (op.getPredicate()) {
  case P::eq:
    if (isBool) {
      a.op(ATTN_OP_XOR).op(ATTN_OP_NOT);
      return true;
    }
    a.icmp(ATTN_CMP_EQ);
    return true;
  case P::ne:
    if (isBool)
      return plain(ATTN_OP_XOR);
    a.icmp(ATTN_CMP_NE);
    return true;
  case P::slt:
  case P::sle:
  case P::sgt:
  case P::sge:
    break;
  default:
    return refuse(op, "with an unsigned predicate has no encoding; use slt, "
                      "sle, sgt or sge");
  }
  if (isBool)
    return refuse(op, "orders i1 values, which has no encoding");
  a.icmp(op.getPredicate() == P::slt   ? ATTN_CMP_LT
         : op.getPredicate() == P::sle ? ATTN_CMP_LE
         : op.getPredicate() == P::sgt ? ATTN_CMP_GT
                                       : ATTN_CMP_GE);
  return true;
}

bool Encoder::emitCmpF(arith::CmpFOp op) {
  using P = arith::CmpFPredicate;
  auto direct = [&](attn_hook_predicate p) {
    a.fcmp(p);
    return true;
  };
  auto negated = [&](attn_hook_predicate p) {
    a.fcmp(p).op(ATTN_OP_NOT);
    return true;
  };
  switch (op.getPredicate()) {
  case P::OEQ:
    return direct(ATTN_CMP_EQ);
  case P::UNE:
    return direct(ATTN_CMP_NE);
  case P::OLT:
    return direct(ATTN_CMP_LT);
  case P::OLE:
    return direct(ATTN_CMP_LE);
  case P::OGT:
    return direct(ATTN_CMP_GT);
  case P::OGE:
    return direct(ATTN_CMP_GE);
  case P::ULT:
    return negated(ATTN_CMP_GE);
  case P::ULE:
    return negated(ATTN_CMP_GT);
  case P::UGT:
    return negated(ATTN_CMP_LE);
  case P::UGE:
    return negated(ATTN_CMP_LT);
  case P::AlwaysFalse:
  case P::AlwaysTrue:
    (void)popPair();
    a.i1(op.getPredicate() == P::AlwaysTrue);
    return true;
  case P::ONE:
  case P::UEQ:
  case P::ORD:
  case P::UNO:
    break;
  }
  auto [x, y] = popPair();
  bool isOrder = op.getPredicate() == P::ORD || op.getPredicate() == P::UNO;
  if (isOrder) { // neither is NaN
    a.get(x).get(x).fcmp(ATTN_CMP_EQ).get(y).get(y).fcmp(ATTN_CMP_EQ);
    a.op(ATTN_OP_AND);
  } else { // ordered and not equal
    a.get(x).get(y).fcmp(ATTN_CMP_LT).get(x).get(y).fcmp(ATTN_CMP_GT);
    a.op(ATTN_OP_OR);
  }
  if (op.getPredicate() == P::UNO || op.getPredicate() == P::UEQ)
    a.op(ATTN_OP_NOT);
  return true;
}

/// Divisions that round towards zero or up, from the ones that round down.
bool Encoder::emitDivision(Operation *op) {
  auto [x, d] = popPair();
  bool isRemainder = isa<arith::RemSIOp>(op);
  a.get(x).get(d).op(isRemainder ? ATTN_OP_IMOD : ATTN_OP_IFLOORDIV);
  // inexact = x mod d != 0
  a.get(x).get(d).op(ATTN_OP_IMOD).i32(0).icmp(ATTN_CMP_NE);
  if (!isa<arith::CeilDivSIOp>(op)) { // and the signs differ
    a.get(x).i32(0).icmp(ATTN_CMP_LT).get(d).i32(0).icmp(ATTN_CMP_LT);
    a.op(ATTN_OP_XOR).op(ATTN_OP_AND);
  }
  if (isRemainder) {
    a.get(d).i32(0).op(ATTN_OP_SELECT);
    return plain(ATTN_OP_ISUB);
  }
  a.op(ATTN_OP_B2I);
  return plain(ATTN_OP_IADD);
}

/// minimumf and maximumf: NaN if either is NaN.
void Encoder::emitNaNSpreading(attn_hook_op op) {
  auto [x, y] = popPair();
  a.get(x).get(x).fcmp(ATTN_CMP_NE).get(x);
  a.get(y).get(y).fcmp(ATTN_CMP_NE).get(y);
  a.get(x).get(y).op(op);
  a.op(ATTN_OP_SELECT).op(ATTN_OP_SELECT);
}

bool Encoder::emitCast(Operation *op) {
  bool fromBool = op->getOperand(0).getType().isInteger(1);
  bool toBool = op->getResult(0).getType().isInteger(1);
  if (isa<arith::ExtUIOp>(op))
    return plain(ATTN_OP_B2I);
  if (isa<arith::FPToSIOp>(op) && !toBool)
    return plain(ATTN_OP_F2I);
  if (isa<arith::UIToFPOp>(op) && fromBool) {
    a.op(ATTN_OP_B2I);
    return plain(ATTN_OP_I2F);
  }
  if (isa<arith::SIToFPOp>(op) && !fromBool)
    return plain(ATTN_OP_I2F);
  if (isa<arith::ExtSIOp, arith::SIToFPOp>(op)) { // true is -1
    unsigned bit = a.set();
    a.get(bit).i32(-1).i32(0).op(ATTN_OP_SELECT);
    if (isa<arith::SIToFPOp>(op))
      a.op(ATTN_OP_I2F);
    return true;
  }
  if (isa<arith::TruncIOp>(op) && toBool) {
    a.i32(1).op(ATTN_OP_IAND).i32(0).icmp(ATTN_CMP_NE);
    return true;
  }
  return refuse(op, "has no encoding");
}

bool Encoder::emitOp(Operation *op) {
  bool isBool = op->getResult(0).getType().isInteger(1);
  return TypeSwitch<Operation *, bool>(op)
      .Case<ReadOp>([&](ReadOp read) {
        a.table(ordinals.lookup(read.getTable()));
        return true;
      })
      .Case<ElementOp>([&](auto) { return plain(ATTN_OP_VEC); })
      .Case<arith::AndIOp>(
          [&](auto) { return plain(isBool ? ATTN_OP_AND : ATTN_OP_IAND); })
      .Case<arith::OrIOp>(
          [&](auto) { return plain(isBool ? ATTN_OP_OR : ATTN_OP_IOR); })
      .Case<arith::XOrIOp>(
          [&](auto) { return plain(isBool ? ATTN_OP_XOR : ATTN_OP_IXOR); })
      .Case<arith::SelectOp>([&](auto) { return plain(ATTN_OP_SELECT); })
      .Case<arith::CmpIOp>([&](arith::CmpIOp cmp) { return emitCmpI(cmp); })
      .Case<arith::CmpFOp>([&](arith::CmpFOp cmp) { return emitCmpF(cmp); })
      .Case<arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp, arith::SIToFPOp,
            arith::UIToFPOp, arith::FPToSIOp>(
          [&](auto cast) { return emitCast(cast); })
      .Case<arith::AddFOp>([&](auto) { return plain(ATTN_OP_FADD); })
      .Case<arith::SubFOp>([&](auto) { return plain(ATTN_OP_FSUB); })
      .Case<arith::MulFOp>([&](auto) { return plain(ATTN_OP_FMUL); })
      .Case<arith::DivFOp>([&](auto) { return plain(ATTN_OP_FDIV); })
      .Case<arith::NegFOp>([&](auto) { return plain(ATTN_OP_FNEG); })
      .Case<arith::MinNumFOp>([&](auto) { return plain(ATTN_OP_FMIN); })
      .Case<arith::MaxNumFOp>([&](auto) { return plain(ATTN_OP_FMAX); })
      .Case<arith::MinimumFOp, arith::MaximumFOp>([&](auto minmax) {
        emitNaNSpreading(isa<arith::MinimumFOp>(minmax) ? ATTN_OP_FMIN
                                                        : ATTN_OP_FMAX);
        return true;
      })
      .Case<math::FmaOp>([&](auto) {
        unsigned addend = a.set();
        a.op(ATTN_OP_FMUL).get(addend);
        return plain(ATTN_OP_FADD);
      })
      .Case<math::AbsFOp>([&](auto) { return plain(ATTN_OP_FABS); })
      .Case<math::ExpOp>([&](auto) { return plain(ATTN_OP_EXP); })
      .Case<math::Exp2Op>([&](auto) { return plain(ATTN_OP_EXP2); })
      .Case<math::LogOp>([&](auto) { return plain(ATTN_OP_LOG); })
      .Case<math::Log2Op>([&](auto) { return plain(ATTN_OP_LOG2); })
      .Case<math::TanhOp>([&](auto) { return plain(ATTN_OP_TANH); })
      .Case<math::SqrtOp>([&](auto) { return plain(ATTN_OP_SQRT); })
      .Case<math::SinOp>([&](auto) { return plain(ATTN_OP_SIN); })
      .Case<math::CosOp>([&](auto) { return plain(ATTN_OP_COS); })
      .Default([&](Operation *other) {
        // The rest is i32 arithmetic; on i1 it has no encoding.
        if (isBool)
          return refuse(other, "on i1 has no encoding");
        return TypeSwitch<Operation *, bool>(other)
            .Case<arith::AddIOp>([&](auto) { return plain(ATTN_OP_IADD); })
            .Case<arith::SubIOp>([&](auto) { return plain(ATTN_OP_ISUB); })
            .Case<arith::MulIOp>([&](auto) { return plain(ATTN_OP_IMUL); })
            .Case<arith::FloorDivSIOp>(
                [&](auto) { return plain(ATTN_OP_IFLOORDIV); })
            .Case<arith::DivSIOp, arith::RemSIOp, arith::CeilDivSIOp>(
                [&](auto division) { return emitDivision(division); })
            .Case<arith::MinSIOp>([&](auto) { return plain(ATTN_OP_IMIN); })
            .Case<arith::MaxSIOp>([&](auto) { return plain(ATTN_OP_IMAX); })
            .Case<arith::ShLIOp>([&](auto) { return plain(ATTN_OP_ISHL); })
            .Case<arith::ShRSIOp>([&](auto) { return plain(ATTN_OP_ISHR); })
            .Case<math::AbsIOp>([&](auto) {
              unsigned x = a.set();
              a.get(x).i32(0).get(x).op(ATTN_OP_ISUB).op(ATTN_OP_IMAX);
              return true;
            })
            .Default([&](Operation *unknown) {
              return refuse(unknown, "has no encoding");
            });
      });
}

bool attn::encodeHook(HookOp hook, std::vector<uint8_t> &bytes,
                      std::string &error) {
  mask::HookProgram program; // the format's own check
  return Encoder(hook).run(bytes, error) &&
         mask::HookProgram::decode(
             bytes.data(), bytes.size(),
             signatureOf(cast<VariantOp>(hook->getParentOp())), program, error);
}

bool attn::encodeHook(HookOp hook, mask::HookProgram &program,
                      std::string &error) {
  std::vector<uint8_t> bytes;
  return Encoder(hook).run(bytes, error) &&
         mask::HookProgram::decode(
             bytes.data(), bytes.size(),
             signatureOf(cast<VariantOp>(hook->getParentOp())), program, error);
}

FailureOr<std::vector<uint8_t>> attn::encodeHook(HookOp hook) {
  std::vector<uint8_t> bytes;
  std::string error;
  if (!encodeHook(hook, bytes, error))
    return hook.emitOpError() << error;
  return bytes;
}
