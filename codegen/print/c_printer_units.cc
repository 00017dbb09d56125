// Statements for matrix units as calls of functions of the prelude.
#include "absl/strings/str_cat.h"
#include "codegen/print/c_printer.h"

namespace mdh {

std::string CPrinter::UnitFunction(const std::string& instruction) {
  if (!dialect_.has_group_units()) NotInLanguage(dialect_, "matrix units of groups");
  return absl::StrCat(prelude_.UnitInstructionFunction(instruction), "();\n");
}

std::string CPrinter::PrintOperand(const DeclareOperand& s) {
  if (!dialect_.has_group_units()) NotInLanguage(dialect_, "matrix units of groups");
  return absl::StrCat("const unsigned long long ", s.name, " = ", prelude_.UnitOperandFunction(),
                      "(", Address(s.array, s.offset), ", ", s.leading_bytes, ", ", s.stride_bytes,
                      ");\n");
}

std::string CPrinter::PrintMultiply(const GroupMultiply& s) {
  if (!dialect_.has_group_units()) NotInLanguage(dialect_, "matrix units of groups");
  // Addresses in operands are in units of 16 bytes.
  const auto operand = [](const UnitOperand& x) {
    return x.offset_bytes == 0 ? x.name : absl::StrCat(x.name, " + ", x.offset_bytes / 16);
  };
  const std::string function = prelude_.GroupMultiplyFunction(
      *GroupInstruction(s.a.type, s.b.type, s.columns), s.a.is_across, s.b.is_across);
  return absl::StrCat(function, "(", Address(s.sums, Index(s.first)), ", ", operand(s.a), ", ",
                      operand(s.b), ", ", PrintIndex(s.keeps), ");\n");
}

std::string CPrinter::PrintMeeting(const Barrier& s) {
  return UnitFunction(absl::StrCat("bar.sync 1, ", s.threads));
}

std::string CPrinter::PrintStartBarriers(const StartBarriers& s) {
  if (!dialect_.has_group_units()) NotInLanguage(dialect_, "tensor copies");
  return absl::StrCat(prelude_.StartBarriersFunction(), "(", s.array, ", ", s.count, ", ",
                      s.arrivals, ");\n");
}

std::string CPrinter::PrintArrive(const ArriveAtBarrier& s) {
  if (!dialect_.has_group_units()) NotInLanguage(dialect_, "tensor copies");
  const std::string at = Address(s.array, s.number);
  if (s.blocks > 1) {
    return absl::StrCat(prelude_.ArriveInClusterFunction(), "(", at, ", ", s.blocks, ");\n");
  }
  return absl::StrCat(prelude_.ArriveAtBarrierFunction(s.is_of_group()), "(", at,
                      s.is_of_group() ? "" : absl::StrCat(", ", s.bytes), ");\n");
}

std::string CPrinter::PrintAwaitBarrier(const AwaitBarrier& s) {
  if (!dialect_.has_group_units()) NotInLanguage(dialect_, "tensor copies");
  return absl::StrCat(prelude_.AwaitBarrierFunction(), "(", Address(s.array, s.number), ", ",
                      PrintIndex(s.parity), ");\n");
}

std::string CPrinter::PrintTensorCopy(const TensorCopy& s) {
  if (!dialect_.has_group_units()) NotInLanguage(dialect_, "tensor copies");
  std::string arguments =
      absl::StrCat(Address(s.array, s.to), ", &", s.map, ", ", Address(s.barriers, s.barrier));
  for (const Index& coordinate : s.coordinates) {
    absl::StrAppend(&arguments, ", ", PrintIndex(coordinate));
  }
  if (s.blocks > 1) {
    int64_t blocks = 0;
    for (int n = 0; n < s.blocks; ++n) blocks |= int64_t{1} << (n * s.step);
    absl::StrAppend(&arguments, ", ", blocks, " << (", PrintIndex(s.first_block), ")");
  }
  return absl::StrCat(prelude_.TensorCopyFunction(s.coordinates.size(), s.blocks > 1), "(",
                      arguments, ");\n");
}

std::string CPrinter::PrintStoreMatrices(const StoreMatrices& s) {
  if (!dialect_.has_group_units()) NotInLanguage(dialect_, "matrix units of groups");
  std::string arguments = Address(s.array, s.offset);
  for (const LoopValue& value : s.values) absl::StrAppend(&arguments, ", ", PrintValue(*value, 0));
  return absl::StrCat(prelude_.StoreMatricesFunction(s.type), "(", arguments, ");\n");
}

std::string CPrinter::PrintLoadMatrices(const LoadMatrices& s) {
  if (!dialect_.has_warp_units) NotInLanguage(dialect_, "matrix units of warps");
  const std::string function = prelude_.LoadMatricesFunction(s.type, s.matrices, s.is_transposed);
  return absl::StrCat(function, "(", Address(s.to.array, s.to.first), ", ",
                      Address(s.array, s.offset), ");\n");
}

std::string CPrinter::PrintRoundToTf32(const RoundToTf32& s) {
  if (!dialect_.has_warp_units) NotInLanguage(dialect_, "matrix units of warps");
  return absl::StrCat(prelude_.RoundToTf32Function(s.count), "(",
                      Address(s.values.array, s.values.first), ");\n");
}

std::string CPrinter::PrintAwaitSums(const AwaitSums& s) {
  if (!dialect_.has_warp_units) NotInLanguage(dialect_, "matrix units of warps");
  return absl::StrCat(prelude_.AwaitSumsFunction(s.tiles, s.of_tile), "(",
                      Address(s.sums.array, s.sums.first), ");\n");
}

std::string CPrinter::PrintWarpMultiply(const WarpMultiply& s) {
  if (!dialect_.has_warp_units) NotInLanguage(dialect_, "matrix units of warps");
  const auto at = [&](const HeldFragment& x) { return Address(x.array, x.first); };
  return absl::StrCat(prelude_.WarpMultiplyFunction(*s.instruction), "(", at(s.sums), ", ", at(s.a),
                      ", ", at(s.b), ");\n");
}

}  // namespace mdh
