// SPDX-License-Identifier: Apache-2.0
// The public API for Python: arrays in and out without a copy, the interpreter's lock released while work
// goes on. What users meet is filigree_nn/*.py, which turns their arguments into what stands here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>

#include "calls.h"
#include "filigree/evaluate.h"
#include "filigree/filigree.h"
#include "filigree/sparse.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace filigree;
using namespace filigree::python;

template <typename T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
std::span<const T> span_of(const Vector<T>& values) {
  return {values.data(), values.size()};
}

Index index_of(std::size_t count, const char* what) {
  if (count > static_cast<std::size_t>(std::numeric_limits<Index>::max()))
    throw std::invalid_argument(std::to_string(count) + " " + what + " are more than an int32 counts");
  return static_cast<Index>(count);
}

// Strides are never negative: the wrappers copy such arrays.
template <typename T>
Rows rows_of(const Matrix<T>& x) {
  const std::size_t rows = x.shape(0), columns = x.shape(1);
  const auto row = static_cast<std::size_t>(x.stride(0)), column = static_cast<std::size_t>(x.stride(1));
  const std::size_t size = rows == 0 || columns == 0 ? 0 : (rows - 1) * row + (columns - 1) * column + 1;
  return {std::span<const T>(x.data(), size), rows, index_of(columns, "columns"), {row, column}};
}

// A CSR matrix in SciPy's arrays.
struct Csr {
  Vector<Offset> row_begin;
  Vector<Index> column;
  Vector<float> value;
  Index columns;
  Rows rows() const { return {span_of(row_begin), span_of(column), span_of(value), columns}; }
};

// ---- products

template <typename T>
using Panel = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

CsrView csr_view(const Vector<Offset>& row_begin, const Vector<Index>& column, std::span<const float> value,
                 std::size_t columns) {
  CsrView view{index_of(row_begin.size() == 0 ? 0 : row_begin.size() - 1, "rows"),
               index_of(columns, "columns"), span_of(row_begin), span_of(column), value};
  // A position outside would be read: one walk over the pattern is a hundredth of the product's work.
  const auto ascends = [](auto a, auto b) { return a > b; };
  const bool sound = row_begin.size() > 0 && view.row_begin.front() == 0 &&
                     view.row_begin.back() == static_cast<Offset>(column.size()) &&
                     std::ranges::adjacent_find(view.row_begin, ascends) == view.row_begin.end() &&
                     std::ranges::all_of(view.column, [&](Index c) { return c >= 0 && c < view.cols; }) &&
                     (value.empty() || value.size() == column.size());
  if (!sound) throw std::invalid_argument("the pattern of a sparse layer is damaged");
  return view;
}

// ---- networks

nb::object layer_array(const LayerView& view, const void* data, std::size_t size, nb::dlpack::dtype type) {
  auto* kept = new std::shared_ptr<const void>(view.kept);
  const nb::capsule owner(
      kept, [](void* held) noexcept { delete static_cast<std::shared_ptr<const void>*>(held); });
  const std::size_t shape[1] = {size};
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(const_cast<void*>(data), 1, shape, owner, nullptr, type));
}

nb::dict layer_dict(const LayerView& view) {
  nb::dict layer;
  layer["inputs"] = view.inputs;
  layer["outputs"] = view.outputs;
  layer["row_begin"] = layer_array(view, view.row_begin.data(), view.row_begin.size(), nb::dtype<Offset>());
  layer["column"] = layer_array(view, view.column.data(), view.column.size(), nb::dtype<Index>());
  layer["value"] = layer_array(view, view.value.data(), view.value.size(), nb::dtype<float>());
  layer["bias"] = layer_array(view, view.bias.data(), view.bias.size(), nb::dtype<float>());
  layer["activation"] = std::string(activation_name(view.activation.kind));
  layer["cap"] = view.activation.cap;
  layer["slope"] = view.activation.slope;
  layer["experts"] = view.experts;
  return layer;
}

