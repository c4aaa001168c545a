// SPDX-License-Identifier: Apache-2.0
// A slow disk for tests, by LD_PRELOAD: read, pread and pread64 of files under SLOW_DISK_FOLDER wait
// for a token bucket that all threads share, and for a latency of their own. The two numbers stand
// in the file SLOW_DISK_LIMITS as doubles, bytes a second (0: no limit) and seconds a read, and may
// change while the process runs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define BURST_S 0.1  // what an idle bucket saves up

static const volatile double *limits;
static const char *folder;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static double served_until_s;

static void set_up(void) {
  const char *name = getenv("SLOW_DISK_LIMITS");
  folder = getenv("SLOW_DISK_FOLDER");
  if (name == NULL || folder == NULL) return;
  int file = open(name, O_RDONLY);
  if (file < 0) return;
  void *memory = mmap(NULL, 2 * sizeof(double), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) limits = memory;
}

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int is_slow(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strncmp(path, folder, strlen(folder)) == 0;
}

static void wait_for(int file, ssize_t bytes) {
  pthread_once(&once, set_up);
  if (limits == NULL || bytes <= 0 || !is_slow(file)) return;
  double now = now_s(), until = now + limits[1];
  if (limits[0] > 0) {
    pthread_mutex_lock(&mutex);
    if (served_until_s < now - BURST_S) served_until_s = now - BURST_S;
    served_until_s += (double)bytes / limits[0];
    if (served_until_s > until) until = served_until_s;
    pthread_mutex_unlock(&mutex);
  }
  double left = until - now;
  if (left <= 0) return;
  struct timespec pause = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
  nanosleep(&pause, NULL);
}

ssize_t read(int file, void *buffer, size_t size) {
  static ssize_t (*next)(int, void *, size_t);
  if (next == NULL) next = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
  ssize_t bytes = next(file, buffer, size);
  wait_for(file, bytes);
  return bytes;
}

ssize_t pread(int file, void *buffer, size_t size, off_t offset) {
  static ssize_t (*next)(int, void *, size_t, off_t);
  if (next == NULL) next = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  ssize_t bytes = next(file, buffer, size, offset);
  wait_for(file, bytes);
  return bytes;
}

ssize_t pread64(int file, void *buffer, size_t size, off64_t offset) {
  static ssize_t (*next)(int, void *, size_t, off64_t);
  if (next == NULL) next = (ssize_t(*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
  ssize_t bytes = next(file, buffer, size, offset);
  wait_for(file, bytes);
  return bytes;
}
