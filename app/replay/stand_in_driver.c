/* A stand-in for NVIDIA's driver library, libcuda.so.1, on a machine that has no GPU.
 *
 * Up to jaxlib 0.4.33 XLA's CUDA plugin compiles only where it sees devices. This library shows it
 * some: it answers what the plugin asks before and while it compiles with the properties of one
 * H100, and gives host memory for device memory. Nothing runs on these devices: a kernel launch,
 * like every other call, finds no such function, which the plugin takes for an error of the driver.
 *
 * HLOSCOPE_DEVICES is how many devices there are (default 8).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, NOT_FOUND = 500 };

#define MOST_DEVICES 1024
#define MEMORY_BYTES 85045346304ULL
#define LARGEST_BUFFER (1ULL << 31)
#define PAGE 4096

/* A context is the address of its device's entry. */
static int devices[MOST_DEVICES];
static __thread int *current;

static int device_count(void) {
  const char *text = getenv("HLOSCOPE_DEVICES");
  int count = text ? atoi(text) : 8;
  return count < 1 ? 1 : count > MOST_DEVICES ? MOST_DEVICES : count;
}

static int is_device(int device) { return device >= 0 && device < device_count(); }

static int give_memory(void **address, size_t bytes) {
  if (bytes > LARGEST_BUFFER) return OUT_OF_MEMORY;
  return posix_memalign(address, PAGE, bytes ? bytes : 1) ? OUT_OF_MEMORY : SUCCESS;
}

static int give_handle(void **handle) {
  *handle = malloc(1);
  return *handle ? SUCCESS : OUT_OF_MEMORY;
}

/* ---- the driver and its devices ---------------------------------------------------------- */

int cuInit(unsigned flags) {
  for (int i = 0; i < MOST_DEVICES; i++) devices[i] = i;
  return SUCCESS;
}

int cuDriverGetVersion(int *version) {
  *version = 12040;
  return SUCCESS;
}

int cuDeviceGetCount(int *count) {
  *count = device_count();
  return SUCCESS;
}

int cuDeviceGet(int *device, int ordinal) {
  if (!is_device(ordinal)) return INVALID_DEVICE;
  *device = ordinal;
  return SUCCESS;
}

int cuDeviceGetName(char *name, int size, int device) {
  snprintf(name, (size_t)size, "NVIDIA H100 80GB HBM3");
  return SUCCESS;
}

int cuDeviceGetPCIBusId(char *name, int size, int device) {
  snprintf(name, (size_t)size, "00000000:%02X:00.0", device & 0xff);
  return SUCCESS;
}

int cuDeviceGetUuid_v2(char *uuid, int device) {
  memset(uuid, 0, 16);
  memcpy(uuid, &device, sizeof device);
  return SUCCESS;
}

int cuDeviceGetUuid(char *uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  *bytes = MEMORY_BYTES;
  return SUCCESS;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer) {
  *can = 1;
  return SUCCESS;
}

/* Numbers of CUdevice_attribute in cuda.h, and what an H100 SXM answers. */
static const struct {
  int attribute, value;
} h100[] = {
    {1, 1024},       /* threads of a block */
    {2, 1024},       /* block, x */
    {3, 1024},       /* block, y */
    {4, 64},         /* block, z */
    {5, 2147483647}, /* grid, x */
    {6, 65535},      /* grid, y */
    {7, 65535},      /* grid, z */
    {8, 49152},      /* shared memory of a block, bytes */
    {9, 65536},      /* constant memory, bytes */
    {10, 32},        /* threads of a warp */
    {12, 65536},     /* registers of a block */
    {13, 1980000},   /* clock, kHz */
    {14, 512},       /* texture alignment, bytes */
    {15, 1},         /* copies while a kernel runs */
    {16, 132},       /* multiprocessors */
    {19, 1},         /* maps host memory */
    {31, 1},         /* runs several kernels */
    {36, 2619000},   /* memory clock, kHz */
    {37, 5120},      /* memory bus, bits */
    {38, 52428800},  /* L2 cache, bytes */
    {39, 2048},      /* threads of a multiprocessor */
    {40, 3},         /* copy engines */
    {41, 1},         /* one address space with the host */
    {75, 9},         /* compute capability, major */
    {76, 0},         /* compute capability, minor */
    {81, 233472},    /* shared memory of a multiprocessor, bytes */
    {82, 65536},     /* registers of a multiprocessor */
    {97, 232448},    /* shared memory of a block that asks for more, bytes */
    {115, 1},        /* memory pools */
};

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 33 ? device : 0; /* 33: the PCI bus */
  for (size_t i = 0; i < sizeof h100 / sizeof *h100; i++)
    if (h100[i].attribute == attribute) *value = h100[i].value;
  return SUCCESS;
}

