// Cards, their queues, streams, graphs and events.
#include "tests/cuda_on_host/card.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "core/error.h"

namespace cuda_on_host {
namespace {

thread_local int g_current = 0;
int g_captures = 0;
int64_t g_calls = 0, g_graphs = 0, g_live_graphs = 0;
std::vector<std::pair<cudaStream_t, cudaStream_t>> g_orders;
int64_t g_work = 0;  // kernels, products and copies that ran
cudaError_t g_last = cudaSuccess;
std::string g_name;
CardSize g_size;
std::map<const void*, size_t> g_shared;  // that kernels may have beyond what all may
int64_t& failing() {
  static int64_t n = [] {
    const char* setting = std::getenv("NINE_STAND_IN_FAIL");
    return setting == nullptr ? 0 : std::atoll(setting);
  }();
  return n;
}

struct Stream final : cuda_on_host_stream {
  explicit Stream(int index) : card_index(index) {}
  void submit(Work work) override {
    if (capture != nullptr) {
      capture->work.push_back(std::move(work));
    } else {
      card(card_index).queue.push_back(std::move(work));
    }
  }
  void require_memory(const char* op, const void* p, size_t bytes) const override {
    const Card* owner = card_of(p);
    nine::require(owner != nullptr, "[", op, "] was given an address of the host's memory");
    nine::require(owner == &card(card_index), "[", op, "] was given an address of another GPU");
    nine::require(owner->memory.holds(p, bytes), "[", op, "] ", bytes,
                  " bytes leave their block of device memory, or it was freed");
  }
  void accesses(const char* op, const void* p, size_t pitch, size_t width, size_t rows,
                bool store) const override {
    card(card_index)
        .memory.require_access(op, p, pitch, width, rows, store ? Access::store : Access::load);
  }
  bool current() const override { return g_current == card_index; }
  bool fails() override { return enter() != cudaSuccess; }

  int card_index;
  std::unique_ptr<cuda_on_host_graph> capture;
};
Stream& of(cudaStream_t stream) { return static_cast<Stream&>(*stream); }

}  // namespace

Card& card(int index) {
  // Never destroyed: tensors that tests keep in statics are freed into it at the end.
  static Card* const all = new Card[kCards];
  return all[index];
}
int current_card() { return g_current; }
Card* card_of(const void* p) {
  for (int i = 0; i < kCards; ++i)
    if (card(i).memory.has(p)) return &card(i);
  return nullptr;
}

void drain(Card& c) {
  if (c.queue.empty()) return;
  const CardMemory::Open open(c.memory);
  while (!c.queue.empty()) {
    const Work work = std::move(c.queue.front());
    c.queue.pop_front();
    try {
      for (const void* p : work.uses)
        nine::require(c.memory.holds(p, 0), "[", work.op,
                      "] runs with an address of memory that was freed");
      work.run();
      g_work += work.counts;
    } catch (...) {
      if (!c.late) c.late = std::current_exception();
      std::erase_if(c.queue, [](const Work& lost) { return !lost.always; });
    }
  }
}

void rethrow_late(Card& c) {
  if (c.late) std::rethrow_exception(std::exchange(c.late, nullptr));
}

bool captures() { return g_captures > 0; }

cudaError_t failed(cudaError_t error) {
  if (error != cudaSuccess) g_last = error;
  return error;
}
cudaError_t enter() {
  ++g_calls;
  return failing() > 0 && --failing() == 0 ? failed(cudaErrorUnknown) : cudaSuccess;
}
void fail_call(int64_t n) { failing() = n; }
void set_card_size(const CardSize& size) { g_size = size; }
size_t most_shared(const void* function) {
  const auto found = g_shared.find(function);
  return std::max(found == g_shared.end() ? 0 : found->second, size_t{48} << 10);
}
size_t blocks_at_once(size_t shared) {
  constexpr size_t kBlocks = 2,
                   kReserved = 1 << 10;  // a multiprocessor's, and bytes of every block
  return static_cast<size_t>(g_size.multiprocessors) *
         std::min(kBlocks, g_size.shared / (shared + kReserved));
}
cudaError_t let_use_shared(const void* function, int bytes) {
  NINE_ENTER();
  if (static_cast<size_t>(bytes) > g_size.most_shared) return failed(cudaErrorInvalidValue);
  g_shared[function] = static_cast<size_t>(bytes);
  return cudaSuccess;
}
cudaError_t count_blocks_at_once(int* blocks, const void* function, size_t shared) {
  NINE_ENTER();
  if (shared > most_shared(function)) return failed(cudaErrorInvalidValue);
  *blocks = static_cast<int>(blocks_at_once(shared)) / g_size.multiprocessors;
  return cudaSuccess;
}
void set_card_name(const std::string& name) { g_name = name; }
std::vector<std::pair<cudaStream_t, cudaStream_t>> take_orders() {
  return std::exchange(g_orders, {});
}
int64_t api_calls() { return g_calls; }
int64_t graphs_launched() { return g_graphs; }
int64_t live_graphs() { return g_live_graphs; }

}  // namespace cuda_on_host

