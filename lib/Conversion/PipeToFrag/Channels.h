//===- Channels.h - how slots go from role to role --------------*- C++ -*-===//
//
// What acquire, commit, wait and release become depends on who is at the two
// ends of a channel:
//
//   SameRole   the CTA is one role: the order of the text is the order of time,
//              cp.async groups and CTA barriers do the rest (ChannelAnalysis.h)
//   Barriers   roles meet: a full and an empty mbarrier a slot
//
// Both keep positions (slot and phase in a ring), which are values: each loop or
// branch that moves one carries it.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_PIPETOFRAG_CHANNELS_H
#define ATTN_LIB_CONVERSION_PIPETOFRAG_CHANNELS_H

#include "ChannelAnalysis.h"
#include "attn/Dialect/Frag/IR/Frag.h"

namespace attn {

/// mma.m16n8k16 whose operand A stays in shared memory: every product reads it
/// again, which costs a load for each of its fragments and saves the registers.
constexpr llvm::StringLiteral mmaShared = "mma.m16n8k16.ss";

/// What multiplies the tiles of a role, and so decides how they lie; tiles that
/// meet no product lie as memory does.
enum class Unit { None, Mma, Wgmma };

/// Who runs the text that is being written: the CTA, or a replica of a role.
struct RoleInfo {
  pipe::RoleAttr attr;
  int32_t warps = 0; ///< of a replica
  mlir::Value rank;  ///< of the replica; null if there is one
  Unit unit = Unit::None;
  int32_t groups = 1; ///< of warps that share out the keys of a block
  /// First named barrier at which the warps of a replica meet, 0: none yet.
  int32_t voteBarrier = 0;
  int32_t rewriteBarrier = 0; ///< at which all replicas meet, 0: none yet
  int32_t turnBarrier = 0;    ///< first one of its turns, 0: it takes none
  mlir::Value nextRank;       ///< whose turn comes after the own

  llvm::StringRef name() const { return attr.getName().getValue(); }
  int32_t replicas() const { return attr.getReplicas(); }
  /// Do products go on beside the threads?
  bool async() const { return unit == Unit::Wgmma; }
};

/// A slot of a channel: its tile in shared memory.
struct SlotTile {
  mlir::Value ring, pos;
  unsigned channel = 0;
};

/// Where the bytes of a copy are counted.
struct Landing {
  mlir::Value bars, pos;
};

/// True if every payload of the channel is only the query of products, and is
/// read into registers right behind its wait.
bool heldInRegisters(mlir::Value channel);

class Channels {
public:
  explicit Channels(mlir::OpBuilder &builder) : b(builder) {}
  virtual ~Channels() = default;

  /// Storage of a channel, at the place of its declaration.
  virtual mlir::LogicalResult declare(pipe::ChannelOp op) = 0;
  /// All are declared, the roles part follows.
  virtual void begin() {}
  virtual mlir::LogicalResult enter(const RoleInfo &role, mlir::Block &body) {
    return mlir::success();
  }

  /// Can an operation of the agent fill or read slots?
  virtual bool serves(pipe::Agent agent) const = 0;
  virtual SlotTile acquire(pipe::AcquireOp op) = 0;
  virtual mlir::LogicalResult commit(pipe::CommitOp op,
                                     const SlotTile &slot) = 0;
  virtual SlotTile wait(pipe::WaitOp op) = 0;
  virtual void release(pipe::ReleaseOp op, const SlotTile &slot) = 0;

  /// Of a copy that an agent reports by bytes.
  virtual mlir::FailureOr<Landing> landing(pipe::IssueOp op,
                                           const SlotTile &slot) {
    llvm_unreachable("serves no such agent");
  }

  // What one role has no use for; the default refuses.
  virtual mlir::LogicalResult join(pipe::JoinOp op, const SlotTile &slot);
  virtual mlir::LogicalResult send(pipe::SendOp op, mlir::ValueRange words);
  virtual mlir::FailureOr<mlir::ValueRange> recv(pipe::RecvOp op);

