/* Penstock's programs in C: load one, run its functions on memory of yours.
 *
 * - A function that can fail returns a ps_status, PS_OK where it did not, and takes a `ps_error **`, which may be NULL. Where it
 *   fails and that is not NULL, *error becomes an error that the caller frees by ps_error_free. Outputs are then as they were.
 * - Handles may be used from any number of threads at once. What is freed must not be used by any.
 * - Texts are UTF-8 and end with a zero. Those that are returned live as long as the handle they are asked of.
 * - Memory that a call is given is not used after it. No function throws, exits or prints; a fault of the engine is PS_INTERNAL.
 */
#ifndef PENSTOCK_H
#define PENSTOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface, which ps_abi_version gives for the library in use. A library serves all programs that were
 * compiled for its version or an earlier one. */
#define PS_ABI_VERSION 1
uint32_t ps_abi_version(void);

typedef int32_t ps_status;
#define PS_OK 0
#define PS_INVALID_ARGUMENT 1
#define PS_NOT_FOUND 2
#define PS_FAILED_PRECONDITION 3
#define PS_RESOURCE_EXHAUSTED 4
#define PS_UNIMPLEMENTED 5
#define PS_CANCELLED 6
#define PS_WRONG_DTYPE 7
#define PS_OUT_OF_BOUNDS 8
#define PS_INTERNAL 9
#define PS_OTHER 10

/* Elements, as in DLPack: a kind and bits. */
typedef struct ps_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes; /* 1 */
} ps_dtype;
#define PS_INT 0
#define PS_UINT 1
#define PS_FLOAT 2
#define PS_BFLOAT 4
#define PS_COMPLEX 5
#define PS_BOOL 6
/* Not of DLPack: no memory of the caller holds such elements. */
#define PS_STRING 255

/* Row-major elements in memory of the caller, of any alignment. */
typedef struct ps_tensor {
  void *data;
  const int64_t *shape; /* `ndim` extents; may be NULL where ndim is 0 */
  int32_t ndim;
  ps_dtype dtype;
} ps_tensor;

/* An input or an output of a function. */
typedef struct ps_port {
  const char *name;
  const int64_t *shape; /* `ndim` extents; -1 is one that every call chooses */
  int32_t ndim;         /* -1 where the rank is not known */
  ps_dtype dtype;
} ps_port;

typedef struct ps_error ps_error;
typedef struct ps_program ps_program;
typedef struct ps_function ps_function;
typedef struct ps_results ps_results;

ps_status ps_error_code(const ps_error *error);
const char *ps_error_message(const ps_error *error);
void ps_error_free(ps_error *error);

/* Loads a program from a file, or from `size` bytes. It may use at most `threads` threads for a run, or all for 0. It can reach
 * neither files nor the process that loads it. */
ps_status ps_program_load(const char *path, size_t threads, ps_program **program, ps_error **error);
ps_status ps_program_from_bytes(const void *bytes, size_t size, size_t threads, ps_program **program, ps_error **error);
/* The same program with variables of its own, whose values are those of now; the weights are shared. */
ps_status ps_program_fork(const ps_program *program, ps_program **fork, ps_error **error);
ps_status ps_program_save(const ps_program *program, const char *path, ps_error **error);
void ps_program_free(ps_program *program);

/* A function by name, or, for NULL, the one that needs none. It keeps its program. */
ps_status ps_program_function(const ps_program *program, const char *name, ps_function **function, ps_error **error);
const char *ps_function_name(const ps_function *function);
size_t ps_function_inputs(const ps_function *function);
size_t ps_function_outputs(const ps_function *function);
/* The port of a number; PS_NOT_FOUND where there are not so many. */
ps_status ps_function_input(const ps_function *function, size_t index, ps_port *port, ps_error **error);
ps_status ps_function_output(const ps_function *function, size_t index, ps_port *port, ps_error **error);
void ps_function_free(ps_function *function);

/* Runs a function on tensors in the order of its inputs, which are copied. */
ps_status ps_run(const ps_function *function, const ps_tensor *inputs, size_t inputs_len, ps_results **results, ps_error **error);
/* Runs it and writes the outputs to memory of the caller, of their shapes and dtypes: all of them or, on an error, none. */
ps_status ps_run_into(const ps_function *function, const ps_tensor *inputs, size_t inputs_len, const ps_tensor *outputs,
                      size_t outputs_len, ps_error **error);

size_t ps_results_len(const ps_results *results);
/* The result of a number, in memory that lives as long as `results` and must not be written to. */
ps_status ps_results_get(const ps_results *results, size_t index, ps_tensor *tensor, ps_error **error);
void ps_results_free(ps_results *results);

#ifdef __cplusplus
}
#endif
#endif
