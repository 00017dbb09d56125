// The basic abort conditions and their composition.
#include "tuner/search/abort_condition.h"
