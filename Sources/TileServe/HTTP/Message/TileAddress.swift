import Support
import TileIndex

/// The tile that a URL names; neither tileset nor tile need exist.
struct TileAddress: Hashable, Sendable {
  /// A tileset, or several joined by commas; decoded.
  var id: String
  var zoom: Int
  var column: Int
  /// Counted from the north, or from the south where ``isTMS``.
  var row: Int
  var isTMS = false
  /// The tile matrix set that WMTS names; nil for the tileset's.
  var matrixSet: String?
  /// 1, also as `@1x`, or 2 for `@2x`.
  var scale = 1
  /// The format that the extension names; nil without an extension.
  var format: TileFormat?

  /// Reads `/{id}/{zoom}/{column}/{row}[@1x|@2x][.{ext}]` directly from the bytes, since nearly all requests have this
  /// form; nil for any other path, and for percent-encoding, unknown extensions and numbers of more than ten digits.
  init?(path: UnsafeBufferPointer<UInt8>) {
    // From the end, because an id may contain any number of characters.
    var end = path.count
    var start = end
    func back(to byte: UInt8) -> Int? {
      var at = end
      while at > 0 {
        at &-= 1
        if path[at] == byte { return at }
      }
      return nil
    }
    func number(_ range: Range<Int>) -> Int? {
      guard !range.isEmpty, range.count <= 10 else { return nil }
      var value = 0
      for at in range {
        let digit = path[at] &- UInt8(ascii: "0")
        guard digit < 10 else { return nil }
        value = value &* 10 &+ Int(digit)
      }
      return value
    }
    guard let slash3 = back(to: UInt8(ascii: "/")) else { return nil }
    start = slash3 + 1
    var rowEnd = start
    while rowEnd < path.count, path[rowEnd] &- UInt8(ascii: "0") < 10 { rowEnd += 1 }
    guard let row = number(start..<rowEnd) else { return nil }
    var rest = UnsafeBufferPointer(rebasing: path[rowEnd...])
    if rest.count > 2, rest[0] == UInt8(ascii: "@"), rest[2] == UInt8(ascii: "x"),
      rest[1] == UInt8(ascii: "1") || rest[1] == UInt8(ascii: "2")
    {
      scale = Int(rest[1] - UInt8(ascii: "0"))
      rest = UnsafeBufferPointer(rebasing: rest[3...])
    }
    if let dot = rest.first {
      guard dot == UInt8(ascii: "."), let known = Self.format(UnsafeBufferPointer(rebasing: rest[1...])) else {
        return nil
      }
      format = known
    }
    end = slash3
    guard let slash2 = back(to: UInt8(ascii: "/")), let column = number((slash2 + 1)..<slash3) else { return nil }
    end = slash2
    guard let slash1 = back(to: UInt8(ascii: "/")), let zoom = number((slash1 + 1)..<slash2) else { return nil }
    guard slash1 > 1, path[0] == UInt8(ascii: "/") else { return nil }
    let name = path[1..<slash1]
    for byte in name where byte == UInt8(ascii: "/") || byte == UInt8(ascii: "%") || byte < 0x20 { return nil }
    id = String(decoding: name, as: UTF8.self)
    (self.zoom, self.column, self.row) = (zoom, column, row)
  }

  init(id: String, zoom: Int, column: Int, row: Int) {
    (self.id, self.zoom, self.column, self.row) = (id, zoom, column, row)
  }

  /// Reads the decoded segments of a path.
  ///
  /// - Throws: ``ServeError`` with `.badRequest` that says which part is wrong.
  init(id: String, zoom: String, column: String, lastSegment: String) throws {
    var row = lastSegment
    if let dot = row.lastIndex(of: ".") {
      let word = String(row[row.index(after: dot)...])
      guard let format = Self.format(word) else {
        throw ServeError(.badRequest, "\"\(word)\" is no tile format", remedy: "ask for png, jpg, webp or pbf")
      }
      self.format = format
      row = String(row[..<dot])
    }
    if row.hasSuffix("@1x") || row.hasSuffix("@2x") {
      scale = row.hasSuffix("@2x") ? 2 : 1
      row.removeLast(3)
    } else if row.contains("@") {
      throw ServeError(.badRequest, "the only scale beside @1x is @2x")
    }
    self.id = id
    self.zoom = try Self.number(zoom, "zoom")
    self.column = try Self.number(column, "column")
    self.row = try Self.number(row, "row")
  }

  /// The tile in a grid.
  ///
  /// - Throws: `GridError` for numbers outside the grid.
  func tile(in matrixSet: TileMatrixSet) throws -> TileID {
    // A TMS row is checked before it is flipped.
    let tile = try TileID(zoom: zoom, column: column, row: row, in: matrixSet)
    guard isTMS else { return tile }
    return TileID(unchecked: zoom, column, MBTilesRow.flipped(row, matrixHeight: matrixSet[zoom].matrixHeight))
  }

  static func number(_ text: String, _ what: String) throws -> Int {
    guard !text.isEmpty, text.utf8.count <= 10, text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
      let number = Int(text)
    else { throw ServeError(.badRequest, "the \(what) \"\(text.prefix(40))\" is not a number from 0 up") }
    return number
  }

  static func format(_ word: String) -> TileFormat? {
    var word = word
    return word.withUTF8(format)
  }

  private static func format(_ word: UnsafeBufferPointer<UInt8>) -> TileFormat? {
    func isWord(_ wanted: StaticString) -> Bool {
      wanted.withUTF8Buffer { $0.count == word.count && zip($0, word).allSatisfy { $0 == $1 | 0x20 } }
    }
    if isWord("png") { return .png }
    if isWord("jpg") || isWord("jpeg") { return .jpg }
    if isWord("webp") { return .webp }
    if isWord("pbf") || isWord("mvt") { return .pbf }
    return nil
  }
}

/// A request target split into percent-decoded path segments and the query.
struct RequestTarget {
  /// Decoded; without the slashes. A path that ends with a slash ends with an empty segment.
  var segments: [String]
  /// Names in lower case, decoded; the first of a repeated name counts.
  var query: [String: String]

  /// - Parameter target: origin form, without the base path.
  /// - Throws: ``ServeError`` with `.badRequest` for what is no valid percent-encoding of UTF-8.
  init(_ target: Substring) throws {
    let target = target.prefix { $0 != "#" }
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard let path = parts.first, path.hasPrefix("/") else {
      throw ServeError(.badRequest, "the path does not begin with a slash")
    }
    segments = try path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map {
      try Self.decoded($0, plusIsSpace: false)
    }
    query = [:]
    guard parts.count > 1 else { return }
    for pair in parts[1].split(separator: "&").prefix(64) {
      let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = try Self.decoded(halves[0], plusIsSpace: true).lowercased()
      let value = try halves.count > 1 ? Self.decoded(halves[1], plusIsSpace: true) : ""
      if query[name] == nil { query[name] = value }
    }
  }

  /// Removes percent-encoding (RFC 3986, section 2.1).
  static func decoded(_ text: Substring, plusIsSpace: Bool) throws -> String {
    guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") || $0 < 0x20 }) else {
      return String(text)
    }
    guard let bytes = PercentEncoding.decode(text.utf8, plusIsSpace: plusIsSpace) else {
      throw ServeError(.badRequest, "a % in the URL is not followed by two hexadecimal digits")
    }
    guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }), let text = String(validating: bytes, as: UTF8.self)
    else { throw ServeError(.badRequest, "the URL holds control characters or is not UTF-8") }
    return text
  }
}
