// A specification with one parameter of each kind.
#pragma once

namespace mdh {

inline constexpr char kEveryKind[] = R"(
  parameters { name: "n" interval { first: 0 last: 10 step: 2 } }
  parameters { name: "p" interval { first: 0 last: 10 generator: "2 ** p" } }
  parameters { name: "s" set { values { number_value: 8 } values { number_value: 2 } } }
  parameters { name: "r" set { values { number_value: 0.5 } values { number_value: 2 } } }
  parameters { name: "w" set { values { number_value: 1 } values { number_value: 2 } real: true } }
  parameters { name: "b" set { values { bool_value: true } values { bool_value: false } } }
  parameters { name: "m" set { values { string_value: "fast" } values { string_value: "slow" } } }
  parameters { name: "o" permutation { items: "i" items: "j" items: "k" } }
)";

}  // namespace mdh
