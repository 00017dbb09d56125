// Products of two words.
#pragma once

namespace mdh {

__extension__ using Wide = unsigned __int128;

}  // namespace mdh
