// SPDX-License-Identifier: Apache-2.0
#include "io/json_value.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/error.h"
#include "io/message_text.h"

namespace filigree::internal {

namespace {

using Json = nlohmann::json;

// Builds values from the parser's events; errors are thrown through it.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Builder(const std::string& place, int deepest) : place_(place), deepest_(deepest) {}
  JsonValue& result() { return root_; }

  bool null() override { return put(JsonValue::Kind::null), true; }
  bool boolean(bool value) override {
    put(JsonValue::Kind::boolean).boolean = value;
    return true;
  }
  bool number_integer(number_integer_t value) override {
    put(JsonValue::Kind::number).number = value;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    JsonValue& made = put(JsonValue::Kind::whole);
    made.whole = value;
    made.number = value;
    return true;
  }
  bool number_float(number_float_t value, const string_t&) override {
    put(JsonValue::Kind::number).number = value;
    return true;
  }
  bool string(string_t& value) override {
    put(JsonValue::Kind::text).text = std::move(value);
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonValue::Kind::object); }
  bool end_object() override { return open_.pop_back(), true; }
  bool start_array(std::size_t) override { return open(JsonValue::Kind::array); }
  bool end_array() override { return open_.pop_back(), true; }
  bool key(string_t& value) override {
    key_ = std::move(value);
    if (open_.back()->members.contains(key_)) fail("{} names {} twice", place_, in_quotes(key_));
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    constexpr int kOutOfRange = 406;  // 1e999
    if (error.id == kOutOfRange) fail("{} holds a number that no double can", place_);
    fail("{} is not valid JSON at its byte {}", place_, position);
  }

 private:
  JsonValue& put(JsonValue::Kind kind) {
    constexpr std::size_t kMostValues = 1'000'000;  // about 200 bytes each
    if (++values_ > kMostValues) fail("{} holds more than {} values", place_, kMostValues);
    JsonValue* made = &root_;
    if (!open_.empty() && open_.back()->is(JsonValue::Kind::array))
      made = &open_.back()->items.emplace_back();
    if (!open_.empty() && open_.back()->is(JsonValue::Kind::object)) made = &open_.back()->members[key_];
    made->kind = kind;
    return *made;
  }
  bool open(JsonValue::Kind kind) {
    if (static_cast<int>(open_.size()) >= deepest_) fail("{} is nested too deeply", place_);
    JsonValue& made = put(kind);
    open_.push_back(&made);  // stays where it is: only its own items are added to until it ends
    return true;
  }

  const std::string& place_;
  int deepest_;
  JsonValue root_;
  std::vector<JsonValue*> open_;
  std::string key_;
  std::size_t values_ = 0;
};

}  // namespace

const JsonValue* JsonValue::find(const std::string& member) const {
  const auto found = members.find(member);
  return found == members.end() ? nullptr : &found->second;
}

JsonValue parse_json(std::string_view text, const std::string& place, int deepest) {
  Builder builder(place, deepest);
  Json::sax_parse(text, &builder);
  return std::move(builder.result());
}

std::string json_text(std::string_view text, bool mend) {
  try {
    return Json(text).dump(-1, ' ', false,
                           mend ? Json::error_handler_t::replace : Json::error_handler_t::strict);
  } catch (const Json::type_error&) {
    throw std::invalid_argument("a text that is not valid UTF-8");
  }
}

std::string json_number(double number) {
  return Json(number).dump();
}

}  // namespace filigree::internal
