/// A line of a list with commas (RFC 4180).
enum CSVLine {
  static func isSpace(_ byte: UInt8) -> Bool { byte <= 0x20 }

  /// The cells, without spaces around them, and without the quotation marks of those that have them.
  ///
  /// - Parameter line: without its end; a carriage return counts as a space.
  /// - Returns: nil when a quotation mark is not closed, or something stands beside the quotation.
  static func cells(_ line: some Sequence<UInt8>) -> [String]? {
    var cells: [String] = []
    var cell: [UInt8] = []
    /// Of the cell: whether it is within quotation marks, or was.
    var (isQuoting, wasQuoted) = (false, false)
    func end() -> String {
      let text = wasQuoted ? cell[...] : cell.drop(while: isSpace).reversed().drop(while: isSpace).reversed()[...]
      defer { (cell, wasQuoted) = ([], false) }
      return String(decoding: text, as: UTF8.self)
    }
    for byte in line {
      if isQuoting {
        if byte == UInt8(ascii: "\"") { isQuoting = false } else { cell.append(byte) }
      } else if byte == UInt8(ascii: "\"") {
        // Twice within a quotation it stands for itself.
        if wasQuoted { cell.append(byte) } else if !cell.allSatisfy(isSpace) { return nil }
        if !wasQuoted { cell = [] }
        (isQuoting, wasQuoted) = (true, true)
      } else if byte == UInt8(ascii: ",") {
        cells.append(end())
      } else if !wasQuoted {
        cell.append(byte)
      } else if !isSpace(byte) {
        return nil
      }
    }
    if isQuoting { return nil }
    cells.append(end())
    return cells
  }
}
