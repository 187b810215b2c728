// SPDX-License-Identifier: Apache-2.0
#include "train/mixture.h"

#include <algorithm>
#include <span>

#include "kernels/activation.h"
#include "kernels/choose_experts.h"
#include "kernels/panel_pass.h"
#include "kernels/softmax.h"
#include "train/layer_pass.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kLanes = kPanelRows;

}  // namespace

MixturePass::MixturePass(const std::vector<TrainLayer>& layers, const MixturePlace& place, std::size_t active,
                         std::size_t stride, std::size_t panels)
    : layers_(place),
      active_(active),
      stride_(stride),
      inputs_(static_cast<std::size_t>(layers[place.first].inputs)),
      outputs_(static_cast<std::size_t>(layers[place.first].outputs)),
      highest_(stride),
      log_sum_(stride) {
  const std::size_t samples = panels * stride;
  const std::size_t most =
      active * samples + place.experts * stride;  // every expert's last panel may be part empty
  x_ = Buffer<float>(inputs_ * most);
  y_ = Buffer<float>(outputs_ * most);
  if (layers[place.first].activation.derivative_needs_sum()) sum_ = Buffer<float>(outputs_ * most);
  for (Buffer<float>* of_gate : {&logit_, &share_, &delta_})
    *of_gate = Buffer<float>(place.experts * samples);
  weight_gradient_.resize(place.experts * samples);
  is_chosen_.resize(place.experts * samples);
  expert_delta_ = Buffer<float>(outputs_ * stride);
  next_ = Buffer<float>(inputs_ * stride);
}

void MixturePass::choose(std::size_t samples) {
  const std::size_t experts = layers_.experts;
  std::vector<std::vector<std::uint32_t>> sample(experts);
  std::vector<std::vector<float>> weight(experts);
  std::vector<ExpertChoice> choice(active_);
  std::ranges::fill(is_chosen_, std::uint8_t{0});
  for (std::size_t b = 0; b < samples; ++b) {
    choose_experts(experts, share_.data() + place_of(b, experts), stride_, choice);
    for (const ExpertChoice& each : choice) {
      sample[each.expert].push_back(b);
      weight[each.expert].push_back(each.weight);
      is_chosen_[b * experts + each.expert] = 1;
    }
  }
  panels_.clear();
  std::size_t placed = 0;
  for (std::size_t e = 0; e < experts; ++e) {
    for (std::size_t first = 0; first < sample[e].size();) {
      const std::size_t left = sample[e].size() - first;
      Panel& panel = panels_.emplace_back();
      panel.expert = e;
      panel.width = left > kLanes ? stride_ : kLanes;
      const std::ptrdiff_t begin = first;
      const std::ptrdiff_t end = first + std::min(left, panel.width);
      panel.sample.assign(sample[e].begin() + begin, sample[e].begin() + end);
      panel.weight.assign(weight[e].begin() + begin, weight[e].begin() + end);
      panel.x = placed * inputs_;
      panel.y = placed * outputs_;
      placed += panel.width;
      first = end;
    }
  }
}

// Where the samples of a panel are, among those of all.
void MixturePass::places_of(const Panel& panel, std::size_t neurons) {
  for (std::size_t j = 0; j < panel.sample.size(); ++j) place_[j] = place_of(panel.sample[j], neurons);
}

void MixturePass::forward(const std::vector<TrainLayer>& layers, const float* x, std::size_t samples,
                          float* y) {
  const std::size_t panels = (samples + stride_ - 1) / stride_;
  samples_ = samples;
  for (std::size_t p = 0; p < panels; ++p) {
    const std::size_t at = p * layers_.experts * stride_;
    forward_layer(layers[layers_.gate], x + p * inputs_ * stride_, logit_.data() + at, nullptr, stride_);
    softmax(layers_.experts, stride_, logit_.data() + at, share_.data() + at, highest_.data(),
            log_sum_.data());
  }
  choose(samples);
  std::fill_n(y, panels * outputs_ * stride_, 0.0f);
  for (const Panel& panel : panels_) {
    float* gathered = x_.data() + panel.x;
    float* own = y_.data() + panel.y;
    const std::size_t count = panel.sample.size();
    places_of(panel, inputs_);
    for (std::size_t i = 0; i < inputs_; ++i) {
      float* to = gathered + i * panel.width;
      for (std::size_t j = 0; j < count; ++j) to[j] = x[place_[j] + i * stride_];
      std::fill(to + count, to + panel.width, 0.0f);
    }
    float* sum = sum_.empty() ? nullptr : sum_.data() + panel.y;
    forward_layer(layers[layers_.first + panel.expert], gathered, own, sum, panel.width);
    places_of(panel, outputs_);
    for (std::size_t o = 0; o < outputs_; ++o)
      for (std::size_t j = 0; j < count; ++j)
        y[place_[j] + o * stride_] += panel.weight[j] * own[o * panel.width + j];
  }
}

