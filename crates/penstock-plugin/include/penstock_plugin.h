/* Operators of your own in a shared library, which `tf.load_op_library` loads.
 *
 * - The library exports the function penstock_operators_v1, which describes its operators.
 * - What it describes is constant, and lives as long as the library. Texts are UTF-8 and end with a zero.
 * - `types` and `run` are called from any number of threads at once. They return 0, or another number where they fail, with
 *   the reason in `error`; they must not throw or exit. Memory that they are given is not used after the call.
 * - No memory is handed over: the caller has room for all results.
 */
#ifndef PENSTOCK_PLUGIN_H
#define PENSTOCK_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define PENSTOCK_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define PENSTOCK_EXPORT __attribute__((visibility("default")))
#else
#define PENSTOCK_EXPORT
#endif

/* The dtypes of elements, by TensorFlow's numbers. */
#define PENSTOCK_FLOAT32 1
#define PENSTOCK_FLOAT64 2
#define PENSTOCK_INT32 3
#define PENSTOCK_UINT8 4
#define PENSTOCK_INT16 5
#define PENSTOCK_INT8 6
#define PENSTOCK_COMPLEX64 8 /* two FLOAT32: the real part, the imaginary part */
#define PENSTOCK_INT64 9
#define PENSTOCK_BOOL 10 /* bytes that are 0 or 1 */
#define PENSTOCK_BFLOAT16 14
#define PENSTOCK_UINT16 17
#define PENSTOCK_COMPLEX128 18
#define PENSTOCK_FLOAT16 19
#define PENSTOCK_UINT32 22
#define PENSTOCK_UINT64 23

#define PENSTOCK_MAX_RANK 32
#define PENSTOCK_MAX_MESSAGE 1024

/* What is known of a tensor. */
typedef struct penstock_type {
  int32_t dtype;
  int32_t rank;                     /* -1 where it is not known */
  int64_t sizes[PENSTOCK_MAX_RANK]; /* the first `rank` count; -1 for one that is not known */
} penstock_type;

/* Where a function that fails writes the reason. */
typedef struct penstock_error {
  char message[PENSTOCK_MAX_MESSAGE];
} penstock_error;

/* An operator. */
typedef struct penstock_operator {
  const char *name;           /* an identifier of Python */
  const char *doc;            /* what it does, in a line or more; may be NULL */
  const char *const *inputs;  /* their names, identifiers of Python, and a NULL at the end */
  const char *const *outputs; /* the same of the results */
  /* The operator of this library that computes the gradients, or NULL. Its inputs are those of this operator, then its
   * outputs, then the gradient of each output. Its outputs have the names of the inputs whose gradients they are; an input
   * that is not among them has none. */
  const char *gradient;
  /* PENSTOCK_STATEFUL, or 0. */
  uint64_t flags;
  /* Says what the results are, by what the inputs are. `outputs` has a place for each result, to be filled. It depends on
   * nothing but the types of the inputs. Where all of their sizes are known, all sizes of the results must be. */
  int32_t (*types)(void *data, const penstock_type *inputs, penstock_type *outputs, penstock_error *error);
  /* Computes the results. The types say all sizes; those of the results are what `types` said. Elements are row-major and
   * aligned. The memory of the results is zero at first. */
  int32_t (*run)(void *data, const penstock_type *input_types, const void *const *inputs, const penstock_type *output_types,
                 void *const *outputs, penstock_error *error);
  void *data; /* of your own, for `types` and `run` */
} penstock_operator;

/* The operator does more than compute its results: every call runs, in the order of the program. Of others a call runs only
 * where a result is used, and equal calls may become one. */
#define PENSTOCK_STATEFUL 1

/* What a library has. */
typedef struct penstock_library {
  const penstock_operator *operators;
  size_t len;
} penstock_library;

/* The function to define. Its name tells the version of this interface, which is the layout of all of the above. */
PENSTOCK_EXPORT const penstock_library *penstock_operators_v1(void);

#ifdef __cplusplus
}
#endif
#endif
