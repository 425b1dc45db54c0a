//===- PipeState.h - channels, slots and futures of one CTA -----*- C++ -*-===//
//
// Private to level L2 of the simulator.  A channel has a ring a lane; turn t of
// a ring lives in slot t mod depth, and each reader has a hold on each turn.
//
//   free -acquire-> producer -commit-> full -wait-> consumer -release-> free
//                                       ^ once the futures have finished
//
// Invariant: only the ops of PipeSlots.cpp move a slot; scheduling never does.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_SIM_PIPESTATE_H
#define ATTN_LIB_SIM_PIPESTATE_H

#include "AttnInterp.h"

#include "attn/Sim/Fiber.h"
#include "attn/Sim/PipeTrace.h"

namespace attn::sim {

enum class SlotState { Free, Producer, Full, Consumer };
llvm::StringRef nameOf(SlotState state);

struct SlotHandle;

/// An issued operation.
struct Future : Object {
  mlir::Operation *op = nullptr;
  std::string by; ///< who issued it
  bool done = false;
  llvm::SmallVector<Datum> results;
  /// Payloads that it reads and slots that it fills.
  llvm::SmallVector<std::shared_ptr<Tile>> reads;
  llvm::SmallVector<std::shared_ptr<SlotHandle>> writes;

  bool readsTile(const Tile *tile) const;
  bool writesSlot(const SlotHandle *handle) const;
};

struct DoneToken : Object {};

/// What a reader does with the present turn of a slot.
enum class Hold { None, Holds, Released };

struct Slot {
  SlotState state = SlotState::Free;
  uint64_t turn = 0; ///< that the slot holds, or held last
  std::shared_ptr<Tile> payload;
  llvm::SmallVector<int32_t> words;
  bool written = false;
  llvm::SmallVector<std::shared_ptr<Future>> pending;
  llvm::SmallVector<Hold> holds; ///< by reader
  /// The last op that moved it, for reports.
  mlir::Operation *lastOp = nullptr;
  std::string lastBy;

  bool landed() const {
    return llvm::all_of(pending, [](auto &f) { return f->done; });
  }
};

struct Lane {
  std::vector<Slot> slots;
  uint64_t produced = 0; ///< turn of the next acquire
};

struct Channel : Object {
  pipe::ChannelOp op;
  std::string name;
  unsigned number = 0;   ///< in order of declaration
  bool feedback = false; ///< has initial tokens
  std::vector<Lane> lanes;
  /// Fibers that read, and each one's next turn.
  std::vector<uint32_t> readers;
  std::vector<uint64_t> next;

  size_t depth() const { return lanes.front().slots.size(); }
  size_t slotOf(uint64_t turn) const { return turn % depth(); }
  /// Parity that a barrier of the slot would have in this turn.
  unsigned phaseOf(uint64_t turn) const { return (turn / depth()) & 1; }
  /// Index into readers, or -1.
  int readerOf(uint32_t fiber) const;
};

/// A slot as held by one side.
struct SlotHandle : Object {
  std::shared_ptr<Channel> channel;
  size_t lane = 0, index = 0;
  uint64_t turn = 0;
  bool producer = false;
  unsigned reader = 0;
  std::shared_ptr<Tile> view; ///< the reader's payload

  Slot &slot() const { return channel->lanes[lane].slots[index]; }
  bool held() const;
};

/// One replica of a role.
struct RoleFiber {
  std::string role; ///< "load"
  std::string name; ///< "'load'" or "'compute'[1]"
  unsigned region = 0;
  int32_t rank = 0, replicas = 1;
  uint64_t taken = 0, passed = 0; ///< turns
  /// Issued, and neither joined nor handed to a commit.
  llvm::SmallVector<std::shared_ptr<Future>> open;
};

/// One turn of a gather.
struct Gathering {
  std::vector<llvm::SmallVector<Datum>> parts;
  unsigned given = 0, taken = 0;
};

struct PipeState : HandlerState {
  std::vector<std::shared_ptr<Channel>> channels;
  std::vector<RoleFiber> roles;     ///< by fiber
  Fibers *fibers = nullptr;         ///< while roles run
  std::optional<pipe::Agent> agent; ///< whose action is running
  /// By op and by how often the replica has met it.
  std::map<std::pair<mlir::Operation *, uint64_t>, Gathering> gatherings;
  std::map<std::pair<mlir::Operation *, uint32_t>, uint64_t> gatherTurns;
  int64_t lastItem = -1; ///< of a dynamic order
  PipeTrace trace;

  RoleFiber &self() { return roles[fibers->self()]; }
};

/// On an acquire, wait, send or recv: it does not block (a mutant).
constexpr llvm::StringLiteral unguardedAttr = "pipe.unguarded";

/// "slot 1 of channel 'k'", with the lane where there are several.
std::string slotText(const Channel &channel, size_t lane, size_t index);

/// "slot 0 of channel 'k' is full but must be free".
std::string stateText(const Channel &channel, size_t lane, size_t index,
                      llvm::StringRef needed);

/// Who has the slot, for the report of a deadlock.
std::string holderText(const PipeState &state, const Channel &channel,
                       size_t lane, size_t index);

/// The slot must be held by the handle's side.
mlir::LogicalResult checkHeld(mlir::Operation *op, Interp &interp,
                              const SlotHandle &handle);

/// Adds an event to the trace of the running replica.
/// `late`: the slot is filled by an agent.
void record(PipeState &pipe, PipeTrace::Kind kind, uint32_t number,
            uint64_t turn, mlir::Operation *op, bool late = false);

/// acquire, commit, wait, release, send, recv; nothing for any other op.
std::optional<mlir::LogicalResult> runSlotOp(mlir::Operation *op,
                                             Interp &interp);

/// Starts the roles, joins them and checks what they leave behind.
mlir::LogicalResult runRoles(pipe::RolesOp roles, Interp &interp);

} // namespace attn::sim

#endif // ATTN_LIB_SIM_PIPESTATE_H
