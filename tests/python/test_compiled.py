"""Compiled functions of other packages: C code behind a capsule, in expressions and formulas, static and live."""

import ctypes
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest

import tickframe as tf

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include "tickframe_function.h"

static void free_schema(struct ArrowSchema* schema) { schema->release = NULL; }
static void free_array(struct ArrowArray* array) {
  free((void*)array->buffers[1]);
  if (array->n_buffers > 2) free((void*)array->buffers[2]);
  free(array->buffers);
  array->release = NULL;
}

static int kind(struct ArrowSchema* result, const char* format) {
  memset(result, 0, sizeof *result);
  result->format = format; result->name = ""; result->flags = 2; result->release = free_schema;
  return 0;
}

static int of_floats(void* state, int64_t n, const struct ArrowSchema* const* types, struct ArrowSchema* result,
                     char* message, size_t room) {
  for (int64_t i = 0; i < n; i++)
    if (strcmp(types[i]->format, "g")) {
      snprintf(message, room, "argument %d is %s, and must be a Float64", (int)i, types[i]->format);
      return 1;
    }
  return kind(result, "g");
}

static void give(struct ArrowArray* result, int64_t rows, void* cells) {
  memset(result, 0, sizeof *result);
  result->length = rows; result->n_buffers = 2;
  result->buffers = malloc(2 * sizeof(void*));
  result->buffers[0] = NULL; result->buffers[1] = cells;
  result->release = free_array;
}

static int is_null(const struct ArrowArray* array, int64_t row) {
  const unsigned char* bits = array->buffers[0];
  row += array->offset;
  return bits && !(bits[row >> 3] >> (row & 7) & 1);
}

static int add(void* state, int64_t rows, int64_t n, const struct ArrowSchema* const* types,
               const struct ArrowArray* const* cells, struct ArrowArray* result, char* message, size_t room) {
  double* sum = calloc(rows ? rows : 1, sizeof(double));
  for (int64_t i = 0; i < n; i++) {
    const double* values = (const double*)cells[i]->buffers[1] + cells[i]->offset;
    for (int64_t row = 0; row < rows; row++) {
      if (!is_null(cells[i], row)) sum[row] += values[row];
      if (!is_null(cells[i], row) && values[row] == -1) {
        free(sum); snprintf(message, room, "row %d is less than nothing", (int)row); return 7;
      }
    }
  }
  give(result, rows, sum);
  return 0;
}

static int one_too_many(void* state, int64_t rows, int64_t n, const struct ArrowSchema* const* types,
                        const struct ArrowArray* const* cells, struct ArrowArray* result, char* message, size_t room) {
  give(result, rows + 1, calloc(rows + 1, sizeof(double)));
  return 0;
}

static int silent(void* state, int64_t rows, int64_t n, const struct ArrowSchema* const* types,
                  const struct ArrowArray* const* cells, struct ArrowArray* result, char* message, size_t room) {
  return 1;
}

static int nothing(void* state, int64_t rows, int64_t n, const struct ArrowSchema* const* types,
                   const struct ArrowArray* const* cells, struct ArrowArray* result, char* message, size_t room) {
  return 0;
}

static int lengths_kind(void* state, int64_t n, const struct ArrowSchema* const* types, struct ArrowSchema* result,
                        char* message, size_t room) {
  if (n != 1 || strcmp(types[0]->format, "u")) return 1;
  return kind(result, "l");
}

static int lengths(void* state, int64_t rows, int64_t n, const struct ArrowSchema* const* types,
                   const struct ArrowArray* const* cells, struct ArrowArray* result, char* message, size_t room) {
  int64_t* lengths = calloc(rows ? rows : 1, sizeof(int64_t));
  const int32_t* offsets = (const int32_t*)cells[0]->buffers[1] + cells[0]->offset;
  for (int64_t row = 0; row < rows; row++) lengths[row] = offsets[row + 1] - offsets[row];
  give(result, rows, lengths);
  return 0;
}

/* Counts the rows it has seen: its chunks come in order. */
static int numbered(void* state, int64_t rows, int64_t n, const struct ArrowSchema* const* types,
                    const struct ArrowArray* const* cells, struct ArrowArray* result, char* message, size_t room) {
  double* numbers = calloc(rows ? rows : 1, sizeof(double));
  for (int64_t row = 0; row < rows; row++) numbers[row] = ++*(double*)state;
  give(result, rows, numbers);
  return 0;
}

static double seen;
static int no_type(void* state, int64_t n, const struct ArrowSchema* const* types, struct ArrowSchema* result,
                   char* message, size_t room) { return kind(result, "nonsense"); }

