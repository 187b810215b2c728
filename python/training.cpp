// SPDX-License-Identifier: Apache-2.0
// Settings, data and trainers.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>

#include "arrays.h"
#include "calls.h"

namespace filigree::python {

using namespace nb::literals;

nb::dict report_dict(const EpochReport& r) {
  nb::dict d;
  d["epoch"] = r.epoch;
  d["lr"] = r.lr;
  d["train_loss"] = r.train_loss;
  d["train_score"] = r.train_score;
  d["validation_loss"] = r.validation_loss;
  d["validation_score"] = r.validation_score;
  d["validation_metric"] = r.validation_metric;
  d["test_score"] = r.test_score;
  d["connections"] = r.connections;
  d["sparsity"] = r.sparsity;
  d["dropped"] = r.dropped;
  d["grown"] = r.grown;
  d["dead_neurons"] = r.dead_neurons;
  d["seconds"] = r.seconds;
  d["evolve_seconds"] = r.evolve_seconds;
  return d;
}

namespace {

// A trainer, with its data. One thread at a time may use it: a second one is told so.
class HeldTrainer {
 public:
  HeldTrainer(std::shared_ptr<const Data> data, Trainer trainer)
      : data_(std::move(data)), trainer_(std::move(trainer)) {}

  class Use {
   public:
    explicit Use(HeldTrainer& held) : held_(held) {
      if (held.busy_.exchange(true)) throw Error("this trainer is at work in another thread");
    }
    ~Use() { held_.busy_ = false; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    Trainer* operator->() const { return &held_.trainer_; }

   private:
    HeldTrainer& held_;
  };
  Use use() { return Use(*this); }
  void keep(std::shared_ptr<const Data> data) { data_ = std::move(data); }

