//===- Runner.cpp - inputs, plan, launch, check, timing -------------------===//
//
// One path for both devices: the workload's buffers, canaries included, are
// copied to device memory, the kernel runs, and everything is copied back and
// compared; further launches into poisoned outputs must give the same bits.
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <tuple>

using namespace attn;
using namespace attn::workload;
using attnrun::Settings;
using nlohmann::ordered_json;

namespace {

/// Carries attnrt_last_error() to the one handler below.
struct Failure : std::runtime_error {
  explicit Failure(const std::string &text, attnrt_status status = ATTNRT_OK)
      : runtime_error(text), status(status) {}
  attnrt_status status;
};

void require(attnrt_status status) {
  if (status != ATTNRT_OK)
    throw Failure(std::string(attnrt_status_name(status)) + ": " +
                      attnrt_last_error(),
                  status);
}

/// A workload buffer in device memory.
class DeviceBuffer {
public:
  DeviceBuffer(attnrt_device *device, Buffer &host)
      : device(device), host(host) {
    require(attnrt_mem_alloc(device, host.wholeSize(), &pointer));
    upload();
  }
  DeviceBuffer(const DeviceBuffer &) = delete;
  DeviceBuffer &operator=(const DeviceBuffer &) = delete;
  ~DeviceBuffer() { (void)attnrt_mem_free(device, pointer); }

  void upload() {
    require(attnrt_mem_copy(device, pointer, host.whole(), host.wholeSize(),
                            ATTNRT_HOST_TO_DEVICE, nullptr));
  }
  void download() {
    require(attnrt_mem_copy(device, host.whole(), pointer, host.wholeSize(),
                            ATTNRT_DEVICE_TO_HOST, nullptr));
    require(attnrt_stream_synchronize(device, nullptr));
  }
  void *data() const {
    return static_cast<char *>(pointer) + Buffer::canaryBytes;
  }

private:
  attnrt_device *device;
  Buffer &host;
  void *pointer = nullptr;
};

struct Unload {
  void operator()(attnrt_kernel *k) const { attnrt_kernel_unload(k); }
  void operator()(attnrt_plan *p) const { attnrt_plan_destroy(p); }
  void operator()(attnrt_event *e) const { attnrt_event_destroy(e); }
};
template <class T> using Handle = std::unique_ptr<T, Unload>;

Element elementOf(attnrt_element e) { return Element(e); }

uint32_t parseBits(const ParamDesc &p, const std::string &text) {
  auto refuse = [&](const char *why) {
    throw Failure("value \"" + text + "\" of parameter \"" + p.name + "\" " +
                  why);
  };
  char *end = nullptr;
  bool isFloat = p.type == ATTN_F32;
  errno = 0;
  float f = isFloat ? std::strtof(text.c_str(), &end) : 0;
  long long i = isFloat ? 0 : std::strtoll(text.c_str(), &end, 10);
  if (end == text.c_str() || *end)
    refuse("is not a number");
  if (isFloat && errno == ERANGE && std::isinf(f))
    refuse("is beyond the largest f32, 3.4e38");
  if (i < INT32_MIN || i > INT32_MAX)
    refuse("does not lie in [-2147483648, 2147483647]");
  return isFloat ? oracle::floatToBits(f) : uint32_t(i);
}

/// The launch of one workload: device buffers, arguments, plan.
class Launch {
public:
  Launch(attnrt_device *device, attnrt_kernel *kernel, Workload &w,
         const Settings &s)
      : device(device), kernel(kernel), w(w) {
    for (Tensor *t : {&w.q, &w.k, &w.v, &w.o, &w.lse})
      buffers.push_back(std::make_unique<DeviceBuffer>(device, t->buffer));
    for (BoundTable &t : w.tables)
      tableBuffers.push_back(std::make_unique<DeviceBuffer>(device, t.buffer));
    bind();
    plan(s);
  }
  ~Launch() { (void)attnrt_mem_free(device, workspace); }