struct TickframeFunction FUNCTIONS[] = {
  {1, 0, "c_add", NULL, of_floats, add},
  {1, 0, "too_many", NULL, of_floats, one_too_many},
  {1, 0, "silent", NULL, of_floats, silent},
  {1, 0, "c_lengths", NULL, lengths_kind, lengths},
  {1, TICKFRAME_FUNCTION_STATEFUL, "numbered", &seen, of_floats, numbered},
  {2, 0, "later", NULL, of_floats, add},
  {1, 0, "half", NULL, of_floats, NULL},
  {1, 0, NULL, NULL, of_floats, add},
  {1, 0, "no_type", NULL, no_type, add},
  {1, 0, "nothing", NULL, of_floats, nothing},
};
"""
NAMES = ["c_add", "too_many", "silent", "c_lengths", "numbered", "later", "half", "nameless", "no_type", "nothing"]


class Compiled:
    """A function of a wheel, as such a wheel would give it."""

    def __init__(self, address: int, library: object, capsule: str = "tickframe_function") -> None:
        self._address, self._library, self._capsule = address, library, capsule.encode()

    def __tickframe_function__(self) -> object:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(self._address, self._capsule, None)


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "functions.c").write_text(SOURCE)
    header = str(Path(tf.__file__).parent / "include")
    made = folder / "functions.so"
    compiler = shutil.which("cc") or "gcc"
    command = [compiler, "-shared", "-fPIC", "-O1", "-I", header, "-o", str(made), str(folder / "functions.c")]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(made))
    first = ctypes.addressof(ctypes.c_char.in_dll(library, "FUNCTIONS"))
    size = 8 + 4 * ctypes.sizeof(ctypes.c_void_p)
    return {name: Compiled(first + at * size, library) for at, name in enumerate(NAMES)}


def test_it_stands_in_expressions_and_formulas(functions):
    add = tf.udf(functions["c_add"])
    assert repr(add) == "<udf c_add>"
    t = tf.table(
        {"x": [1.0, None, 3.0], "y": [0.5, 0.25, None], "s": ["a", "bcd", "a text that is longer than a view"]}
    )
    lengths = functions["c_lengths"]
    assert t.select(add("x", tf.col("y") * 2).alias("z")).to_dict() == {"z": [2.0, 0.5, 3.0]}
    assert t.update("Z = add(x, y) + 1", "N = lengths(s)").select("Z", "N").to_dict() == {
        "Z": [2.5, 1.25, 4.0],
        "N": [1, 3, 33],
    }
    assert t.filter(add("x") > 2)["y"].to_list() == [None]
    assert t.head(0).select(add("x").alias("z")).to_dict() == {"z": []}
    assert t.slice(1, 2).select(tf.udf(lengths)("s").alias("n")).to_dict() == {"n": [3, 33]}


def test_it_follows_a_live_table_on_several_threads(functions):
    graph = tf.Graph(threads=2)
    t = tf.keyed_table({"k": int, "x": float}, key="k", graph=graph)
    made = t.with_columns(tf.udf(functions["c_add"])("x", "x").alias("z")).group_by().agg(tf.col("z").sum())
    t.upsert({"k": range(50_000), "x": [1.0] * 50_000})
    graph.step()
    assert made.to_dict() == {"z": [100_000.0]}
    t.upsert({"k": [3, 4], "x": [2.0, 5.0]})
    graph.step()
    assert made.to_dict() == {"z": [100_010.0]}


def test_a_stateful_one_sees_its_chunks_in_order(functions):
    t = tf.table({"x": [0.0] * 300_000})
    numbers = t.select(tf.udf(functions["numbered"])("x").alias("n"))["n"].to_list()
    assert numbers == [float(n) for n in range(1, 300_001)]


def test_what_it_says_is_told(functions):
    t = tf.table({"x": [1.0, -1.0], "n": [1, 2]})
    for name, column, words in [
        ("c_add", "n", "c_add: argument 0 is l, and must be a Float64"),
        ("c_add", "x", "c_add: row 1 is less than nothing"),
        ("too_many", "x", "too_many gave 3 values for 2 rows"),
        ("silent", "x", "silent failed, and does not say why"),
        ("c_lengths", "x", "c_lengths takes no such arguments"),
        ("no_type", "x", "no_type: the type of its result is not sound Arrow data"),
        ("nothing", "x", "nothing: its result is not sound Arrow data"),
    ]:
        with pytest.raises(tf.errors.TickframeError, match=words):
            t.select(tf.udf(functions[name])(column).alias("z"))
    for name, words in [
        ("later", "the compiled function of a Compiled is of version 2, and this tickframe knows version 1"),
        ("half", "half lacks one of its functions"),
        ("nameless", "has no name"),
    ]:
        with pytest.raises(tf.errors.DataError, match=words):
            tf.udf(functions[name])
    other = Compiled(functions["c_add"]._address, None, "something_else")
    with pytest.raises(tf.errors.DataError, match='a capsule "tickframe_function" is due'):
        tf.udf(other)


def test_the_object_lives_as_long_as_something_calls_it(functions):
    import gc
    import weakref

    own = Compiled(functions["c_add"]._address, functions["c_add"]._library)
    known = weakref.ref(own)
    graph = tf.Graph()
    t = tf.append_table({"x": float}, graph=graph)
    made = t.select(tf.udf(own)("x").alias("z"))
    del own
    gc.collect()
    t.append({"x": [1.0, 2.0]})
    graph.step()
    assert made.to_dict() == {"z": [1.0, 2.0]}
    assert known() is not None
    del made
    graph.step()
    gc.collect()
    assert known() is None


def test_calls_of_several_threads_do_not_wait_for_one_another(functions):
    add = tf.udf(functions["c_add"])
    t = tf.table(pa.table({"x": pa.array([1.0] * 10_000)}))
    found: list[float] = []

    def sums() -> None:
        found.extend(t.select(add("x", "x").alias("z"))["z"].to_list()[-1] for _ in range(20))

    threads = [threading.Thread(target=sums) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert found == [2.0] * 80
    assert sys.getrefcount(add) < 100