 private:
  std::shared_ptr<const Data> data_;
  Trainer trainer_;
  std::atomic<bool> busy_ = false;
};

EpochReport run_epoch(HeldTrainer& held) {
  const HeldTrainer::Use trainer = held.use();
  return interruptible([&](const Observer& observer) { return trainer->epoch(for_training(observer)); });
}

LabelledRows labelled(const Rows& rows, const std::optional<Vector<Index>>& classes,
                      const std::optional<Vector<float>>& targets,
                      const std::optional<Vector<float>>& weights) {
  LabelledRows result{rows};
  if (classes) result.classes = span_of(*classes);
  if (targets) result.targets = span_of(*targets);
  if (weights) result.weights = span_of(*weights);
  return result;
}

struct PyPart {
  LabelledRows part;
  std::vector<nb::object> kept;
};

void bind_settings(nb::module_& m) {
  nb::class_<TrainOptions>(m, "Options")
      .def(nb::init<>())
      .def_static("preset", [](const std::string& name) { return preset_options(name); })
      .def_static("preset_for",
                  [](const std::string& name, const std::shared_ptr<const Data>& data) {
                    return preset_options(name, *data);
                  })
      .def("set", [](TrainOptions& options, const std::string& name,
                     const std::string& text) { apply_setting(options, name, text); })
      .def("get",
           [](const TrainOptions& options, const std::string& name) { return setting_text(options, name); });

  m.def("settings", [] {
    std::vector<nb::dict> all;
    for (const SettingInfo& info : setting_infos()) {
      nb::dict one;
      one["name"] = std::string(info.name);
      one["group"] = std::string(info.group);
      one["help"] = std::string(info.help);
      one["possible"] = info.possible;
      one["default"] = info.standard;
      one["yes_or_no"] = info.yes_or_no;
      all.push_back(std::move(one));
    }
    return all;
  });
}

void bind_data(nb::module_& m) {
  nb::class_<PyPart>(m, "Part").def(
      nb::new_([](const PyRows& rows, const std::optional<Vector<Index>>& classes,
                  const std::optional<Vector<float>>& targets, const std::optional<Vector<float>>& weights) {
        auto* part = new PyPart{labelled(rows.rows, classes, targets, weights), rows.kept};
        if (classes) part->kept.push_back(nb::cast(*classes));
        if (targets) part->kept.push_back(nb::cast(*targets));
        if (weights) part->kept.push_back(nb::cast(*weights));
        return part;
      }),
      "rows"_a, "classes"_a = nb::none(), "targets"_a = nb::none(), "weights"_a = nb::none());

  // The rows are borrowed where they lie row by row: whoever makes a data set keeps them.
  nb::class_<Data>(m, "Data")
      .def(nb::new_([](const PyPart& train, const std::string& task, Index targets,
                       std::vector<std::string> target_names, std::vector<std::string> feature_names,
                       const PyPart* validation, const PyPart* test, bool borrow) {
             MakeOptions options;
             options.task = word_called<Task>(task, "task");
             options.targets = targets;
             options.target_names = std::move(target_names);
             options.feature_names = std::move(feature_names);
             if (validation != nullptr) options.validation = validation->part;
             if (test != nullptr) options.test = test->part;
             options.borrow = borrow;
             return std::make_shared<Data>(
                 interruptible([&](const Observer&) { return make_data(train.part, options); }));
           }),
           "train"_a, "task"_a, "targets"_a = 0, "target_names"_a = std::vector<std::string>(),
           "feature_names"_a = std::vector<std::string>(), "validation"_a = nb::none(), "test"_a = nb::none(),
           "borrow"_a = false)
      .def_static(
          "load",
          [](const std::string& source, const std::string& label_column, double test_share,
             std::uint64_t seed) {
            DataOptions options;
            options.source = source;
            options.label_column = label_column;
            options.test_share = test_share;
            options.seed = seed;
            return std::make_shared<Data>(
                interruptible([&](const Observer& observer) { return load_data(options, observer); }));
          },
          "source"_a, "label_column"_a = "", "test_share"_a = 0.2, "seed"_a = 1)
      .def("describe", &Data::describe)
      .def_prop_ro("features", &Data::features)
      .def_prop_ro("train_rows", &Data::train_rows)
      .def_prop_ro("test_rows", &Data::test_rows)
      .def_prop_ro("task", [](const Data& data) { return std::string(word(data.task())); });
}

void bind_trainer(nb::module_& m) {
  nb::class_<HeldTrainer>(m, "Trainer")
      .def(nb::new_([](const std::shared_ptr<const Data>& data, const TrainOptions& options) {
        const Unlocked unlocked;
        return new HeldTrainer(data, Trainer(*data, options));
      }))
      .def(nb::new_(
          [](const Network& start, const std::shared_ptr<const Data>& data, const TrainOptions& options) {
            const Unlocked unlocked;
            return new HeldTrainer(data, Trainer(start, *data, options));
          }))
      .def_static("from_state",
                  [](const std::shared_ptr<const Data>& data, const nb::bytes& state) {
                    const std::span<const std::byte> view = bytes_of(state);
                    const Unlocked unlocked;
                    return new HeldTrainer(data, Trainer(*data, view));
                  })
      .def("step",
           [](HeldTrainer& held, const Vector<Index>& rows) {
             const HeldTrainer::Use trainer = held.use();
             const Unlocked unlocked;
             trainer->step(span_of(rows));
           })
      .def("epoch", [](HeldTrainer& held) { return report_dict(run_epoch(held)); })
      .def("go_on_with",
           [](HeldTrainer& held, const std::shared_ptr<const Data>& data, std::int64_t epochs) {
             const HeldTrainer::Use trainer = held.use();
             const Unlocked unlocked;
             trainer->go_on_with(*data, epochs);
             held.keep(data);
           })
      .def_prop_ro("done", [](HeldTrainer& held) { return held.use()->done(); })
      .def("use_best", [](HeldTrainer& held) { held.use()->use_best(); })
      .def("evaluate",
           [](HeldTrainer& held, const std::string& part) {
             const Part of = word_called<Part>(part, "part");
             const HeldTrainer::Use trainer = held.use();
             const TrainScore score =
                 interruptible([&](const Observer& observer) { return trainer->evaluate(of, observer); });
             return std::pair(score.score, score.loss);
           })
      .def("network", [](HeldTrainer& held) { return held.use()->network(); })
      .def("setting", [](HeldTrainer& held,
                         const std::string& name) { return setting_text(held.use()->options(), name); })
      .def("set_peak_learning_rate",
           [](HeldTrainer& held, double lr) { held.use()->set_peak_learning_rate(lr); })
      .def_prop_ro("learning_rate", [](HeldTrainer& held) { return held.use()->learning_rate(); })
      .def_prop_ro("steps", [](HeldTrainer& held) { return held.use()->steps(); })
      .def_prop_ro("history",
                   [](HeldTrainer& held) {
                     std::vector<nb::dict> history;
                     for (const EpochReport& report : held.use()->history())
                       history.push_back(report_dict(report));
                     return history;
                   })
      .def("state", [](HeldTrainer& held) {
        const HeldTrainer::Use trainer = held.use();
        std::vector<std::byte> state;
        {
          const Unlocked unlocked;
          state = trainer->state();
        }
        return to_python(state);
      });
}

}  // namespace

void bind_training(nb::module_& m) {
  bind_settings(m);
  bind_data(m);
  bind_trainer(m);
}

}  // namespace filigree::python
