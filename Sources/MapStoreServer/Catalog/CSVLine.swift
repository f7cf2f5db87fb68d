import MapStoreWire
import Support

/// Parses a line of CSV (RFC 4180).
enum CSVLine {
  static func isSpace(_ byte: UInt8) -> Bool { byte <= 0x20 }

  /// The cells, without surrounding spaces and quotation marks.
  ///
  /// - Parameter line: without the line feed; a carriage return counts as a space.
  /// - Returns: nil if a quotation is not closed, or there is text beside it.
  static func cells(_ line: some Sequence<UInt8>) -> [String]? {
    var cells: [String] = []
    var cell: [UInt8] = []
    /// Whether the cell is inside a quotation now, and whether it had one.
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
        // A doubled quotation mark inside a quotation stands for one.
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

  /// The products of a list: `product id,state`, and if wanted `,price,currency,tax note`. A heading, empty lines and
  /// lines that begin with `#` are skipped. The last line of a product counts.
  static func products(_ text: [UInt8]) throws(ListedPrice.Fault) -> [ProductList.Product] {
    var products: [ProductList.Product] = []
    for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      let place = "line \(index + 1)"
      guard let cells = cells(line) else {
        throw ListedPrice.Fault(
          "\(place) has quotation marks that do not belong together", remedy: "double those inside of a quotation")
      }
      if cells == [""] || cells.first?.hasPrefix("#") == true { continue }
      guard [2, 4, 5].contains(cells.count), !cells[0].isEmpty, !cells[1].isEmpty else {
        throw ListedPrice.Fault(
          "\(place) is not a product id, a comma and a state",
          remedy: "write a line \"product id,state\" or \"product id,state,price,currency\" for each product, or JSON")
      }
      // The heading.
      if products.isEmpty, ["state", "status"].contains(cells[1].lowercased()) { continue }
      var product = ProductList.Product(
        id: cells[0], isReady: try ProductList.isReady(cells[1], place), place: place)
      if cells.count > 2, !cells[2].isEmpty || !cells[3].isEmpty {
        let note = cells.count > 4 && !cells[4].isEmpty ? cells[4] : nil
        do { product.price = try ListedPrice(checking: cells[2], cells[3], taxNote: note) } catch {
          throw ListedPrice.Fault("\(place): \(error.message)", remedy: error.remedy)
        }
      }
      products.append(product)
    }
    return products
  }
}
