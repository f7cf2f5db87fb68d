/// Tables for people.
enum TextTable {
  /// Lines of columns, the first to the left, the others to the right; an empty row is an empty line.
  static func text(_ rows: [[String]]) -> String {
    let columnCount = rows.map(\.count).max() ?? 0
    let widths = (0..<columnCount).map { column in rows.map { $0.isEmpty ? 0 : $0[column].count }.max() ?? 0 }
    return
      rows
      .map { row in
        row.enumerated().map { column, cell in
          let gap = String(repeating: " ", count: widths[column] - cell.count)
          return column == 0 ? cell + gap : gap + cell
        }.joined(separator: "  ")
      }
      .joined(separator: "\n")
  }

  /// With one decimal.
  static func percent(_ share: Double) -> String {
    let tenths = Int((abs(share) * 1000).rounded())
    return "\(share < 0 && tenths > 0 ? "-" : "")\(tenths / 10).\(tenths % 10)%"
  }
}
