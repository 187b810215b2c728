/* SPDX-License-Identifier: Apache-2.0 */
/* The library from C: main MODEL. Runs rows of zeros and of ones, and what goes wrong. */
#include <filigree/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int expect(int right, const char* what) {
  if (!right) printf("FAILED: %s (%s)\n", what, filigree_error());
  return right;
}

int main(int argc, char** argv) {
  int good = expect(argc == 2, "usage: main MODEL");
  filigree_plan* plan = good ? filigree_load(argv[1]) : NULL;
  if (!expect(plan != NULL, "the model loads")) return 1;
  const size_t inputs = filigree_inputs(plan), outputs = filigree_outputs(plan), rows = 3;
  float* x = calloc(rows * inputs, sizeof *x);
  unsigned char* bytes = calloc(rows * inputs, 1);
  float* y = calloc(rows * outputs, sizeof *y);
  float* z = calloc(rows * outputs, sizeof *z);
  for (size_t i = inputs; i < 2 * inputs; ++i) x[i] = bytes[i] = 1; /* row 1 of 0, 1, 2 */
  good &= expect(filigree_run(plan, x, rows, y) == 0, "floats run");
  good &= expect(filigree_run_bytes(plan, bytes, rows, z) == 0, "bytes run");
  good &= expect(memcmp(y, z, rows * outputs * sizeof *y) == 0, "floats and bytes agree");
  good &= expect(memcmp(y, y + 2 * outputs, outputs * sizeof *y) == 0, "equal rows agree");
  good &= expect(memcmp(y, y + outputs, outputs * sizeof *y) != 0, "other rows do not");
  good &= expect(filigree_run(plan, x, 0, NULL) == 0, "no rows are fine");
  x[4] = 1e38f * 10; /* infinity */
  good &= expect(filigree_run(plan, x, rows, y) == -1 && strstr(filigree_error(), "input 4 of row 0") != NULL,
                 "what is not finite is named");
  good &= expect(filigree_run(NULL, x, rows, y) == -1, "a null plan is refused");
  good &= expect(filigree_load("no such file") == NULL && strstr(filigree_error(), "no such file") != NULL,
                 "a missing file is named");
  good &= expect(filigree_load(NULL) == NULL, "a null path is refused");
  good &= expect(filigree_inputs(NULL) == 0 && strcmp(filigree_version_text(), "0.2.0") == 0, "facts");
  filigree_free(plan);
  filigree_free(NULL);
  free(x), free(bytes), free(y), free(z);
  printf("C: %zu inputs, %zu outputs\n", inputs, outputs);
  return good ? 0 : 1;
}
