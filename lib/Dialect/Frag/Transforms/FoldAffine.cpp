//===- FoldAffine.cpp - scores that are affine in element and column ----------===//
//
//   map (%s, %q) at (%r, %c) {            map (%s, %q) at (%r, %c) {
//     %x = mulf %s, %scale                  %d = subi %k0, %q           row
//     %k = addi %k0, %c nsw                 %f = sitofp %d              row
//     %d = subi %k, %q nsw                  %a = mulf %m, %f            row
//     %f = sitofp %d                 ->     %g = sitofp %c
//     %y = fma %m, %f, %x                   %t = fma %m, %g, %a
//     .. }                                  %y = fma %scale, %s, %t
//                                           .. }
//
// A hook does not know that its score was scaled before and becomes an exponent
// behind it, nor that the distance of a query and a key grows by one a column.
// What is scale * element + base + slope * column, with coefficients that all
// columns of a row share, is two FMAs an element at most: frag-to-nvvm adds
// the constant part of a column as the immediate of the first.
//
// What that rounds differently is a relative error of 2^-24 in a coefficient or a
// term, as the score itself has one, and terms of keys of the same block that the
// mask hides must be finite too.  An exponent that subtracts a large reference
// first must therefore not be written as (s - a) c: pipe-to-frag has s f + b with an
// exact product (Reference.cpp).  Integers are taken apart only where their ops do
// not wrap (nsw).
//
// Invariant: no map has more operations an element than before.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Frag/IR/Dependences.h"
#include "attn/Dialect/Frag/Transforms/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace attn::frag {
#define GEN_PASS_DEF_FRAGFOLDAFFINE
#include "attn/Dialect/Frag/FragPasses.h.inc"
} // namespace attn::frag

using namespace mlir;
using namespace attn::frag;

namespace {

constexpr int none = -1;

/// What all columns of a row share: a value, or an operation still to be made.
struct Coefficient {
  enum Kind {
    Given,
    One,
    MinusOne,
    Sum,
    Difference,
    Product,
    Negation,
    Reciprocal,
    ToFloat
  } kind;
  Value value;
  int left = none, right = none;
};

/// scale * element + base + slope * column, by numbers of coefficients.
struct Form {
  Value element;
  int scale = none, base = none, slope = none;
};

/// base + slope * column in i32.
struct IntForm {
  int base = none;
  int64_t slope = 0;
};

class AffineForms {
public:
  explicit AffineForms(MapOp map)
      : body(map.getBody().front()), depends(map),
        column(body.getArguments().back()) {}
  void run();

private:
  int add(Coefficient::Kind kind, int left = none, int right = none) {
    pool.push_back({kind, {}, left, right});
    return int(pool.size()) - 1;
  }
  int given(Value v) {
    pool.push_back({Coefficient::Given, v});
    return int(pool.size()) - 1;
  }
  bool is(int x, Coefficient::Kind kind) const {
    return pool[size_t(x)].kind == kind;
  }
  bool isOne(int x) const { return is(x, Coefficient::One); }
  int sum(int x, int y) {
    return x == none ? y : y == none ? x : add(Coefficient::Sum, x, y);
  }
  int negated(int x) {
    if (x == none)
      return none;
    if (isOne(x) || is(x, Coefficient::MinusOne))
      return add(isOne(x) ? Coefficient::MinusOne : Coefficient::One);
    return add(Coefficient::Negation, x);
  }
  int difference(int x, int y) {
    return x == none   ? negated(y)
           : y == none ? x
                       : add(Coefficient::Difference, x, y);
  }
  int product(int x, int y) {
    if (x == none || y == none)
      return none;
    if (isOne(x) || is(x, Coefficient::MinusOne))
      return isOne(x) ? y : negated(y);
    return add(Coefficient::Product, x, y);
  }

  Form formOf(Value v);
  /// The form of the op's result, if there is more to it than one term.
  std::optional<Form> compound(Operation *op);
  std::optional<Form> read(Operation *op);
  std::optional<Form> sumOf(const Form &x, const Form &y);
  std::optional<Form> productOf(Value x, Value y);
  Form scaled(const Form &form, int factor);
  std::optional<IntForm> integer(Value v);

  unsigned dependsOf(int coefficient) const;
  unsigned costOf(const Form &form) const;
  unsigned costOfTree(Operation *op) const;

  bool isRoot(Operation *op);
  void rewrite(Operation *op, const Form &form);
  Value make(OpBuilder &b, Location loc, int coefficient);

