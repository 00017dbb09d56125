#include "core/schedule/steps.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/schedule/cursor.h"

namespace mdh {
namespace {

// Where a step puts a buffer: its region, and the order of its dimensions there, from 1.
struct PlacedBuffer {
  int buffer = -1;
  bool is_output = false;
  int region = 0;
  std::vector<int64_t> layout = {};
};

struct Step {
  size_t offset = 0;
  int64_t number = 0;                   // place in the loop nest
  std::vector<std::string> sizes = {};  // "^", "?", or values, per dimension
  std::vector<PlacedBuffer> buffers = {};
  std::string kind = "FOR";            // "BLK", "THR", ...
  std::vector<std::string> tags = {};  // "x", "1", ...; empty: as the last step
  int layer = -1;

  bool Cuts(int d) const { return sizes[d] != "^"; }
};

class StepReader {
 public:
  StepReader(const Source& source, const ScheduleNames& names) : names_(names), cursor_(source) {}

  Result<std::string> Read() {
    while (!AtEnd()) {
      MDH_ASSIGN_OR_RETURN(Step step, ReadStep());
      if (step.number > 0) steps_.push_back(std::move(step));
    }
    MDH_RETURN_IF_ERROR(AssignLayers());
    return Lines();
  }

 private:
  int rank() const { return names_.expression().rank(); }

  // Lines end nothing here.
  bool AtEnd() {
    while (true) {
      if (cursor_.AtLineEnd()) {
        if (!cursor_.NextLine()) return true;
      } else if (cursor_.Accept("//")) {
        cursor_.SkipLine();
      } else {
        return false;
      }
    }
  }
  bool Accept(absl::string_view symbol) { return !AtEnd() && cursor_.Accept(symbol); }
  Status Expect(absl::string_view symbol) {
    AtEnd();
    return cursor_.Expect(symbol);
  }
  Status Unexpected(absl::string_view what) {
    AtEnd();
    return cursor_.Unexpected(what);
  }

  // ---- Reading ----

  Result<Step> ReadStep() {
    AtEnd();
    Step step{.offset = cursor_.offset()};
    MDH_ASSIGN_OR_RETURN(step.number, cursor_.ExpectNumber("a step 'N: (de/re)-comp(..)'"));
    for (const absl::string_view symbol : {":", "(", "de", "/", "re", ")", "-", "comp", "("}) {
      MDH_RETURN_IF_ERROR(Expect(symbol));
    }
    MDH_RETURN_IF_ERROR(ReadSizes(&step));
    MDH_RETURN_IF_ERROR(Expect("("));
    MDH_RETURN_IF_ERROR(ReadBuffers(/*is_output=*/false, &step));
    MDH_RETURN_IF_ERROR(Expect(";"));
    MDH_RETURN_IF_ERROR(ReadBuffers(/*is_output=*/true, &step));
    MDH_RETURN_IF_ERROR(Expect(")"));
    MDH_RETURN_IF_ERROR(Expect("("));
    MDH_RETURN_IF_ERROR(ReadTags(&step));
    return step;
  }

  Status ReadSizes(Step* step) {
    do {
      const size_t at = cursor_.offset();
      if (std::ssize(step->sizes) == rank()) {
        return cursor_.ErrorAt(at, "a step has ", rank(), " sizes");
      }
      const int d = static_cast<int>(step->sizes.size());
      MDH_ASSIGN_OR_RETURN(step->sizes.emplace_back(), ReadSize());
      const std::string whole = absl::StrCat(names_.expression().dimensions()[d].size);
      if (step->number == 0 && step->sizes[d] != whole) {
        return cursor_.ErrorAt(
            at, "step 0 has the sizes of the expression: ", names_.DimensionName(d), " is ", whole);
      }
    } while (Accept(","));
    MDH_RETURN_IF_ERROR(Expect(")"));
    if (std::ssize(step->sizes) == rank()) return absl::OkStatus();
    return cursor_.ErrorAt(step->offset, "a step has ", rank(), " sizes");
  }

  Result<std::string> ReadSize() {
    if (Accept("^")) return std::string("^");
    if (Accept("?")) return std::string("?");
    if (!Accept("{")) {
      MDH_ASSIGN_OR_RETURN(const int64_t size, names_.Size(&cursor_));
      return absl::StrCat(size);
    }
    std::vector<std::string> sizes;
    do {
      AtEnd();
      MDH_ASSIGN_OR_RETURN(const int64_t size, names_.Size(&cursor_));
      sizes.push_back(absl::StrCat(size));
    } while (Accept(","));
    MDH_RETURN_IF_ERROR(Expect("}"));
    return absl::StrCat("{", absl::StrJoin(sizes, ", "), "}");
  }