  void run() { require(attnrt_run(kernel, handle.get(), &args, nullptr)); }
  void synchronize() { require(attnrt_stream_synchronize(device, nullptr)); }
  void uploadOutputs() {
    buffers[3]->upload();
    buffers[4]->upload();
  }
  void download() {
    for (auto &b : buffers)
      b->download();
  }
  attnrt_plan_info info() {
    attnrt_plan_info i;
    require(attnrt_plan_query(handle.get(), &i));
    return i;
  }
  double planMicroseconds = 0;

private:
  void bind() {
    std::memset(&args, 0, sizeof(args));
    attnrt_tensor *out[] = {&args.q, &args.k, &args.v, &args.o, &args.lse};
    Tensor *in[] = {&w.q, &w.k, &w.v, &w.o, &w.lse};
    for (size_t i = 0; i < 5; ++i) {
      out[i]->data = buffers[i]->data();
      out[i]->strides = in[i]->strides;
      out[i]->elements = uint64_t(in[i]->elements);
    }
    if (!w.kernel.softmax)
      args.lse = attnrt_tensor{};
    for (size_t i = 0; i < w.kernel.params.size(); ++i)
      params.push_back({w.kernel.params[i].name.c_str(),
                        w.kernel.params[i].type, w.paramBits[i]});
    for (size_t i = 0; i < w.tables.size(); ++i) {
      attnrt_table t{};
      t.name = w.tables[i].desc.name.c_str();
      t.data = tableBuffers[i]->data();
      t.host = w.tables[i].buffer.data();
      std::copy(std::begin(w.tables[i].extent), std::end(w.tables[i].extent),
                t.extent);
      t.version = 1;
      tables.push_back(t);
    }
    args.scale = &w.scale;
    args.params = params.data();
    args.param_count = uint32_t(params.size());
    args.tables = tables.data();
    args.table_count = uint32_t(tables.size());
  }

  void plan(const Settings &s) {
    attnrt_plan *raw = nullptr;
    require(attnrt_plan_create(kernel, &raw));
    handle.reset(raw);
    attnrt_plan_params p{};
    p.batch = w.batch.size();
    p.q_lens = w.batch.qLens.data();
    p.kv_lens = w.batch.kvLens.data();
    if (w.kernel.ragged) {
      p.q_indptr = w.qIndptr.data();
      p.kv_indptr = w.kvIndptr.data();
    }
    p.split_keys = s.split;
    p.max_splits = s.maxSplits;
    p.max_workers = s.workers;
    p.params = params.data();
    p.param_count = uint32_t(params.size());
    p.tables = tables.data();
    p.table_count = uint32_t(tables.size());
    size_t bytes = 0;
    require(attnrt_plan_workspace(handle.get(), &p, &bytes));
    if (s.workspace >= 0)
      bytes = size_t(s.workspace);
    require(attnrt_mem_alloc(device, bytes, &workspace));
    require(attnrt_plan_build(handle.get(), &p, workspace, bytes, nullptr));
    auto begin = std::chrono::steady_clock::now();
    require(attnrt_plan_build(handle.get(), &p, workspace, bytes, nullptr));
    planMicroseconds = std::chrono::duration<double, std::micro>(
                           std::chrono::steady_clock::now() - begin)
                           .count();
    synchronize();
  }