  Block &body;
  Dependences depends;
  Value column;
  SmallVector<Coefficient> pool;
  llvm::DenseMap<Operation *, std::optional<Form>> forms;
};

} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Form AffineForms::formOf(Value v) {
  Form form;
  if (depends.isOfRow(v)) {
    form.base = given(v);
    return form;
  }
  if (Operation *op = v.getDefiningOp())
    if (std::optional<Form> found = compound(op))
      return *found;
  form.element = v;
  form.scale = add(Coefficient::One);
  return form;
}

std::optional<Form> AffineForms::compound(Operation *op) {
  auto known = forms.find(op);
  if (known != forms.end())
    return known->second;
  std::optional<Form> form;
  if (op->getNumResults() == 1 && op->getResult(0).getType().isF32() &&
      !depends.isOfRow(op->getResult(0)))
    form = read(op);
  return forms[op] = form;
}

std::optional<Form> AffineForms::read(Operation *op) {
  if (auto sum = dyn_cast<arith::AddFOp>(op))
    return sumOf(formOf(sum.getLhs()), formOf(sum.getRhs()));
  if (auto difference = dyn_cast<arith::SubFOp>(op)) {
    Form right = formOf(difference.getRhs());
    return sumOf(formOf(difference.getLhs()),
                 {right.element, negated(right.scale), negated(right.base),
                  negated(right.slope)});
  }
  if (auto product = dyn_cast<arith::MulFOp>(op))
    return productOf(product.getLhs(), product.getRhs());
  if (auto quotient = dyn_cast<arith::DivFOp>(op)) {
    // Terms of a sum over 0 would be infinities of either sign.
    Form form = formOf(quotient.getLhs());
    if (!depends.isOfRow(quotient.getRhs()) || form.base != none ||
        form.slope != none)
      return std::nullopt;
    return scaled(form, add(Coefficient::Reciprocal, given(quotient.getRhs())));
  }
  if (auto fma = dyn_cast<math::FmaOp>(op)) {
    std::optional<Form> product = productOf(fma.getA(), fma.getB());
    return product ? sumOf(*product, formOf(fma.getC())) : std::nullopt;
  }
  if (auto convert = dyn_cast<arith::SIToFPOp>(op)) {
    std::optional<IntForm> from = integer(convert.getIn());
    if (!from || from->slope * from->slope != 1)
      return std::nullopt;
    Form form;
    form.slope = add(Coefficient::One);
    if (from->slope < 0)
      form.slope = negated(form.slope);
    if (from->base != none)
      form.base = add(Coefficient::ToFloat, from->base);
    return form;
  }
  return std::nullopt;
}

std::optional<Form> AffineForms::sumOf(const Form &x, const Form &y) {
  if (x.element && y.element)
    return std::nullopt;
  const Form &with = x.element ? x : y;
  return Form{with.element, with.scale, sum(x.base, y.base),
              sum(x.slope, y.slope)};
}

std::optional<Form> AffineForms::productOf(Value x, Value y) {
  if (!depends.isOfRow(y))
    std::swap(x, y);
  if (!depends.isOfRow(y))
    return std::nullopt;
  return scaled(formOf(x), given(y));
}

Form AffineForms::scaled(const Form &form, int factor) {
  return {form.element, product(form.scale, factor), product(form.base, factor),
          product(form.slope, factor)};
}