  //===--- positions ------------------------------------------------------===//
  /// Those that move inside an op's regions.
  llvm::SmallVector<unsigned> movedIn(mlir::Operation *op);
  mlir::Value at(unsigned position) const { return positions[position].value; }
  void set(llvm::ArrayRef<unsigned> which, mlir::ValueRange values);

protected:
  struct Position {
    mlir::Value value;
    unsigned leader;    ///< the position that it is always equal to
    bool fixed = false; ///< it never moves
  };

  /// Appends what an op itself moves.
  virtual void movedBy(mlir::Operation *op,
                       llvm::SmallVectorImpl<unsigned> &moved) = 0;
  mlir::Value makePosition(int32_t slots, int32_t phase, mlir::Location loc);
  /// The position's value; it stands one slot further afterwards.
  mlir::Value advance(unsigned position, mlir::Location loc);
  frag::SmemOp makeRing(pipe::ChannelOp op, TileType tile);

  mlir::OpBuilder &b;
  llvm::SmallVector<Position> positions;
};

/// The CTA is one role.
class SameRole : public Channels {
public:
  using Channels::Channels;
  mlir::LogicalResult analyse(llvm::ArrayRef<pipe::ChannelOp> ops,
                              mlir::Block &body) {
    return analysis.run(ops, body);
  }

  mlir::LogicalResult declare(pipe::ChannelOp op) override;
  bool serves(pipe::Agent agent) const override {
    return agent == pipe::Agent::CpAsync;
  }
  SlotTile acquire(pipe::AcquireOp op) override;
  mlir::LogicalResult commit(pipe::CommitOp op, const SlotTile &) override;
  SlotTile wait(pipe::WaitOp op) override;
  void release(pipe::ReleaseOp, const SlotTile &) override {}

private:
  void movedBy(mlir::Operation *op,
               llvm::SmallVectorImpl<unsigned> &moved) override;

  llvm::SmallVector<mlir::Value> rings;
  ChannelAnalysis analysis;
};

/// Roles meet at mbarriers.
class Barriers : public Channels {
public:
  Barriers(mlir::OpBuilder &builder, pipe::RolesOp roles)
      : Channels(builder), roles(roles) {}

  mlir::LogicalResult declare(pipe::ChannelOp op) override;
  void begin() override;
  mlir::LogicalResult enter(const RoleInfo &role, mlir::Block &body) override;
  bool serves(pipe::Agent agent) const override {
    return agent == pipe::Agent::Tma || agent == pipe::Agent::Mma;
  }
  SlotTile acquire(pipe::AcquireOp op) override;
  mlir::LogicalResult commit(pipe::CommitOp op, const SlotTile &slot) override;
  SlotTile wait(pipe::WaitOp op) override;
  void release(pipe::ReleaseOp op, const SlotTile &slot) override;
  mlir::FailureOr<Landing> landing(pipe::IssueOp op,
                                   const SlotTile &slot) override;
  mlir::LogicalResult join(pipe::JoinOp op, const SlotTile &slot) override;
  mlir::LogicalResult send(pipe::SendOp op, mlir::ValueRange words) override;
  mlir::FailureOr<mlir::ValueRange> recv(pipe::RecvOp op) override;

private:
  struct Channel {
    pipe::ChannelOp op;
    mlir::Value storage; ///< ring or words
    mlir::Value full, empty;
    mlir::Value joined;   ///< of the copies that the producer waits for itself
    bool joining = false; ///< such a copy is under way
  };
  enum Side { Produce, Consume, Join, sides };

  void movedBy(mlir::Operation *op,
               llvm::SmallVectorImpl<unsigned> &moved) override;
  mlir::LogicalResult checkEnds(mlir::Block &body);
  mlir::Value makeBars(pipe::ChannelOp op, llvm::StringRef what, int32_t slots,
                       int32_t lanes, int32_t count);
  unsigned indexOf(mlir::Value channel) const {
    return indices.lookup(channel);
  }
  static unsigned position(unsigned channel, Side side) {
    return channel * sides + side;
  }
  mlir::Value move(unsigned channel, Side side, mlir::Location loc) {
    return advance(position(channel, side), loc);
  }

  pipe::RolesOp roles;
  RoleInfo role;
  llvm::SmallVector<Channel> channels;
  llvm::DenseMap<mlir::Value, unsigned> indices;
};

} // namespace attn

#endif // ATTN_LIB_CONVERSION_PIPETOFRAG_CHANNELS_H
