// SPDX-License-Identifier: Apache-2.0
// What an evaluation shows: a few lines by the task, and metrics as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.h"
#include "filigree/evaluate.h"

namespace filigree::cli {

// The most important number of a task: "92.50 %", "R² 0.8312".
std::string score_text(Task task, double score);

// How right the network is, in lines.
void print_metrics(const Common& common, const Evaluation& evaluation, const Network& network);
// A line for each class: how many of its rows were taken for which one. Of few classes.
void print_confusion(const Evaluation& evaluation, const Network& network);

// "task", "metrics", and for labels and values the metrics of each.
nlohmann::json metrics_json(const Evaluation& evaluation, const Network& network);

}  // namespace filigree::cli