Activation activation_called(const std::string& name) {
  for (std::size_t a = 0; a < kActivationNames.size(); ++a)
    if (kActivationNames[a] == name) return static_cast<Activation>(a);
  std::string known;
  for (const std::string_view each : kActivationNames)
    known += (known.empty() ? "" : ", ") + std::string(each);
  throw std::invalid_argument("'" + name + "' is no activation; there are " + known);
}

template <typename T>
T word_called(const std::string& text, const char* what) {
  if (const std::optional<T> value = from_word<T>(text)) return *value;
  std::string known;
  for (const std::string_view each : Words<T>::kWords)
    known += (known.empty() ? "" : ", ") + std::string(each);
  throw std::invalid_argument("'" + text + "' is no " + what + "; there are " + known);
}

template <typename T>
std::vector<T> copied(const Vector<T>& values) {
  return {values.data(), values.data() + values.size()};
}

NetworkFacts facts_of(const std::optional<std::string>& loss, std::vector<float> mean,
                      std::vector<float> scale, std::vector<std::string> input_names,
                      std::vector<std::string> output_names) {
  NetworkFacts facts;
  facts.scaling = {std::move(mean), std::move(scale)};
  facts.input_names = std::move(input_names);
  facts.output_names = std::move(output_names);
  if (loss) facts.loss = word_called<Loss>(*loss, "loss");
  return facts;
}

// ---- training

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
  return interruptible([&](const std::stop_token& stop) {
    TrainObserver observer;
    observer.stop = stop;
    return trainer->epoch(observer);
  });
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

// Any kind of rows, with what keeps their memory.
struct PyRows {
  Rows rows;
  std::vector<nb::object> kept;
};

struct PyPart {
  LabelledRows part;
  std::vector<nb::object> kept;
};

}  // namespace

