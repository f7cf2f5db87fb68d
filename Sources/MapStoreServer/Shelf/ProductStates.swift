import MapStoreWire

/// Which products the app store sells now, as the operator exported it.
///
/// A text with `product id,state` a line (a heading and empty lines are skipped), or JSON: an array of objects with `productId` and `state`, or an object of states by product id.
struct ProductStates: Sendable, Hashable {
  private let states: [String: String]

  /// In lower case. Apple's and Google's words for what can be bought, and ours.
  private static let readyWords: Set<String> = ["ready", "ready_for_sale", "approved", "active"]

  /// - Throws: ``StoreError``.
  init(path: String) throws {
    guard let bytes = try OpenFile(path)?.allBytes(countMax: 64 << 20) else {
      throw StoreError(.unreadableInput, at: path, "cannot be read", remedy: "check the name and permissions")
    }
    try self.init(bytes, path: path)
  }

  /// - Parameter path: what errors call it.
  init(_ bytes: [UInt8], path: String) throws {
    func refused(_ message: String) -> StoreError {
      StoreError(
        .unreadableInput, at: path, message, remedy: "write a line \"product id,state\" for each product, or JSON")
    }
    let isSpace = { (byte: UInt8) in byte <= 0x20 }
    switch bytes.first(where: { !isSpace($0) }) {
    case UInt8(ascii: "["):
      do {
        let products = try WireJSON.decode([Product].self, from: bytes)
        states = Dictionary(products.map { ($0.productId, $0.state) }, uniquingKeysWith: { $1 })
      } catch { throw refused("\(error)") }
    case UInt8(ascii: "{"):
      do { states = try WireJSON.decode([String: String].self, from: bytes) } catch { throw refused("\(error)") }
    default:
      var states: [String: String] = [:]
      for (index, line) in bytes.split(separator: UInt8(ascii: "\n")).enumerated() {
        let cells = line.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { cell in
          String(decoding: cell.drop(while: isSpace).reversed().drop(while: isSpace).reversed(), as: UTF8.self)
        }
        if cells == [""] || cells.first?.hasPrefix("#") == true { continue }
        guard cells.count == 2, !cells[0].isEmpty, !cells[1].isEmpty else {
          throw refused("line \(index + 1) is not a product id, a comma and a state")
        }
        states[cells[0]] = cells[1]
      }
      self.states = states
    }
  }

  private struct Product: Decodable {
    let productId: String
    let state: String
  }

  /// True for products that can be bought now; not for those that the file does not name.
  func isReady(_ product: String) -> Bool {
    states[product].map { Self.readyWords.contains($0.lowercased()) } ?? false
  }
}