// From the gradients at the weights of experts, and of the balancing loss, to those at the gate's logits.
void MixturePass::add_gate_gradient(std::size_t samples, double balance) {
  const std::size_t experts = layers_.experts;
  const std::vector<std::size_t> counts = chosen();
  std::vector<double> share_of_choices(experts);
  for (std::size_t e = 0; e < experts; ++e)
    share_of_choices[e] = static_cast<double>(counts[e]) / (active_ * samples);
  const double factor = balance * experts / samples;
  delta_.zero();
  for (std::size_t b = 0; b < samples; ++b) {
    const std::size_t at = place_of(b, experts);
    const auto share = [&](std::size_t e) { return double{share_[at + e * stride_]}; };
    double chosen_share = 0, pull = 0, spread = 0;
    for (std::size_t e = 0; e < experts; ++e) {
      if (is_chosen_[b * experts + e]) {
        chosen_share += share(e);
        pull += share(e) * double{weight_gradient_[b * experts + e]};
      }
      spread += share(e) * share_of_choices[e];
    }
    if (active_ > 1) pull /= chosen_share;
    for (std::size_t e = 0; e < experts; ++e) {
      const bool own = is_chosen_[b * experts + e] != 0;
      const double weight_gradient = own ? double{weight_gradient_[b * experts + e]} : 0.0;
      double z = factor * share(e) * (share_of_choices[e] - spread);
      if (active_ == 1)
        z += share(e) * (weight_gradient - pull);
      else if (own)
        z += share(e) / chosen_share * (weight_gradient - pull);
      delta_[at + e * stride_] = z;
    }
  }
}

void MixturePass::backward(std::vector<TrainLayer>& layers, std::size_t slice, const float* x,
                           const Back& back) {
  const std::size_t panels = (samples_ + stride_ - 1) / stride_;
  if (back.next != nullptr) std::fill_n(back.next, panels * inputs_ * stride_, 0.0f);
  for (float* kept : back.delta_of)
    for (std::size_t o = 0; o < outputs_; ++o) std::fill_n(kept + o * back.width, samples_, 0.0f);
  for (const Panel& panel : panels_) {
    TrainLayer& expert = layers[layers_.first + panel.expert];
    const std::size_t count = panel.sample.size(), width = panel.width;
    const float* own = y_.data() + panel.y;
    const std::span<float> delta(expert_delta_.data(), outputs_ * width);
    places_of(panel, outputs_);
    std::array<float, kWidePanelRows> sum{};
    for (std::size_t o = 0; o < outputs_; ++o) {
      for (std::size_t j = 0; j < count; ++j) {
        const float at_sum = back.delta[place_[j] + o * stride_];
        sum[j] += at_sum * own[o * width + j];
        delta[o * width + j] = panel.weight[j] * at_sum;
      }
      std::ranges::fill(delta.subspan(o * width + count, width - count), 0.0f);
    }
    for (std::size_t j = 0; j < count; ++j)
      weight_gradient_[panel.sample[j] * layers_.experts + panel.expert] = sum[j];
    multiply_by_derivative(
        expert.activation, {own, delta.size()},
        sum_.empty() ? std::span<const float>() : std::span<const float>(sum_.data() + panel.y, delta.size()),
        delta);
    float* next = back.next == nullptr ? nullptr : next_.data();
    backward_layer(expert, slice, x_.data() + panel.x, delta.data(), back.gated, next, width);
    if (next != nullptr) {
      places_of(panel, inputs_);
      for (std::size_t i = 0; i < inputs_; ++i)
        for (std::size_t j = 0; j < count; ++j) back.next[place_[j] + i * stride_] += next[i * width + j];
    }
    if (back.delta_of.empty()) continue;
    for (std::size_t o = 0; o < outputs_; ++o)
      for (std::size_t j = 0; j < count; ++j)
        back.delta_of[panel.expert][o * back.width + panel.sample[j]] = delta[o * width + j];
  }
  add_gate_gradient(samples_, back.balance);
  for (std::size_t p = 0; p < panels; ++p) {
    float* next = back.next == nullptr ? nullptr : next_.data();
    backward_layer(layers[layers_.gate], slice, x + p * inputs_ * stride_,
                   delta_.data() + p * layers_.experts * stride_, back.gated, next, stride_);
    for (std::size_t i = 0; next != nullptr && i < inputs_ * stride_; ++i)
      back.next[p * inputs_ * stride_ + i] += next[i];
  }
}

std::vector<std::size_t> MixturePass::chosen() const {
  std::vector<std::size_t> counts(layers_.experts, 0);
  for (const Panel& panel : panels_) counts[panel.expert] += panel.sample.size();
  return counts;
}

}  // namespace filigree::internal