using namespace cuda_on_host;

const char* cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorNotReady:
      return "device not ready";
    default:
      return "unknown error";
  }
}
cudaError_t cudaGetLastError() { return std::exchange(g_last, cudaSuccess); }

cudaError_t cudaGetDeviceCount(int* n) {
  NINE_ENTER();
  *n = kCards;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int index) {
  NINE_ENTER();
  const char* setting = std::getenv("NINE_STAND_IN_GPU");
  const std::string name = !g_name.empty() ? g_name : setting != nullptr ? setting : "Stand-in";
  std::snprintf(p->name, sizeof p->name, "%s %d", name.c_str(), index);
  p->major = 9;
  p->minor = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  NINE_ENTER();
  *value = attribute == cudaDevAttrMultiProcessorCount ? g_size.multiprocessors
           : attribute == cudaDevAttrCooperativeLaunch ? 1
                                                       : static_cast<int>(g_size.most_shared);
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* v) {
  NINE_ENTER();
  *v = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* v) {
  NINE_ENTER();
  *v = 13000;
  return cudaSuccess;
}
// Not counted, and never fails: it reads a variable of the thread.
cudaError_t cudaGetDevice(int* i) {
  *i = g_current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int i) {
  NINE_ENTER();
  if (i < 0 || i >= kCards) return failed(cudaErrorInvalidDevice);
  g_current = i;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  NINE_ENTER();
  *s = new Stream(g_current);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  NINE_ENTER();
  drain(card(of(s).card_index));
  delete s;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  nine::require(!captures(), "a stream that captures cannot be waited for");
  NINE_ENTER();
  Card& c = card(of(s).card_index);
  drain(c);
  rethrow_late(c);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  nine::require(of(s).capture == nullptr, "a stream captures already");
  NINE_ENTER();
  of(s).capture = std::make_unique<cuda_on_host_graph>();
  ++g_captures;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* graph) {
  *graph = nullptr;
  nine::require(of(s).capture != nullptr, "a stream that does not capture cannot end it");
  --g_captures;
  const std::unique_ptr<cuda_on_host_graph> captured = std::move(of(s).capture);
  NINE_ENTER();
  *graph = new cuda_on_host_graph(*captured);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  NINE_ENTER();
  *exec = new std::shared_ptr<const cuda_on_host_graph>(new cuda_on_host_graph(*graph));
  ++g_live_graphs;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s) {
  if (!of(s).current()) return failed(cudaErrorInvalidResourceHandle);
  NINE_ENTER();
  ++g_graphs;
  for (const Work& work : (*exec)->work) {
    for (const void* p : work.uses) of(s).require_memory(work.op, p, 0);
    of(s).submit(work);
  }
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  NINE_ENTER();
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  --g_live_graphs;
  delete exec;  // what was launched is freed when it has run
  NINE_ENTER();
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* e) {
  NINE_ENTER();
  *e = new std::shared_ptr<cuda_on_host_event>(new cuda_on_host_event);
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return cudaEventCreate(e); }
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  delete e;
  NINE_ENTER();
  return cudaSuccess;
}
// Streams share a queue, so that the order holds already; which streams were ordered is kept.
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
  NINE_ENTER();
  if (!(*e)->recorded) return failed(cudaErrorInvalidResourceHandle);
  g_orders.emplace_back((*e)->stream, s);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  NINE_ENTER();
  **e = {.recorded = true, .stream = s};
  if (s == nullptr) return cudaSuccess;  // the default stream, to which nothing is submitted here
  s->submit({"event",
             {},
             [event = *e] {
               event->done = true;
               event->seconds = 1e-6 * static_cast<double>(g_work);
             },
             false});
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  nine::require(!captures(), "an event cannot be waited for while a stream captures");
  NINE_ENTER();
  for (int i = 0; i < kCards && (*e)->recorded && !(*e)->done; ++i) {
    drain(card(i));
    rethrow_late(card(i));
  }
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  NINE_ENTER();
  if (!(*from)->recorded || !(*to)->recorded) return failed(cudaErrorInvalidResourceHandle);
  if (!(*from)->done || !(*to)->done) return failed(cudaErrorNotReady);
  *ms = static_cast<float>(1e3 * ((*to)->seconds - (*from)->seconds));
  return cudaSuccess;
}
