/* A compiled function of columns: what another package gives tickframe to call, in C, C++, Rust or any language with a C
 * interface.
 *
 * A Python object has one in a capsule named "tickframe_function", which its method __tickframe_function__() gives. It is
 * called once a chunk with Arrow arrays of the C data interface, wherever it stands in an expression or a formula, without
 * the GIL, and on several threads at once unless its flags say otherwise. The object is kept as long as anything calls it.
 */
#ifndef TICKFRAME_FUNCTION_H
#define TICKFRAME_FUNCTION_H

#include <stddef.h>
#include <stdint.h>

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#define TICKFRAME_FUNCTION_VERSION 1

/* It keeps state or depends on the order of rows: its chunks come one after the other, in order. */
#define TICKFRAME_FUNCTION_STATEFUL 1

struct TickframeFunction {
  /* TICKFRAME_FUNCTION_VERSION. */
  int32_t version;
  /* Flags, or 0. */
  int32_t flags;
  /* What it is called in messages: UTF-8, ends with a zero. */
  const char* name;
  /* Passed to both functions. */
  void* state;

  /* The type of the result for arguments of these types. Fills `result` and gives 0; or writes why it takes no such
   * arguments into `message`, which has room for so many bytes with its last zero, and gives another number. The arguments
   * are borrowed: they are neither kept nor released. */
  int (*returns)(void* state, int64_t arguments, const struct ArrowSchema* const* types, struct ArrowSchema* result,
                 char* message, size_t room);

  /* One value for each of so many rows, of the type that `returns` said. Fills `result`, whose release callback will be
   * called, and gives 0; or writes what is wrong into `message` and gives another number. The arguments are borrowed for
   * the call, and are not written to. */
  int (*call)(void* state, int64_t rows, int64_t arguments, const struct ArrowSchema* const* types,
              const struct ArrowArray* const* cells, struct ArrowArray* result, char* message, size_t room);
};

#endif /* TICKFRAME_FUNCTION_H */