  attnrt_device *device;
  attnrt_kernel *kernel;
  Workload &w;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers, tableBuffers;
  std::vector<attnrt_param> params;
  std::vector<attnrt_table> tables;
  attnrt_args args;
  Handle<attnrt_plan> handle;
  void *workspace = nullptr;
};

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Median milliseconds of one run, after three that are not timed.
double bench(attnrt_device *device, Launch &launch, int32_t iterations) {
  auto event = [&] {
    attnrt_event *e = nullptr;
    require(attnrt_event_create(device, &e));
    return Handle<attnrt_event>(e);
  };
  Handle<attnrt_event> begin = event(), end = event();
  std::vector<double> times;
  for (int32_t i = 0; i < iterations + 3; ++i) {
    require(attnrt_event_record(begin.get(), nullptr));
    launch.run();
    require(attnrt_event_record(end.get(), nullptr));
    float ms = 0;
    require(attnrt_event_elapsed(begin.get(), end.get(), &ms));
    if (i >= 3)
      times.push_back(ms);
  }
  return medianOf(std::move(times));
}

Batch batchOf(const Settings &s) {
  Batch batch;
  std::string error;
  if (!parseBatch(s.batch, batch, error))
    throw Failure(error);
  return batch;
}

Workload makeWorkload(const KernelDesc &desc, const Settings &s,
                      Element element, Element output) {
  Options options;
  options.seed = s.seed;
  options.element = element;
  options.output = output;
  options.tokenPad = s.tokenPad;
  options.unseenMargin = s.unseenMargin;
  options.sampleParams = !s.defaults;
  options.plain = s.bench && !s.check;
  options.inputs = *parseInputKind(s.inputs);
  options.checkRows = s.checkRows;
  for (const auto &given : s.params) {
    auto p =
        std::find_if(desc.params.begin(), desc.params.end(),
                     [&](const ParamDesc &d) { return d.name == given.first; });
    if (p == desc.params.end())
      throw Failure("kernel " + desc.name + " has no parameter \"" +
                    given.first + "\"");
    options.params[given.first] = parseBits(*p, given.second);
  }
  Workload w;
  std::string error;
  if (!Workload::make(desc, batchOf(s), options, w, error))
    throw Failure(error);
  return w;
}

void report(ordered_json &line, const Verdict &v, bool softmax) {
  line["rows_checked"] = v.rows;
  line["sampled"] = v.sampled;
  line["tensor_error"] = v.comparison.tensorError;
  line["tensor_limit"] = v.comparison.tensorLimit;
  line["row_error"] = v.comparison.rowError;
  line["row_limit"] = v.comparison.rowLimit;
  if (softmax)
    line["lse_error"] = v.comparison.lseError;
  if (v.comparison.nanRows)
    line["nan_rows"] = v.comparison.nanRows;
  if (!v.message.empty())
    line["error"] = v.message;
}

attnrt_element dtypeOf(const std::string &name) {
  if (name == "f32")
    return ATTNRT_F32;
  return name == "f16" ? ATTNRT_F16 : ATTNRT_BF16;
}

/// `--device=oracle`: the oracle against itself shows the reference's numbers.
void runOracle(ordered_json &line, const KernelDesc &desc, const Settings &s) {
  Element e = s.dtype.empty() ? Element::F32 : elementOf(dtypeOf(s.dtype));
  Workload w = makeWorkload(desc, s, e, e);
  oracle::Reference ref;
  std::string error;
  if (!oracle::attention(w.problem(), oracle::allRows(w.problem()), ref, error))
    throw Failure(error);
  double sum = 0;
  for (double x : ref.o)
    sum += x * x;
  line["rows"] = ref.rows.size();
  line["empty_rows"] = std::count(ref.empty.begin(), ref.empty.end(), 1);
  line["norm_o"] = std::sqrt(sum);
  line["ok"] = true;
}

/// Runs the launch again, `launches` in all, each into poisoned outputs; the first
/// that gives other bits than the downloaded one, or 0.
int32_t firstDifferent(Launch &launch, Workload &w, int32_t launches) {
  Tensor *outputs[] = {&w.o, &w.lse};
  std::vector<char> first[2];
  for (int t : {0, 1})
    first[t].assign(outputs[t]->buffer.whole(),
                    outputs[t]->buffer.whole() +
                        outputs[t]->buffer.wholeSize());
  for (int32_t n = 1; n < launches; ++n) {
    w.poisonOutputs();
    launch.uploadOutputs();
    launch.run();
    launch.synchronize();
    launch.download();
    for (int t : {0, 1})
      if (std::memcmp(first[t].data(), outputs[t]->buffer.whole(),
                      first[t].size()) != 0)
        return n;
  }
  return 0;
}

void runDevice(ordered_json &line, attnrt_bundle *bundle, attnrt_device *device,
               const KernelDesc &desc, const Settings &s) {
  attnrt_select select{};
  select.element =
      s.dtype.empty() ? ATTNRT_ANY_ELEMENT : int32_t(dtypeOf(s.dtype));
  select.output = ATTNRT_ANY_ELEMENT;
  select.target = s.target.empty() ? nullptr : s.target.c_str();
  select.specialisation = s.specialisation + 1;
  std::tie(select.q_len, select.kv_len) = batchOf(s).largest();
  attnrt_kernel *raw = nullptr;
  require(attnrt_kernel_load(device, bundle, desc.name.c_str(), &select, &raw));
  Handle<attnrt_kernel> kernel(raw);
  uint32_t kernelIndex = 0, chosen = 0;
  require(attnrt_kernel_chosen(kernel.get(), &kernelIndex, &chosen));
  attnrt_specialisation_info spec;
  require(attnrt_bundle_specialisation(bundle, kernelIndex, chosen, &spec));
  line["target"] = spec.target;
  line["code"] = attnrt_kernel_code(kernel.get());
  line["element"] = oracle::nameOf(elementOf(spec.element));
  line["specialisation"] = chosen;

  Workload w =
      makeWorkload(desc, s, elementOf(spec.element), elementOf(spec.output));
  Launch launch(device, kernel.get(), w, s);
  attnrt_plan_info info = launch.info();
  line["items"] = info.items;
  line["merges"] = info.merges;
  line["workers"] = info.workers;
  line["plan_us"] = launch.planMicroseconds;

  bool ok = true;
  launch.run();
  launch.synchronize();
  if (s.check) {
    launch.download();
    Verdict verdict = w.check();
    report(line, verdict, desc.softmax);
    ok = verdict.ok;
  }
  int32_t launches = s.repeat ? s.repeat : s.check ? 2 : 1;
  if (launches > 1) {
    if (!s.check)
      launch.download();
    int32_t different = firstDifferent(launch, w, launches);
    line["launches"] = launches;
    line["deterministic"] = different == 0;
    if (different) {
      line.emplace("error", "launch " + std::to_string(different + 1) + " of " +
                                std::to_string(launches) +
                                " gives other bits than the first");
      ok = false;
    }
  }
  if (s.bench) {
    std::vector<double> rounds;
    for (int32_t i = 0; i < s.rounds; ++i)
      rounds.push_back(bench(device, launch, s.iterations));
    double ms = medianOf(std::move(rounds));
    double flops = w.visiblePairs() * 2 * (desc.dim + desc.dimV);
    line["ms"] = ms;
    line["tflops"] = flops / ms * 1e-9;
  }
  line["ok"] = ok;
}

/// One result, whatever happens.
ordered_json runOne(attnrt_bundle *bundle, attnrt_device *device,
                    const KernelDesc &desc, const Settings &settings) {
  ordered_json line;
  line["kernel"] = desc.name;
  line["device"] = settings.device;
  try {
    if (device)
      runDevice(line, bundle, device, desc, settings);
    else
      runOracle(line, desc, settings);
  } catch (const Failure &e) {
    bool skipped =
        settings.allSpecialisations && e.status == ATTNRT_NOT_ADMISSIBLE;
    line[skipped ? "skipped" : "error"] = e.what();
    line["ok"] = skipped;
  } catch (const std::exception &e) {
    line["error"] = e.what();
    line["ok"] = false;
  }
  return line;
}

} // namespace

std::vector<ordered_json> attnrun::runKernel(attnrt_bundle *bundle,
                                             attnrt_device *device,
                                             uint32_t index,
                                             const Settings &settings) {
  KernelDesc desc;
  std::string error;
  if (!describe(bundle, index, desc, error))
    return {ordered_json{{"error", error}, {"ok", false}}};
  if (!settings.allSpecialisations || !device)
    return {runOne(bundle, device, desc, settings)};
  attnrt_kernel_info info;
  if (attnrt_bundle_kernel(bundle, index, &info) != ATTNRT_OK)
    return {ordered_json{{"error", attnrt_last_error()}, {"ok", false}}};
  std::vector<ordered_json> lines;
  for (uint32_t i = 0; i < info.specialisations; ++i) {
    Settings one = settings;
    one.specialisation = int32_t(i);
    ordered_json line = runOne(bundle, device, desc, one);
    line["specialisation"] = i;
    attnrt_specialisation_info spec;
    if (attnrt_bundle_specialisation(bundle, index, i, &spec) == ATTNRT_OK) {
      line["target"] = spec.target;
      line["element"] = oracle::nameOf(elementOf(spec.element));
      line["schedule"] = spec.schedule;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}
