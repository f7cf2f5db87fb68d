// System libraries that are loaded when they are first needed. PROJ and curl bring forty libraries with them, whose
// symbols take the dynamic linker 8 ms: commands that use neither start without them.
//
// A shim lists a library's functions once and defines a jump for each, under the function's own name, so that callers
// are written, compiled and type-checked as if the library were linked. The jumps are hidden: the library's own calls
// of its functions do not come here.
#pragma once

typedef struct {
  const char *name;
  void **slot;
} clate_function;

typedef struct {
  // File names to try in order, up to NULL.
  const char *files[4];
  const clate_function *functions;
  int function_count;
  // Set by clate_load.
  int is_loaded;
  char reason[512];
} clate_library;

/// Loads a library once, from any thread. Returns NULL, or the reason why it cannot be used, with the file's name.
/// None of its functions may be called before.
const char *clate_load(clate_library *library);

#define CLATE_SLOT(name) __attribute__((visibility("hidden"))) void *clate_slot_##name;
#define CLATE_ROW(name) {#name, &clate_slot_##name},
#define CLATE_LABEL(name) ".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", %function\n" #name ":\n"
#define CLATE_END(name) ".size " #name ", .-" #name "\n"
#if defined(__x86_64__)
#define CLATE_JUMP(name) __asm__(CLATE_LABEL(name) "jmp *clate_slot_" #name "(%rip)\n" CLATE_END(name));
#elif defined(__aarch64__)
#define CLATE_JUMP(name)                                                                                 \
  __asm__(CLATE_LABEL(name) "adrp x16, clate_slot_" #name "\nldr x16, [x16, :lo12:clate_slot_" #name     \
                            "]\nbr x16\n" CLATE_END(name));
#endif

/// Defines the library `name` from a macro that lists its functions: `LIST(F)` is `F(first) F(second) ...`.
/// Apple's platforms link their libraries as usual.
#if defined(__APPLE__)
#define CLATE_LIBRARY(name, LIST, ...) static clate_library name = {.is_loaded = 1};
#else
#define CLATE_LIBRARY(name, LIST, ...)                                         \
  LIST(CLATE_SLOT)                                                             \
  LIST(CLATE_JUMP)                                                             \
  static const clate_function name##_functions[] = {LIST(CLATE_ROW)};          \
  static clate_library name = {                                                \
      .files = {__VA_ARGS__},                                                  \
      .functions = name##_functions,                                           \
      .function_count = sizeof name##_functions / sizeof name##_functions[0]};
#endif
