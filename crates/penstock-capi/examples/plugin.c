/* A plug-in in C: a shared library that replaces blocks of samples by what a program makes of them. */

#include "plugin.h"

#include <stdio.h>
#include <stdlib.h>

#include "penstock.h"

struct effect {
  ps_program *program;
  ps_function *function;
};

/* Whether a port is a vector of f32. */
static int is_vector(const ps_port *port) {
  return port->ndim == 1 && port->dtype.code == PS_FLOAT && port->dtype.bits == 32;
}

effect *effect_open(const char *path, char *message, size_t message_len) {
  ps_error *error = NULL;
  ps_port in, out;
  effect *e = calloc(1, sizeof *e);
  if (e == NULL) {
    snprintf(message, message_len, "no memory");
    return NULL;
  }
  /* A plug-in leaves the threads to its host. */
  if (ps_program_load(path, 1, &e->program, &error) == PS_OK &&
      ps_program_function(e->program, NULL, &e->function, &error) == PS_OK &&
      ps_function_input(e->function, 0, &in, &error) == PS_OK && ps_function_output(e->function, 0, &out, &error) == PS_OK) {
    if (ps_function_inputs(e->function) == 1 && ps_function_outputs(e->function) == 1 && is_vector(&in) && is_vector(&out)) {
      return e;
    }
    snprintf(message, message_len, "'%s' is not of the form f32[n] -> f32[n]", ps_function_name(e->function));
  } else {
    snprintf(message, message_len, "%s", ps_error_message(error));
  }
  ps_error_free(error);
  effect_close(e);
  return NULL;
}

int effect_run(effect *e, float *samples, size_t count) {
  int64_t shape[1] = {(int64_t)count};
  ps_tensor block = {samples, shape, 1, {PS_FLOAT, 32, 1}};
  return ps_run_into(e->function, &block, 1, &block, 1, NULL);
}

void effect_close(effect *e) {
  if (e == NULL) return;
  ps_function_free(e->function);
  ps_program_free(e->program);
  free(e);
}
