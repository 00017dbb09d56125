// A specification as parameters and constraints.
#include "mdh/v1/study.pb.h"
