// SPDX-License-Identifier: Apache-2.0
// How well a network does on data.
#pragma once

#include <string>
#include <vector>

#include "filigree/data.h"
#include "filigree/plan.h"

#pragma GCC visibility push(default)
namespace filigree {

struct EvaluateOptions {
  Part part = Part::test;
  double exit_threshold = 1;  // see PlanOptions
  // ROC-AUC and average precision, for which the outputs of all rows are kept: 256 MiB of them at most.
  bool ranks = true;
};

// One number with its name.
//   classes: accuracy, balanced_accuracy, f1_macro, f1_weighted, log_loss (of networks that give logits),
//            roc_auc, average_precision; with more than two classes the last two are means over the classes,
//            each against all others
//   labels:  accuracy (rows of which all labels are right), label_accuracy, f1_macro, f1_weighted, log_loss
//            (the mean over rows and labels), roc_auc, average_precision; means over the labels
//   values:  r2, rmse, mae; means over the values
// They mean what scikit-learn means by these names.
struct Metric {
  std::string name;
  double value = 0;
  bool operator==(const Metric&) const = default;
};

// How well a network does. What speaks of classes is empty, or 0, for labels and values.
struct Evaluation {
  Task task = Task::classes;
  Index rows = 0;
  double score = 0;     // the accuracy of classes, the label_accuracy of labels, r2 of values
  double accuracy = 0;  // fraction of rows whose largest output is their class, or whose labels are all right
  double loss = 0;      // mean over rows; of values in the units of the targets
  double seconds = 0;
  std::vector<Index> wrong_by_class, rows_by_class;  // by output of the network
  double connections_per_row = 0;                    // computed, on average
  std::vector<Offset> rows_by_exit = {};             // see RunWork
  std::vector<Metric> metrics = {};                  // those that these rows have
  // Of each label or value, in the order of the outputs: metrics by the same names.
  std::vector<std::vector<Metric>> by_output = {};
  // How many rows of each class (a row of the matrix) the network takes for which one; in the order of the
  // outputs.
  std::vector<Offset> confusion = {};
};
// Data as a network that was trained on a table reads it: columns by name, in any order, with its categories,
// fillings and classes; options.label_column may be empty. Other sources are read as load_data() does.
[[nodiscard]] Data load_data_for(const Network& network, const DataOptions& options,
                                 const Observer& observer = {});

// Any number of threads may evaluate one network or plan at the same time.
[[nodiscard]] Evaluation evaluate(const Network& network, const Data& data,
                                  const EvaluateOptions& options = {}, const Observer& observer = {});

// The same of a plan, whose exit threshold holds; options.exit_threshold is not looked at.
[[nodiscard]] Evaluation evaluate(const Plan& plan, const Data& data, const EvaluateOptions& options = {},
                                  const Observer& observer = {});

// Whether a network was trained on data.
enum class Overlap {
  unknown,     // the network or the data do not say
  none,        // on other rows
  same_rows,   // on some of these rows, training and test part together
  same_split,  // on exactly the training part
};
[[nodiscard]] Overlap training_overlap(const Network& network, const Data& data);

}  // namespace filigree
#pragma GCC visibility pop
