#include "core/einsum/einsum_syntax.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/expression/expression.h"

namespace mdh {
namespace {

constexpr size_t kMaxBytes = 1 << 16;
constexpr absl::string_view kEllipsis = "...";

class EinsumParser {
 public:
  EinsumParser(const Source& source, const std::vector<std::vector<int64_t>>& shapes)
      : source_(source), text_(source.text()), shapes_(shapes) {}

  Result<EinsumSyntax> Run() {
    if (text_.size() > kMaxBytes) {
      return InvalidArgument("the einsum string has ", text_.size(), " bytes; at most ", kMaxBytes,
                             " are allowed");
    }
    EinsumSyntax syntax;
    bool has_output = false;
    do {
      MDH_ASSIGN_OR_RETURN(EinsumWord word, ParseWord());
      syntax.operands.push_back(std::move(word));
    } while (Accept(","));
    if (syntax.operands.size() > Expression::kMaxAccesses) {
      return source_.ErrorAt(0, "more than ", Expression::kMaxAccesses,
                             " operands are not supported");
    }
    const size_t arrow = at_;
    if (Accept("->")) {
      has_output = true;
      MDH_ASSIGN_OR_RETURN(syntax.output, ParseWord());
    }
    if (at_ < text_.size()) {
      return source_.ErrorAt(at_, "expected ", has_output ? "" : "',', '->' or ",
                             "the end of the einsum string, found '",
                             absl::CHexEscape(text_.substr(at_, 1)), "'");
    }
    MDH_RETURN_IF_ERROR(ExpandEllipses(arrow, has_output, syntax));
    for (const EinsumWord& operand : syntax.operands) {
      for (const EinsumLetter& letter : operand) ++count_[letter.name];
    }
    if (!has_output) syntax.output = ImplicitOutput(syntax);
    MDH_RETURN_IF_ERROR(CheckOutput(syntax.output));
    return syntax;
  }

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }

  bool Accept(absl::string_view symbol) {
    SkipBlanks();
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    at_ += symbol.size();
    return true;
  }

  Result<EinsumWord> ParseWord() {
    EinsumWord word;
    for (SkipBlanks(); at_ < text_.size(); SkipBlanks()) {
      const size_t offset = at_;
      if (absl::ascii_isalpha(text_[at_])) {
        word.push_back({std::string(1, text_[at_++]), offset});
        continue;
      }
      if (!Accept(kEllipsis)) break;
      if (HasEllipsis(word)) return source_.ErrorAt(offset, "'...' is twice in one operand");
      word.push_back({std::string(kEllipsis), offset});
    }
    if (text_.substr(at_, 1) == ".") {
      return source_.ErrorAt(at_, "an ellipsis has three points: '...'");
    }
    return word;
  }

  static bool HasEllipsis(const EinsumWord& word) {
    return std::ranges::any_of(word, &EinsumLetter::is_ellipsis);
  }

  // Dimensions that "..." of an operand stands for. Errors: InvalidArgument.
  Result<size_t> EllipsisRank(const EinsumWord& word, size_t number) const {
    const bool has_ellipsis = HasEllipsis(word);
    const size_t letters = word.size() - (has_ellipsis ? 1 : 0), rank = shapes_[number].size();
    if (has_ellipsis ? rank >= letters : rank == letters) return rank - letters;
    return source_.ErrorAt(word.empty() ? 0 : word[0].offset, "operand ", number + 1, " has ",
                           letters, letters == 1 ? " letter" : " letters",
                           has_ellipsis ? " and '...'" : "", ", but its shape has ", rank,
                           rank == 1 ? " dimension" : " dimensions");
  }