  // "A:SM[1,2], ^": buffers that are not named stay where they are.
  Status ReadBuffers(bool is_output, Step* step) {
    do {
      if (Accept("^") || Accept("?")) continue;
      AtEnd();
      PlacedBuffer placed{.is_output = is_output};
      MDH_ASSIGN_OR_RETURN(placed.buffer, names_.Buffer(is_output, &cursor_));
      MDH_RETURN_IF_ERROR(Expect(":"));
      AtEnd();
      MDH_ASSIGN_OR_RETURN(placed.region, names_.Region(&cursor_));
      const size_t at = cursor_.offset();
      if (Accept("[")) {
        do {
          AtEnd();
          MDH_ASSIGN_OR_RETURN(placed.layout.emplace_back(),
                               cursor_.ExpectNumber("the number of a dimension"));
        } while (Accept(","));
        MDH_RETURN_IF_ERROR(Expect("]"));
      }
      const Buffer& buffer = names_.BufferAt(placed.buffer, is_output);
      if (!placed.layout.empty() && placed.layout.size() != buffer.extents.size()) {
        return cursor_.ErrorAt(at, buffer.name, " has ", buffer.extents.size(),
                               " dimensions, numbered from 1");
      }
      step->buffers.push_back(std::move(placed));
    } while (Accept(","));
    return absl::OkStatus();
  }

  // "BLK.y, BLK.x, BLK.z"; "FOR.2, FOR.3, FOR.1"; "^, ^, ^"; "?".
  Status ReadTags(Step* step) {
    do {
      if (Accept("^") || Accept("?")) continue;
      AtEnd();
      const size_t at = cursor_.offset();
      MDH_ASSIGN_OR_RETURN(const absl::string_view kind,
                           cursor_.ExpectName("FOR or a layer of cores"));
      if (!step->tags.empty() && kind != step->kind) {
        return cursor_.ErrorAt(at, "all tags of a step are of one kind");
      }
      step->kind = std::string(kind);
      if (kind != "FOR" && step->number > 0) {
        step->layer = CoreLayer(kind);
        if (step->layer < 0) {
          return cursor_.ErrorAt(at, "unknown tag '", kind, "'; there are FOR, ",
                                 absl::StrJoin(CoreNames(), ", "));
        }
      }
      MDH_RETURN_IF_ERROR(Expect("."));
      step->tags.push_back(std::string(cursor_.Word(",)")));
    } while (Accept(","));
    return Expect(")");
  }

  bool is_core(int layer) const { return names_.model().layers[layer].memory_region.empty(); }
  // Threads of OpenMP are its cores.
  int CoreLayer(absl::string_view name) const {
    const int layer = names_.LayerOf(name);
    if (layer >= 0) return is_core(layer) ? layer : -1;
    if (name == "THR")
      return names_.model().LayerWith(names_.is_explicit() ? LayerRole::kThreads
                                                           : LayerRole::kCores);
    return name == "BLK" ? names_.model().LayerWith(LayerRole::kCores) : -1;
  }
  std::vector<std::string> CoreNames() const {
    std::vector<std::string> known;
    for (int l = 0; l < std::ssize(names_.model().layers); ++l) {
      if (is_core(l)) known.push_back(names_.LayerName(l));
    }
    return known;
  }

  // ---- Layers ----

  Status AssignLayers() {
    std::vector<int> last(rank(), -1);
    for (Step& step : steps_) {
      int outer = -1;
      for (int d = 0; d < rank(); ++d) {
        if (step.Cuts(d)) outer = std::max(outer, last[d]);
      }
      if (step.layer < 0) {
        step.layer = outer + 1;
        const int layers = static_cast<int>(names_.model().layers.size());
        while (step.layer < layers && is_core(step.layer)) ++step.layer;
        if (step.layer == layers) return NoLayer(step);
      } else if (outer >= step.layer) {
        return NoLayer(step);
      }
      for (int d = 0; d < rank(); ++d) {
        if (step.Cuts(d)) last[d] = step.layer;
      }
    }
    return absl::OkStatus();
  }

  Status NoLayer(const Step& step) const {
    std::vector<std::string> layers;
    for (const AsmLayer& layer : names_.model().layers) layers.push_back(layer.name);
    return cursor_.ErrorAt(step.offset,
                           "there is no layer left for this step behind those that "
                           "cut the same dimensions before it; ",
                           names_.model().name, " has ", absl::StrJoin(layers, ", "));
  }

  // ---- Lines ----

