import MapStoreWire
import PurchaseLedger
import Support

/// Which products the app store sells now: a list that the operator exports from the app store.
///
/// CSV (RFC 4180) with `product id,state` in each line, where a heading, empty lines and lines that begin with `#` are
/// skipped; or JSON: an array of objects with `productId` and `state`, or an object of states by product id. A list
/// without products is an error, since it would take everything off sale.
struct ProductStates: Sendable, Hashable {
  private let states: [String: Bool]

  private static let bytesMax = 64 << 20

  /// Apple's, Google's and our states of products that can be bought. In lower case, with `_` between words.
  private static let readyWords: Set<String> = ["ready", "ready_for_sale", "approved", "active"]
  /// Apple's, Google's and our states of products that cannot.
  private static let otherWords: Set<String> = [
    "missing_metadata", "waiting_for_upload", "processing_content", "ready_to_submit", "waiting_for_review",
    "in_review", "developer_action_needed", "pending_binary_approval", "pending_developer_release", "rejected",
    "developer_removed_from_sale", "removed_from_sale", "developer_rejected", "deleted", "draft", "inactive",
    "inactive_published", "state_unspecified", "status_unspecified", "removed", "retired", "hidden", "waiting",
    "not_ready",
  ]

  /// - Throws: ``StoreError``.
  init(path: String) throws {
    func unreadable(_ message: String, _ remedy: String) -> StoreError {
      StoreError(.unreadableInput, at: path, message, remedy: remedy)
    }
    guard let file = RegularFile(path) else { throw unreadable("cannot be read", "check the name and permissions") }
    guard file.byteCount <= Self.bytesMax else {
      throw unreadable(
        "has \(file.byteCount) bytes, and at most \(Self.bytesMax) are read", "name only the products of this store")
    }
    let bytes: [UInt8]
    do {
      bytes = try file.allBytes(countMax: Self.bytesMax)
    } catch {
      throw unreadable("cannot be read: \(error)", "write it beside, and give it its name by a rename")
    }
    try self.init(bytes, path: path)
  }

  /// - Parameter path: for error messages.
  init(_ bytes: [UInt8], path: String) throws {
    func refused(
      _ message: String, remedy: String = "write a line \"product id,state\" for each product, or JSON"
    ) -> StoreError {
      StoreError(.unreadableInput, at: path, message, remedy: remedy)
    }
    let text = UTF8Mark.removed(from: bytes)
    var given: [(product: String, state: String, place: String)] = []
    switch text.first(where: { !CSVLine.isSpace($0) }) {
    case UInt8(ascii: "["):
      do {
        given = try WireJSON.decode([Product].self, from: text).map { ($0.productId, $0.state, $0.productId) }
      } catch { throw refused("\(error)") }
    case UInt8(ascii: "{"):
      do {
        let states = try WireJSON.decode([String: String].self, from: text)
        given = states.sorted { $0.key < $1.key }.map { ($0.key, $0.value, $0.key) }
      } catch { throw refused("\(error)") }
    default:
      for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
        let place = "line \(index + 1)"
        guard let cells = CSVLine.cells(line) else {
          throw refused("\(place) has quotation marks that do not belong together")
        }
        if cells == [""] || cells.first?.hasPrefix("#") == true { continue }
        guard cells.count == 2, !cells[0].isEmpty, !cells[1].isEmpty else {
          throw refused("\(place) is not a product id, a comma and a state")
        }
        // The heading.
        if given.isEmpty, ["state", "status"].contains(cells[1].lowercased()) { continue }
        given.append((cells[0], cells[1], place))
      }
    }
    var states: [String: Bool] = [:]
    for (product, state, place) in given {
      let word = state.lowercased().replacing(" ", with: "_").replacing("-", with: "_")
      guard Self.readyWords.contains(word) || Self.otherWords.contains(word) else {
        throw refused(
          "\(place): \"\(state)\" is no state that is known",
          remedy: "write ready for what is sold, removed for what is not, or the store's word for it")
      }
      states[product] = Self.readyWords.contains(word)
    }
    guard !states.isEmpty else {
      throw refused(
        "names no product",
        remedy: "write it beside, and give it its name by a rename; without this file all is for sale")
    }
    self.states = states
  }

  private struct Product: Decodable {
    let productId: String
    let state: String
  }

  /// Whether a product can be bought now; false for products that the list lacks.
  func isReady(_ product: String) -> Bool { states[product] ?? false }
}

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
}
