// Included before everything else by what is compiled for gcc's thread sanitizer. Protobuf gives
// fields of type map a member more there, which Debian's library does not know of.
#pragma once

#pragma push_macro("__SANITIZE_THREAD__")
#undef __SANITIZE_THREAD__
#include <google/protobuf/map_field.h>
#pragma pop_macro("__SANITIZE_THREAD__")