  Status ExpandEllipses(size_t arrow, bool has_output, EinsumSyntax& syntax) {
    if (shapes_.empty()) return ForbidEllipses(syntax);
    if (shapes_.size() != syntax.operands.size()) {
      return source_.ErrorAt(0, "there are ", syntax.operands.size(), " operands, but ",
                             shapes_.size(), shapes_.size() == 1 ? " shape" : " shapes");
    }
    std::vector<size_t> ranks;
    for (size_t n = 0; n < syntax.operands.size(); ++n) {
      MDH_ASSIGN_OR_RETURN(const size_t rank, EllipsisRank(syntax.operands[n], n));
      ranks.push_back(rank);
    }
    ellipsis_rank_ = *std::ranges::max_element(ranks);
    if (has_output && !HasEllipsis(syntax.output) && ellipsis_rank_ > 0) {
      return source_.ErrorAt(arrow, "the output lacks '...', which stands for ", ellipsis_rank_,
                             " dimensions of the operands");
    }
    for (size_t n = 0; n < ranks.size(); ++n) Expand(ranks[n], syntax.operands[n]);
    Expand(ellipsis_rank_, syntax.output);
    return absl::OkStatus();
  }

  Status ForbidEllipses(const EinsumSyntax& syntax) const {
    std::vector<EinsumWord> words = syntax.operands;
    words.push_back(syntax.output);
    for (const EinsumWord& word : words) {
      for (const EinsumLetter& letter : word) {
        if (!letter.is_ellipsis()) continue;
        return source_.ErrorAt(
            letter.offset,
            "what '...' stands for follows from the shapes of the operands; give "
            "them, as in --shape 8,16,32 once for each");
      }
    }
    return absl::OkStatus();
  }

  // "..." becomes the last `rank` dimensions of all those it stands for.
  void Expand(size_t rank, EinsumWord& word) const {
    const auto place = std::ranges::find_if(word, &EinsumLetter::is_ellipsis);
    if (place == word.end()) return;
    EinsumWord dimensions;
    for (size_t n = ellipsis_rank_ - rank; n < ellipsis_rank_; ++n) {
      dimensions.push_back({absl::StrCat("e", n + 1), place->offset});
    }
    word.insert(word.erase(place), dimensions.begin(), dimensions.end());
  }

  EinsumWord ImplicitOutput(const EinsumSyntax& syntax) const {
    EinsumWord output, dimensions;
    for (const EinsumWord& operand : syntax.operands) {
      for (const EinsumLetter& letter : operand) {
        const bool is_of_ellipsis = letter.name.size() > 1;
        if (!is_of_ellipsis && count_.at(letter.name) == 1) output.push_back(letter);
        if (is_of_ellipsis) dimensions.push_back(letter);
      }
    }
    const auto by_name = [](const EinsumLetter& a, const EinsumLetter& b) {
      return a.name.size() != b.name.size() ? a.name.size() < b.name.size() : a.name < b.name;
    };
    std::ranges::sort(output, by_name);
    std::ranges::sort(dimensions, by_name);
    dimensions.erase(
        std::unique(dimensions.begin(), dimensions.end(),
                    [](const EinsumLetter& a, const EinsumLetter& b) { return a.name == b.name; }),
        dimensions.end());
    output.insert(output.begin(), dimensions.begin(), dimensions.end());
    return output;
  }

  Status CheckOutput(const EinsumWord& output) const {
    std::map<std::string, int> seen;
    for (const EinsumLetter& letter : output) {
      if (count_.count(letter.name) == 0) {
        return source_.ErrorAt(letter.offset, "'", letter.name, "' is in no operand");
      }
      if (++seen[letter.name] > 1) {
        return source_.ErrorAt(letter.offset, "'", letter.name, "' is twice in the output");
      }
    }
    return absl::OkStatus();
  }

  const Source& source_;
  absl::string_view text_;
  const std::vector<std::vector<int64_t>>& shapes_;
  size_t at_ = 0;
  size_t ellipsis_rank_ = 0;          // the largest of all operands
  std::map<std::string, int> count_;  // of a dimension in all operands
};

}  // namespace

Result<EinsumSyntax> ParseEinsumSyntax(const Source& source,
                                       const std::vector<std::vector<int64_t>>& shapes) {
  return EinsumParser(source, shapes).Run();
}

}  // namespace mdh
