//===- Device.h - what the runtime asks of a device -------------*- C++ -*-===//
//
// Two implementations: CpuDevice.cpp and CudaDevice.cpp.  The rest of the
// runtime knows only these four interfaces.
//
//   Device      memory, streams, events, loading code
//   Executable  one specialisation, loaded: launch(items, merges)
//   Staging     host memory that a plan is built in and uploaded from
//   Event       a point in a stream
//
// Invariant: an object keeps its device alive.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNRT_LIB_DEVICE_H
#define ATTNRT_LIB_DEVICE_H

#include "Bundle.h"

#include <memory>
#include <string>

namespace attnrt {

/// A tensor of a launch, as its tensor maps see it.
struct TensorView {
  const void *data = nullptr;
  attn_strides strides = {};
  int64_t tokens = 0; ///< of a request (dense) or all of them; 0: not touched
  int32_t heads = 0, columns = 0;
  int32_t batch = 1; ///< extent of the batch stride
};

struct Launch {
  /// The parameter struct, filled but for its tensor maps; aligned for them.
  char *params = nullptr;
  TensorView tensors[ATTN_MAP_TENSORS];
  uint32_t items = 0;
  uint32_t merges = 0;
  void *stream = nullptr;
};

class Executable {
public:
  virtual ~Executable() = default;
  /// CTAs or threads that take items at the same time.
  virtual int32_t workers() const = 0;
  /// All items, then all merges, in stream order.
  virtual attnrt_status launch(const Launch &launch) = 0;
  std::string code; ///< what was loaded, for reports
};

class Staging {
public:
  virtual ~Staging() = default;
  /// Host memory for the next plan; waits until an upload from it is over.
  /// What the last call gave stays readable until then.
  virtual attnrt_status next(size_t bytes, void *&memory) = 0;
  /// Copies what next() gave to the device, in stream order.
  virtual attnrt_status upload(void *to, size_t bytes, void *stream) = 0;
};

class Device;

class Event {
public:
  explicit Event(std::shared_ptr<Device> device) : device(std::move(device)) {}
  virtual ~Event() = default;
  virtual attnrt_status record(void *stream) = 0;
  /// `end` belongs to the same device.
  virtual attnrt_status elapsed(Event &end, float &milliseconds) = 0;
  std::shared_ptr<Device> device;
};

class Device : public std::enable_shared_from_this<Device> {
public:
  virtual ~Device() = default;

  attnrt_device_info info = {};

  virtual attnrt_status alloc(size_t bytes, void *&pointer) = 0;
  virtual attnrt_status release(void *pointer) = 0;
  virtual attnrt_status copy(void *to, const void *from, size_t bytes,
                             attnrt_copy_kind kind, void *stream) = 0;
  virtual attnrt_status set(void *pointer, uint8_t value, size_t bytes,
                            void *stream) = 0;
  virtual attnrt_status createStream(void *&stream) = 0;
  virtual attnrt_status destroyStream(void *stream) = 0;
  virtual attnrt_status synchronize(void *stream) = 0;
  virtual attnrt_status createEvent(std::unique_ptr<Event> &event) = 0;
  virtual attnrt_status createStaging(std::unique_ptr<Staging> &staging) = 0;

  /// Whether code for this target and with these needs can run here; if not,
  /// `reason` says why.  `rank` orders targets, newer is larger.
  virtual bool admits(const Specialisation &specialisation, int &rank,
                      std::string &reason) const = 0;
  virtual attnrt_status load(const Specialisation &specialisation,
                             std::unique_ptr<Executable> &executable) = 0;
};

attnrt_status openCpuDevice(const attnrt_device_options &options,
                            std::shared_ptr<Device> &device);
attnrt_status openCudaDevice(int ordinal, const attnrt_device_options &options,
                             std::shared_ptr<Device> &device);

} // namespace attnrt

struct attnrt_device {
  std::shared_ptr<attnrt::Device> impl;
};

struct attnrt_event {
  std::unique_ptr<attnrt::Event> impl;
};

#endif // ATTNRT_LIB_DEVICE_H
