//===- Device.cpp - the device half of the C API --------------------------===//
//
// Argument checks, then one virtual call.
//
//===----------------------------------------------------------------------===//
#include "Device.h"

#include <cstdlib>
#include <cstring>

using namespace attnrt;

static attnrt_status checkDevice(const attnrt_device *device) {
  if (!device)
    return fail(ATTNRT_INVALID_ARGUMENT, "device is null");
  return ATTNRT_OK;
}

/// "cuda" or "cuda:N" gives N, everything else -1.
static int cudaOrdinal(const char *name) {
  if (strncmp(name, "cuda", 4) != 0)
    return -1;
  if (name[4] == 0)
    return 0;
  if (name[4] != ':' || name[5] < '0' || name[5] > '9')
    return -1;
  char *end = nullptr;
  long value = strtol(name + 5, &end, 10);
  return *end == 0 && value <= 1 << 16 ? int(value) : -1;
}

extern "C" {

attnrt_status attnrt_device_open(const char *name,
                                 const attnrt_device_options *options,
                                 attnrt_device **device) {
  if (!name || !device)
    return fail(ATTNRT_INVALID_ARGUMENT, "name or result pointer is null");
  attnrt_device_options given = options ? *options : attnrt_device_options{};
  std::shared_ptr<Device> impl;
  int ordinal = cudaOrdinal(name);
  if (strcmp(name, "cpu") == 0)
    ATTNRT_TRY(openCpuDevice(given, impl));
  else if (ordinal >= 0)
    ATTNRT_TRY(openCudaDevice(ordinal, given, impl));
  else
    return fail(ATTNRT_NOT_FOUND,
                "unknown device '%s' (known: cpu, cuda, cuda:N)", name);
  *device = new attnrt_device{std::move(impl)};
  return ATTNRT_OK;
}

void attnrt_device_close(attnrt_device *device) { delete device; }

attnrt_status attnrt_device_query(const attnrt_device *device,
                                  attnrt_device_info *info) {
  ATTNRT_TRY(checkDevice(device));
  if (!info)
    return fail(ATTNRT_INVALID_ARGUMENT, "result pointer is null");
  *info = device->impl->info;
  return ATTNRT_OK;
}

attnrt_status attnrt_mem_alloc(attnrt_device *device, size_t bytes,
                               void **pointer) {
  ATTNRT_TRY(checkDevice(device));
  if (!pointer)
    return fail(ATTNRT_INVALID_ARGUMENT, "result pointer is null");
  *pointer = nullptr;
  return bytes ? device->impl->alloc(bytes, *pointer) : ATTNRT_OK;
}

attnrt_status attnrt_mem_free(attnrt_device *device, void *pointer) {
  ATTNRT_TRY(checkDevice(device));
  return pointer ? device->impl->release(pointer) : ATTNRT_OK;
}

attnrt_status attnrt_mem_copy(attnrt_device *device, void *to, const void *from,
                              size_t bytes, attnrt_copy_kind kind,
                              void *stream) {
  ATTNRT_TRY(checkDevice(device));
  if (bytes == 0)
    return ATTNRT_OK;
  if (!to || !from)
    return fail(ATTNRT_INVALID_ARGUMENT,
                "a pointer of a copy of %zu bytes is null", bytes);
  if (kind < ATTNRT_HOST_TO_DEVICE || kind > ATTNRT_DEVICE_TO_DEVICE)
    return fail(ATTNRT_INVALID_ARGUMENT, "copy kind is %d but the last is %d",
                int(kind), int(ATTNRT_DEVICE_TO_DEVICE));
  return device->impl->copy(to, from, bytes, kind, stream);
}

attnrt_status attnrt_mem_set(attnrt_device *device, void *pointer,
                             uint8_t value, size_t bytes, void *stream) {
  ATTNRT_TRY(checkDevice(device));
  if (bytes == 0)
    return ATTNRT_OK;
  if (!pointer)
    return fail(ATTNRT_INVALID_ARGUMENT, "pointer to set %zu bytes is null",
                bytes);
  return device->impl->set(pointer, value, bytes, stream);
}

attnrt_status attnrt_stream_create(attnrt_device *device, void **stream) {
  ATTNRT_TRY(checkDevice(device));
  if (!stream)
    return fail(ATTNRT_INVALID_ARGUMENT, "result pointer is null");
  *stream = nullptr;
  return device->impl->createStream(*stream);
}

attnrt_status attnrt_stream_destroy(attnrt_device *device, void *stream) {
  ATTNRT_TRY(checkDevice(device));
  return stream ? device->impl->destroyStream(stream) : ATTNRT_OK;
}

attnrt_status attnrt_stream_synchronize(attnrt_device *device, void *stream) {
  ATTNRT_TRY(checkDevice(device));
  return device->impl->synchronize(stream);
}

attnrt_status attnrt_event_create(attnrt_device *device, attnrt_event **event) {
  ATTNRT_TRY(checkDevice(device));
  if (!event)
    return fail(ATTNRT_INVALID_ARGUMENT, "result pointer is null");
  std::unique_ptr<Event> impl;
  ATTNRT_TRY(device->impl->createEvent(impl));
  *event = new attnrt_event{std::move(impl)};
  return ATTNRT_OK;
}

void attnrt_event_destroy(attnrt_event *event) { delete event; }

attnrt_status attnrt_event_record(attnrt_event *event, void *stream) {
  if (!event)
    return fail(ATTNRT_INVALID_ARGUMENT, "event is null");
  return event->impl->record(stream);
}

attnrt_status attnrt_event_elapsed(attnrt_event *begin, attnrt_event *end,
                                   float *milliseconds) {
  if (!begin || !end || !milliseconds)
    return fail(ATTNRT_INVALID_ARGUMENT, "event or result pointer is null");
  if (begin->impl->device != end->impl->device)
    return fail(ATTNRT_INVALID_ARGUMENT,
                "events belong to the devices '%s' and '%s'",
                begin->impl->device->info.name, end->impl->device->info.name);
  return begin->impl->elapsed(*end->impl, *milliseconds);
}

} // extern "C"