  std::string Lines() {
    std::string lines;
    for (const Step& step : steps_) {
      std::vector<std::string> tiles;
      for (int d = 0; d < rank(); ++d) {
        if (step.Cuts(d) && step.sizes[d] != "?") {
          tiles.push_back(absl::StrCat(names_.DimensionName(d), "=", step.sizes[d]));
        }
      }
      const std::string layer = absl::StrCat(names_.LayerName(step.layer), ": ");
      const bool is_innermost = step.layer + 1 == std::ssize(names_.model().layers);
      if (!tiles.empty() && !is_innermost) {
        absl::StrAppend(&lines, layer, "tile ", absl::StrJoin(tiles, ", "), "\n");
      }
      const std::string axes = AxesOf(step);
      if (!axes.empty()) absl::StrAppend(&lines, layer, "on ", axes, "\n");
    }
    std::vector<std::string> loops;
    for (const auto& [at, level] : Loops()) loops.push_back(names_.LevelName(level));
    if (loops.size() > 1) absl::StrAppend(&lines, "order ", absl::StrJoin(loops, ", "), "\n");
    AppendBuffers(&lines);
    return lines;
  }

  // Along which axes dimensions are that the step certainly cuts: counted among them.
  std::string AxesOf(const Step& step) const {
    const bool is_core_step = is_core(step.layer) && std::ssize(step.tags) == rank();
    if (!is_core_step || std::ranges::count(step.sizes, "?") > 0) return "";
    std::map<std::string, int> cut;  // by their tags
    for (int d = 0; d < rank(); ++d) {
      if (step.Cuts(d)) cut[step.tags[d]] = d;
    }
    if (cut.size() < 2) return "";
    std::vector<std::string> axes;
    int axis = 0;
    for (const auto& [tag, d] : cut) {
      axes.push_back(
          absl::StrCat(names_.DimensionName(d), "=", names_.model().DimensionName(axis)));
      ++axis;
    }
    return absl::StrJoin(axes, ", ");
  }

  using Place = std::pair<int64_t, std::string>;  // of the step, and within it

  // Loops that are cut, the outermost first.
  std::vector<std::pair<Place, MdhLevel>> Loops() const {
    std::vector<std::pair<Place, MdhLevel>> loops;
    std::vector<std::string> tags;
    for (const Step& step : steps_) {
      if (is_core(step.layer)) continue;
      if (std::ssize(step.tags) == rank()) tags = step.tags;
      for (int d = 0; d < rank(); ++d) {
        if (!step.Cuts(d)) continue;
        const std::string tag = tags.empty() ? std::string(1, static_cast<char>('1' + d)) : tags[d];
        loops.push_back({{step.number, tag}, {step.layer, d}});
      }
    }
    std::ranges::sort(loops);
    return loops;
  }

  void AppendBuffers(std::string* lines) {
    std::map<std::pair<bool, int>, std::vector<std::string>> places;
    for (const Step& step : steps_) {
      for (const PlacedBuffer& placed : step.buffers) {
        if (placed.region == 0) continue;
        std::vector<std::string>& of = places[{placed.is_output, placed.buffer}];
        if (names_.is_explicit()) {
          of.push_back(absl::StrCat("in ", names_.model().memory_regions()[placed.region],
                                    FromLoopBehind(step)));
        } else if (!placed.is_output) {
          of.push_back(absl::StrCat("copy at ", names_.LayerName(step.layer)));
        }
        const std::string layout = LayoutOf(placed);
        if (!layout.empty()) of.push_back(layout);
      }
    }
    for (const auto& [which, of] : places) {
      if (of.empty()) continue;
      absl::StrAppend(lines, which.first ? "output " : "input ",
                      names_.BufferAt(which.second, which.first).name, ": ",
                      absl::StrJoin(of, "; "), "\n");
    }
  }

  std::string FromLoopBehind(const Step& step) const {
    for (const auto& [at, level] : Loops()) {
      if (at.first > step.number) return absl::StrCat(" from ", names_.LevelName(level));
    }
    return " inside";
  }

  std::string LayoutOf(const PlacedBuffer& placed) const {
    if (placed.is_output || placed.layout.size() < 2) return "";
    if (names_.is_explicit() && placed.region != names_.SharedRegion()) return "";
    return absl::StrCat(
        "layout (",
        absl::StrJoin(placed.layout, ", ",
                      [](std::string* out, int64_t x) { absl::StrAppend(out, x - 1); }),
        ")");
  }

  const ScheduleNames& names_;
  ScheduleCursor cursor_;
  std::vector<Step> steps_;
};

}  // namespace

bool IsInSteps(absl::string_view text) {
  while (true) {
    text = absl::StripLeadingAsciiWhitespace(text);
    if (!absl::StartsWith(text, "//") && !absl::StartsWith(text, "#")) break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  return !text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text[0]));
}

Result<std::string> LinesOfSteps(const Source& source, const ScheduleNames& names) {
  return StepReader(source, names).Read();
}

}  // namespace mdh