std::optional<IntForm> AffineForms::integer(Value v) {
  if (!v.getType().isInteger(32))
    return std::nullopt;
  if (depends.isOfRow(v))
    return IntForm{given(v), 0};
  if (v == column)
    return IntForm{none, 1};
  auto operands = [&](auto op) -> std::optional<std::pair<IntForm, IntForm>> {
    if (!bitEnumContainsAll(op.getOverflowFlags(),
                            arith::IntegerOverflowFlags::nsw))
      return std::nullopt;
    std::optional<IntForm> x = integer(op.getLhs()), y = integer(op.getRhs());
    if (!x || !y)
      return std::nullopt;
    return std::pair(*x, *y);
  };
  if (auto op = v.getDefiningOp<arith::AddIOp>()) {
    if (auto both = operands(op))
      return IntForm{sum(both->first.base, both->second.base),
                     both->first.slope + both->second.slope};
  } else if (auto op = v.getDefiningOp<arith::SubIOp>()) {
    if (auto both = operands(op))
      return IntForm{difference(both->first.base, both->second.base),
                     both->first.slope - both->second.slope};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Costs, in halves of an instruction an element
//===----------------------------------------------------------------------===//

/// A thread holds two rows, which share what depends on the column alone.
static unsigned costOfOne(unsigned depends) {
  if (depends & Dependence::Element)
    return 2;
  if (depends & Dependence::Col)
    return depends & Dependence::Row ? 2 : 1;
  return 0;
}

unsigned AffineForms::dependsOf(int coefficient) const {
  if (coefficient == none)
    return Dependence::Uniform;
  const Coefficient &c = pool[size_t(coefficient)];
  return c.kind == Coefficient::Given ? depends.of(c.value)
                                      : dependsOf(c.left) | dependsOf(c.right);
}

unsigned AffineForms::costOf(const Form &form) const {
  unsigned cost = 0;
  if (form.slope != none)
    cost += costOfOne(Dependence::Col | dependsOf(form.slope) |
                      dependsOf(form.base));
  if (form.element &&
      (!isOne(form.scale) || form.base != none || form.slope != none))
    cost += costOfOne(depends.of(form.element) | dependsOf(form.scale) |
                      dependsOf(form.base) |
                      (form.slope == none ? 0 : Dependence::Col));
  return cost;
}

/// Of the op and of those below it that nothing else needs.
unsigned AffineForms::costOfTree(Operation *op) const {
  unsigned cost = costOfOne(depends.of(op));
  for (Value operand : op->getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (!source || source->getBlock() != &body || !operand.hasOneUse() ||
        depends.isOfRow(operand))
      continue;
    auto form = forms.find(source);
    if (operand.getType().isInteger(32) ||
        (form != forms.end() && form->second))
      cost += costOfTree(source);
  }
  return cost;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Value AffineForms::make(OpBuilder &b, Location loc, int coefficient) {
  const Coefficient c = pool[size_t(coefficient)];
  if (c.kind == Coefficient::Given)
    return c.value;
  if (c.kind == Coefficient::One || c.kind == Coefficient::MinusOne)
    return arith::ConstantOp::create(
        b, loc, b.getF32FloatAttr(c.kind == Coefficient::One ? 1 : -1));
  Value x = make(b, loc, c.left);
  if (c.kind == Coefficient::Reciprocal) {
    Value one = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1));
    return arith::DivFOp::create(b, loc, one, x);
  }
  if (c.kind == Coefficient::ToFloat)
    return arith::SIToFPOp::create(b, loc, b.getF32Type(), x);
  bool isFloat = x.getType().isF32();
  if (c.kind == Coefficient::Negation) {
    if (isFloat)
      return arith::NegFOp::create(b, loc, x);
    Value zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    return arith::SubIOp::create(b, loc, zero, x);
  }
  Value y = make(b, loc, c.right);
  arith::FastMathFlags fast = arith::FastMathFlags::contract;
  switch (c.kind) {
  case Coefficient::Product:
    return arith::MulFOp::create(b, loc, x, y, fast);
  case Coefficient::Sum:
    if (isFloat)
      return arith::AddFOp::create(b, loc, x, y, fast);
    return arith::AddIOp::create(b, loc, x, y);
  default:
    if (isFloat)
      return arith::SubFOp::create(b, loc, x, y, fast);
    return arith::SubIOp::create(b, loc, x, y);
  }
}

/// Somebody needs the value as such, not as a part of a larger form.
bool AffineForms::isRoot(Operation *op) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    return user->getBlock() != &body || !compound(user);
  });
}

void AffineForms::rewrite(Operation *op, const Form &form) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  Value rest = form.base == none ? Value() : make(b, loc, form.base);
  if (form.slope != none) {
    Value slope = make(b, loc, form.slope);
    Value at = arith::SIToFPOp::create(b, loc, b.getF32Type(), column);
    if (!rest)
      rest = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
    rest = math::FmaOp::create(b, loc, slope, at, rest);
  }
  Value result = rest;
  if (form.element) {
    result = form.element;
    if (isOne(form.scale)) {
      if (rest)
        result = arith::AddFOp::create(b, loc, result, rest);
    } else {
      Value scale = make(b, loc, form.scale);
      result =
          rest ? math::FmaOp::create(b, loc, result, scale, rest).getResult()
               : arith::MulFOp::create(b, loc, result, scale).getResult();
    }
  }
  op->getResult(0).replaceAllUsesWith(result);
}

void AffineForms::run() {
  // Costs are those of the body as it was, so it changes at the end.
  SmallVector<std::pair<Operation *, Form>> found;
  for (Operation &op : body.without_terminator()) {
    std::optional<Form> form = compound(&op);
    if (form && isRoot(&op) && costOf(*form) < costOfTree(&op))
      found.emplace_back(&op, *form);
  }
  for (auto &[op, form] : found)
    rewrite(op, form);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

namespace {
struct FoldAffine : public attn::frag::impl::FragFoldAffineBase<FoldAffine> {
  void runOnOperation() override {
    getOperation().walk([](MapOp map) {
      if (map.hasTile())
        AffineForms(map).run();
    });
  }
};
} // namespace
