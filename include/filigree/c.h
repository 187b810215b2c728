/* SPDX-License-Identifier: Apache-2.0 */
/* filigree from C, and so from any language that can call C: load a network, run it. Functions may be called
   from any number of threads at once; one plan may be run by several. */
#ifndef FILIGREE_C_H_
#define FILIGREE_C_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* A network made ready to run on this machine. */
typedef struct filigree_plan filigree_plan;

/* A model file, or the directory of a training run. NULL: see filigree_error(). */
filigree_plan* filigree_load(const char* path);
void filigree_free(filigree_plan* plan); /* NULL is fine */

/* Numbers of a row of inputs, and of outputs; 0 of NULL. */
size_t filigree_inputs(const filigree_plan* plan);
size_t filigree_outputs(const filigree_plan* plan);

/* `inputs` holds rows × filigree_inputs(plan) raw values, row after row; `outputs` gets rows ×
   filigree_outputs(plan). 0: done. -1: see filigree_error(); what `outputs` holds then is undefined. */
int filigree_run(const filigree_plan* plan, const float* inputs, size_t rows, float* outputs);
int filigree_run_bytes(const filigree_plan* plan, const uint8_t* inputs, size_t rows, float* outputs);

/* What went wrong in the last call of this thread that failed; "" if none did. Valid until the thread's next
 * call. */
const char* filigree_error(void);

const char* filigree_version_text(void); /* "0.2.0", of the library */

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif /* FILIGREE_C_H_ */
