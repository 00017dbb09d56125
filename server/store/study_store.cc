#include "server/store/study_store.h"

namespace mdh {

v1::StudySpec BriefSpec(const v1::StudySpec& spec) {
  v1::StudySpec brief;
  brief.set_display_name(spec.display_name());
  brief.set_technique(spec.technique());
  brief.set_seed(spec.seed());
  brief.set_lookahead(spec.lookahead());
  brief.set_abort(spec.abort());
  return brief;
}

}  // namespace mdh