/* ---- contexts ---------------------------------------------------------------------------- */

int cuDevicePrimaryCtxRetain(int **context, int device) {
  if (!is_device(device)) return INVALID_DEVICE;
  *context = &devices[device];
  return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device) { return SUCCESS; }

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) { return SUCCESS; }

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  *flags = 0;
  *active = 0;
  return SUCCESS;
}

int cuCtxGetCurrent(int **context) {
  *context = current;
  return SUCCESS;
}

int cuCtxSetCurrent(int *context) {
  current = context;
  return SUCCESS;
}

int cuCtxPushCurrent_v2(int *context) { return cuCtxSetCurrent(context); }

int cuCtxPopCurrent_v2(int **context) { return context ? cuCtxGetCurrent(context) : SUCCESS; }

int cuCtxGetDevice(int *device) {
  *device = current ? *current : 0;
  return SUCCESS;
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return SUCCESS;
}

int cuCtxSynchronize(void) { return SUCCESS; }

int cuCtxEnablePeerAccess(int *context, unsigned flags) { return SUCCESS; }

/* ---- memory ------------------------------------------------------------------------------ */

int cuMemGetInfo_v2(size_t *available, size_t *total) {
  *total = MEMORY_BYTES;
  *available = MEMORY_BYTES - (1ULL << 30);
  return SUCCESS;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  void *memory = NULL;
  int status = give_memory(&memory, bytes);
  *address = (uint64_t)(uintptr_t)memory;
  return status;
}

int cuMemFree_v2(uint64_t address) {
  free((void *)(uintptr_t)address);
  return SUCCESS;
}

int cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
  return give_memory(address, bytes);
}

int cuMemAllocHost_v2(void **address, size_t bytes) { return give_memory(address, bytes); }

int cuMemFreeHost(void *address) {
  free(address);
  return SUCCESS;
}

int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags) { return SUCCESS; }

int cuMemHostUnregister(void *address) { return SUCCESS; }

int cuPointerGetAttribute(void *data, int attribute, uint64_t address) { return INVALID_VALUE; }

/* ---- streams and events: all is done at once ----------------------------------------------- */

int cuStreamCreate(void **stream, unsigned flags) { return give_handle(stream); }

int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  return give_handle(stream);
}

int cuStreamDestroy_v2(void *stream) {
  free(stream);
  return SUCCESS;
}

int cuStreamSynchronize(void *stream) { return SUCCESS; }

int cuStreamQuery(void *stream) { return SUCCESS; }

int cuStreamWaitEvent(void *stream, void *event, unsigned flags) { return SUCCESS; }

int cuEventCreate(void **event, unsigned flags) { return give_handle(event); }

int cuEventDestroy_v2(void *event) {
  free(event);
  return SUCCESS;
}

int cuEventRecord(void *event, void *stream) { return SUCCESS; }

int cuEventQuery(void *event) { return SUCCESS; }

int cuEventSynchronize(void *event) { return SUCCESS; }

int cuLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
  function(data);
  return SUCCESS;
}

/* ---- errors and entry points --------------------------------------------------------------- */

int cuGetErrorName(int error, const char **name) {
  *name = "STAND_IN_DRIVER";
  return SUCCESS;
}

int cuGetErrorString(int error, const char **text) {
  *text = "hloscope's stand-in for the CUDA driver has no device to do this on";
  return SUCCESS;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                        int *status) {
  char versioned[256];
  Dl_info here;
  void *self = dladdr((void *)cuInit, &here) ? dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : 0;
  snprintf(versioned, sizeof versioned, "%s_v2", name);
  *function = self ? dlsym(self, versioned) : NULL;
  if (self && !*function) *function = dlsym(self, name);
  if (status) *status = *function ? 0 : 1;
  return *function ? SUCCESS : NOT_FOUND;
}

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
