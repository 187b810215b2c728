// SPDX-License-Identifier: Apache-2.0
// A training loop of one's own: look at every epoch, lower the learning rate when it stops helping, keep the
// state, and go on from it as after a power cut.
#include <filigree/filigree.h>

#include <cstdio>

int main() {
  const filigree::Data data = filigree::load_data({.source = "digits:2000"});
  filigree::Trainer trainer(data, {.network = {.hidden = {128, 64}, .sparsity = 0.95},
                                   .learning = {.schedule = filigree::Schedule::constant},
                                   .run = {.epochs = 12, .validation = 0.2}});
  double best = 0;
  std::vector<std::byte> state;
  while (!trainer.done()) {
    const filigree::EpochReport epoch = trainer.epoch();
    const double accuracy = epoch.validation_score;  // of rows that are kept for such choices
    std::printf("epoch %2d: loss %.3f, %.1f %% of the validation rows right, %lld connections grown\n",
                static_cast<int>(epoch.epoch), epoch.train_loss, 100 * accuracy,
                static_cast<long long>(epoch.grown));
    if (accuracy <= best) trainer.set_peak_learning_rate(trainer.options().learning.lr / 2);
    best = std::max(best, accuracy);
    if (epoch.epoch == 6) state = trainer.state();
  }

  // The same again from the sixth epoch, without the changes of the rate: close, not equal.
  filigree::Trainer again(data, state);
  while (!again.done()) again.epoch();
  const double halved = trainer.evaluate(filigree::Part::test).score;
  const double constant = again.evaluate(filigree::Part::test).score;
  std::printf("test rows: %.1f %% right; at one rate from the sixth epoch on: %.1f %%\n", 100 * halved,
              100 * constant);
  return halved > 0.9 && constant > 0.8 ? 0 : 1;
}
