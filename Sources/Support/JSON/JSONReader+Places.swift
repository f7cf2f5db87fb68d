/// Locates parts of a text, for callers that need the bytes as they were written.
extension JSONReader {
  /// An object's members with the places of their values in the text; nil when the text is no object.
  ///
  /// - Complexity: O(bytes); values are not decoded, and only their ends are checked.
  package static func members(
    _ bytes: ArraySlice<UInt8>
  ) throws(Failure) -> [(name: String, value: Range<Int>)]? {
    let start = bytes.startIndex
    let result: Result<[(name: String, value: Range<Int>)]?, Failure> = withReader(of: bytes) {
      reader throws(Failure) in try reader.outline(shift: start)
    }
    return try result.get()
  }

  private mutating func outline(shift: Int) throws(Failure) -> [(name: String, value: Range<Int>)]? {
    skipSpace()
    guard peek == UInt8(ascii: "{") else { return nil }
    var members: [(name: String, value: Range<Int>)] = []
    try enter()
    if !close(UInt8(ascii: "}")) {
      repeat {
        let name = try name()
        skipSpace()
        let start = position
        try passValue()
        members.append((name, start + shift..<position + shift))
        skipSpace()
      } while take(UInt8(ascii: ","))
      guard close(UInt8(ascii: "}")) else { throw failure("an object does not end") }
    }
    skipSpace()
    guard position == count else { throw failure("something follows the value") }
    return members
  }

  /// The places of the values of all members of a name, at any depth.
  ///
  /// - Complexity: O(bytes); names are decoded, values are not.
  package static func places(of name: String, in bytes: [UInt8]) throws(Failure) -> [Range<Int>] {
    let result: Result<[Range<Int>], Failure> = withReader(of: bytes) { reader throws(Failure) in
      var places: [Range<Int>] = []
      try reader.search(name, &places)
      return places
    }
    return try result.get()
  }

  private mutating func search(_ wanted: String, _ places: inout [Range<Int>]) throws(Failure) {
    skipSpace()
    let isObject = peek == UInt8(ascii: "{")
    guard isObject || peek == UInt8(ascii: "[") else { return try passValue() }
    let end = UInt8(ascii: isObject ? "}" : "]")
    try enter()
    if close(end) { return }
    repeat {
      var isWanted = false
      if isObject { isWanted = try name() == wanted }
      skipSpace()
      let start = position
      try search(wanted, &places)
      if isWanted { places.append(start..<position) }
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard close(end) else { throw failure("an object or array does not end") }
  }

  /// Skips a value: to its closing bracket, or the end of a text or word.
  private mutating func passValue() throws(Failure) {
    var open = 0
    repeat {
      switch peek {
      case UInt8(ascii: "\""): try passText()
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        open += 1
        step()
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        guard open > 0 else { throw failure("no value") }
        open -= 1
        step()
      case 0 where position >= count: throw failure("a value does not end")
      case UInt8(ascii: ",") where open == 0, UInt8(ascii: ":") where open == 0: throw failure("no value")
      default:
        step()
        if open == 0, !Self.endsWord(peek) { continue }
      }
      if open == 0 { return }
    } while true
  }

  private static func endsWord(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
  }

  private mutating func passText() throws(Failure) {
    step()
    while peek != UInt8(ascii: "\"") {
      if peek == UInt8(ascii: "\\") { step() }
      guard position < count else { throw failure("text does not end") }
      step()
    }
    step()
  }
}
