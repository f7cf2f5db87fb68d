#include "CLazyLibrary.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *load(clazy_library *library) {
  void *handle = NULL;
  for (int i = 0; !handle && library->files[i]; i++) {
    handle = dlopen(library->files[i], RTLD_LAZY | RTLD_LOCAL);
    // The first name is the one that people install.
    const char *words = handle ? NULL : dlerror();
    if (words && i == 0) snprintf(library->reason, sizeof library->reason, "%s", words);
  }
  if (!handle) return library->reason;
  for (int i = 0; i < library->function_count; i++) {
    const clazy_function *function = &library->functions[i];
    if (!(*function->slot = dlsym(handle, function->name))) {
      snprintf(library->reason, sizeof library->reason, "%s: it has no function %s", library->files[0], function->name);
      return library->reason;
    }
  }
  __atomic_store_n(&library->is_loaded, 1, __ATOMIC_RELEASE);
  return NULL;
}

const char *clazy_load(clazy_library *library) {
  if (__atomic_load_n(&library->is_loaded, __ATOMIC_ACQUIRE)) return NULL;
  pthread_mutex_lock(&lock);
  const char *reason = library->is_loaded ? NULL : load(library);
  pthread_mutex_unlock(&lock);
  return reason;
}
