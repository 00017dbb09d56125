// Specifications of programs from JSON and YAML.
#include "mdh/v1/program.pb.h"