NB_MODULE(_core, m) {
  m.attr("__version__") = FILIGREE_VERSION;
  m.def("shut_down", &Working::close);
  Working::forget_in_children();

  static const nb::exception<Error> error(m, "Error", PyExc_ValueError);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Cancelled&) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
  });

  // What numpy or SciPy hold, as rows: a float, double or byte matrix, or the three arrays of a CSR matrix.
  nb::class_<PyRows>(m, "Rows")
      .def(nb::new_([](const Matrix<float>& x) {
        return new PyRows{rows_of(x), {nb::cast(x)}};
      }))
      .def(nb::new_([](const Matrix<double>& x) {
        return new PyRows{rows_of(x), {nb::cast(x)}};
      }))
      .def(nb::new_([](const Matrix<std::uint8_t>& x) {
        return new PyRows{rows_of(x), {nb::cast(x)}};
      }))
      .def(nb::new_([](const Vector<Offset>& begin, const Vector<Index>& column, const Vector<float>& value,
                       Index columns) {
        return new PyRows{Csr{begin, column, value, columns}.rows(),
                          {nb::cast(begin), nb::cast(column), nb::cast(value)}};
      }))
      .def_prop_ro("rows", [](const PyRows& r) { return r.rows.rows(); })
      .def_prop_ro("columns", [](const PyRows& r) { return r.rows.columns(); });

  nb::class_<Network>(m, "Network")
      .def_static("load",
                  [](const std::filesystem::path& path) {
                    const Unlocked unlocked;
                    return load(path);
                  })
      .def_static("from_bytes",
                  [](const nb::bytes& bytes) {
                    return from_bytes({reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size()});
                  })
      .def_static(
          "from_layers",
          [](const std::vector<nb::dict>& layers, const std::optional<std::string>& loss,
             std::vector<float> mean, std::vector<float> scale, std::vector<std::string> input_names,
             std::vector<std::string> output_names) {
            std::vector<LayerArrays> arrays;
            for (const nb::dict& layer : layers) {
              LayerArrays made;
              made.inputs = nb::cast<Index>(layer["inputs"]);
              made.outputs = nb::cast<Index>(layer["outputs"]);
              made.row_begin = copied(nb::cast<Vector<Offset>>(layer["row_begin"]));
              made.column = copied(nb::cast<Vector<Index>>(layer["column"]));
              made.value = copied(nb::cast<Vector<float>>(layer["value"]));
              made.bias = copied(nb::cast<Vector<float>>(layer["bias"]));
              made.activation = {activation_called(nb::cast<std::string>(layer["activation"])),
                                 nb::cast<float>(layer["cap"]), nb::cast<float>(layer["slope"])};
              arrays.push_back(std::move(made));
            }
            return make_network(std::move(arrays), facts_of(loss, std::move(mean), std::move(scale),
                                                            std::move(input_names), std::move(output_names)));
          },
          "layers"_a, "loss"_a = nb::none(), "mean"_a = std::vector<float>(),
          "scale"_a = std::vector<float>(), "input_names"_a = std::vector<std::string>(),
          "output_names"_a = std::vector<std::string>())
      .def("save",
           [](const Network& network, const std::filesystem::path& path) {
             const Unlocked unlocked;
             save(network, path);
           })
      .def("to_bytes",
           [](const Network& network) {
             const std::vector<std::byte> bytes = to_bytes(network);
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("layer", [](const Network& network, Index l) { return layer_dict(network.layer(l)); })
      .def_prop_ro("inputs", &Network::inputs)
      .def_prop_ro("outputs", &Network::outputs)
      .def_prop_ro("depth", &Network::layers)
      .def_prop_ro("compiled", &Network::compiled)
      .def_prop_ro("task", [](const Network& network) { return std::string(word(network.task())); })
      .def_prop_ro("loss",
                   [](const Network& network) -> std::optional<std::string> {
                     if (!network.facts().loss) return std::nullopt;
                     return std::string(word(*network.facts().loss));
                   })
      .def_prop_ro("input_names", [](const Network& network) { return network.facts().input_names; })
      .def_prop_ro("output_names", [](const Network& network) { return network.facts().output_names; })
      .def_prop_ro("input_mean", [](const Network& network) { return network.facts().scaling.mean; })
      .def_prop_ro("input_scale", [](const Network& network) { return network.facts().scaling.scale; })
      .def("describe", &Network::describe);

  nb::class_<Plan>(m, "Plan")
      .def(nb::new_([](const Network& network, double exit_threshold) {
             const Unlocked unlocked;
             return new Plan(compile(network, {exit_threshold}));
           }),
           "network"_a, "exit_threshold"_a = 1.0)
      .def_prop_ro("inputs", &Plan::inputs)
      .def_prop_ro("outputs", &Plan::outputs)
      // Few rows at once; many in a thread of their own, which Ctrl-C stops.
      .def("run", [](const Plan& plan, const PyRows& rows,
                     const nb::ndarray<float, nb::ndim<2>, nb::device::cpu>& out) {
        constexpr std::size_t kAtOnce = 4096;
        const std::size_t count = out.shape(0), width = out.shape(1),
                          stride = static_cast<std::size_t>(out.stride(0));
        if (count != rows.rows.rows() || width != static_cast<std::size_t>(plan.outputs()) ||
            (width > 1 && out.stride(1) != 1) || (count > 1 && stride < width))
          throw std::invalid_argument("the outputs do not fit the rows: an array of " +
                                      std::to_string(count) + " × " + std::to_string(width) + " for " +
                                      std::to_string(rows.rows.rows()) + " rows of " +
                                      std::to_string(plan.outputs()));
        const std::size_t apart = count > 1 ? stride : width;
        const OutputRows outputs(std::span(out.data(), count == 0 ? 0 : (count - 1) * apart + width), apart);
        if (count <= kAtOnce) {
          const Unlocked unlocked;
          plan.run(rows.rows, outputs);
          return;
        }
        interruptible([&](const std::stop_token& stop) {
          Observer observer;
          observer.stop = stop;
          plan.run(rows.rows, outputs, observer);
          return 0;
        });
      });

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
             const Unlocked unlocked;
             return std::make_shared<Data>(make_data(train.part, options));
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
            return std::make_shared<Data>(interruptible([&](const std::stop_token& stop) {
              Observer observer;
              observer.stop = stop;
              return load_data(options, observer);
            }));
          },
          "source"_a, "label_column"_a = "", "test_share"_a = 0.2, "seed"_a = 1)
      .def("describe", &Data::describe)
      .def_prop_ro("features", &Data::features)
      .def_prop_ro("train_rows", &Data::train_rows)
      .def_prop_ro("test_rows", &Data::test_rows)
      .def_prop_ro("task", [](const Data& data) { return std::string(word(data.task())); });

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
                    return new HeldTrainer(
                        data, Trainer(*data, std::span(reinterpret_cast<const std::byte*>(state.c_str()),
                                                       state.size())));
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
             held.use()->go_on_with(*data, epochs);
             held.keep(data);
           })
      .def_prop_ro("done", [](HeldTrainer& held) { return held.use()->done(); })
      .def("use_best", [](HeldTrainer& held) { held.use()->use_best(); })
      .def("evaluate",
           [](HeldTrainer& held, const std::string& part) {
             const Part of = word_called<Part>(part, "part");
             const HeldTrainer::Use trainer = held.use();
             const Unlocked unlocked;
             const TrainScore score = trainer->evaluate(of);
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
        const std::vector<std::byte> state = held.use()->state();
        return nb::bytes(state.data(), state.size());
      });

  m.def(
      "evaluate",
      [](const Network& network, const Data& data, const std::string& part) {
        EvaluateOptions options;
        options.part = word_called<Part>(part, "part");
        const Evaluation result = interruptible([&](const std::stop_token& stop) {
          Observer observer;
          observer.stop = stop;
          return evaluate(network, data, options, observer);
        });
        nb::dict metrics;
        for (const Metric& metric : result.metrics) metrics[metric.name.c_str()] = metric.value;
        metrics["loss"] = result.loss;
        return metrics;
      },
      "network"_a, "data"_a, "part"_a = "test");

  m.def("transpose", [](const Panel<const float>& from, const Panel<float>& to) {
    if (to.shape(0) != from.shape(1) || to.shape(1) != from.shape(0))
      throw std::invalid_argument("a transposed array has as many rows as the other has columns");
    const Unlocked unlocked;
    transpose({from.data(), from.size()}, from.shape(0), from.shape(1), {to.data(), to.size()});
  });
  // The three products of a sparse layer; x, y, a and b hold the samples of a neuron together.
  m.def("spmm", [](const Vector<Offset>& row_begin, const Vector<Index>& column, const Vector<float>& value,
                   const Panel<const float>& x, const Panel<float>& y) {
    const CsrView matrix = csr_view(row_begin, column, span_of(value), x.shape(0));
    const Unlocked unlocked;
    spmm(matrix, {x.data(), x.size()}, x.shape(1), {y.data(), y.size()});
  });
  m.def("spmm_transposed",
        [](const Vector<Offset>& column_begin, const Vector<Index>& row, const Vector<float>& value,
           const Panel<const float>& x, const Panel<float>& y) {
          const CsrView columns = csr_view(column_begin, row, span_of(value), x.shape(0));
          const CscView matrix{columns.cols, columns.rows, columns.row_begin, columns.column, columns.value};
          const Unlocked unlocked;
          spmm_transposed(matrix, {x.data(), x.size()}, x.shape(1), {y.data(), y.size()});
        });
  m.def("sddmm", [](const Vector<Offset>& row_begin, const Vector<Index>& column, const Panel<const float>& a,
                    const Panel<const float>& b,
                    const nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>& value) {
    const CsrView matrix = csr_view(row_begin, column, {}, b.shape(0));
    if (a.shape(0) + 1 != row_begin.size() || a.shape(1) != b.shape(1))
      throw std::invalid_argument("the panels do not fit the pattern");
    const Unlocked unlocked;
    sddmm(matrix, {a.data(), a.size()}, {b.data(), b.size()}, a.shape(1), {value.data(), value.size()});
  });

  // Threads of everything that the calling thread does while it lives.
  nb::class_<Session>(m, "Session").def("__init__", [](Session* self, int threads) {
    new (self) Session(SessionOptions{threads});
  });
  m.def("in_session", [](const Session& session, const nb::callable& work) {
    const Session::Use use(session);
    return work();
  });
}
