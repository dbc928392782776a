/* What the host of `plugin.c` calls: an effect on a block of samples. */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <stddef.h>

typedef struct effect effect;

/* Loads the program of an effect; NULL, with the reason in `message`, where it has none of the form f32[n] -> f32[n]. */
effect *effect_open(const char *path, char *message, size_t message_len);
/* Replaces `count` samples. Gives 0, or, where the program fails, its status: the samples are as they were then. */
int effect_run(effect *e, float *samples, size_t count);
void effect_close(effect *e);

#endif
