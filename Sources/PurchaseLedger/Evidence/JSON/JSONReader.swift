/// Reads one JSON text (RFC 8259), strictly, within limits of depth.
package struct JSONReader {
  /// Where and why a text is not JSON.
  package struct Failure: Error, CustomStringConvertible {
    package var byte: Int
    package var message: String

    package var description: String { "\(message) at byte \(byte)" }
  }

  /// The text with a zero behind it, so that looking at the next byte needs no check: a zero fits nowhere in JSON.
  private let bytes: UnsafeBufferPointer<UInt8>
  private let count: Int
  private var position = 0
  private var depth = 0

  private static let depthMax = 64

  /// - Complexity: O(bytes). Nesting beyond 64 levels is a failure, so hostile input cannot exhaust the stack.
  package static func read(_ bytes: some Sequence<UInt8>) throws(Failure) -> JSONValue {
    var ended: [UInt8] = []
    ended.reserveCapacity(bytes.underestimatedCount + 1)
    ended.append(contentsOf: bytes)
    ended.append(0)
    let result: Result<JSONValue, Failure> = ended.withUnsafeBufferPointer { buffer in
      var reader = JSONReader(bytes: buffer, count: buffer.count - 1)
      do throws(Failure) { return .success(try reader.document()) } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// An object's members with the bytes of their values as they stand in the text; nil when the text is no object.
  ///
  /// - Complexity: O(bytes); nothing inside a value is decoded or, but for where it ends, checked.
  package static func members(
    _ bytes: ArraySlice<UInt8>
  ) throws(Failure) -> [(name: String, value: Range<Int>)]? {
    let start = bytes.startIndex
    let ended = Array(bytes) + [0]
    let result: Result<[(name: String, value: Range<Int>)]?, Failure> = ended.withUnsafeBufferPointer { buffer in
      var reader = JSONReader(bytes: buffer, count: buffer.count - 1)
      do throws(Failure) { return .success(try reader.outline(shift: start)) } catch { return .failure(error) }
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

  /// Where the values of all members of a name stand, however deep.
  ///
  /// - Complexity: O(bytes); names are decoded, values are not.
  package static func places(of name: String, in bytes: [UInt8]) throws(Failure) -> [Range<Int>] {
    let result: Result<[Range<Int>], Failure> = (bytes + [0]).withUnsafeBufferPointer { buffer in
      var reader = JSONReader(bytes: buffer, count: buffer.count - 1)
      var places: [Range<Int>] = []
      do throws(Failure) {
        try reader.search(name, &places)
        return .success(places)
      } catch { return .failure(error) }
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

  /// Goes behind a value: to the bracket that closes it, or the end of a text or word.
  private mutating func passValue() throws(Failure) {
    var open = 0
    repeat {
      switch peek {
      case UInt8(ascii: "\""): try passText()
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        open += 1
        position += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        guard open > 0 else { throw failure("no value") }
        open -= 1
        position += 1
      case 0 where position >= count: throw failure("a value does not end")
      case UInt8(ascii: ",") where open == 0, UInt8(ascii: ":") where open == 0: throw failure("no value")
      default:
        position += 1
        if open == 0, !Self.endsWord(peek) { continue }
      }
      if open == 0 { return }
    } while true
  }

  private static func endsWord(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
  }

  private mutating func passText() throws(Failure) {
    position += 1
    while peek != UInt8(ascii: "\"") {
      if peek == UInt8(ascii: "\\") { position += 1 }
      guard position < count else { throw failure("text does not end") }
      position += 1
    }
    position += 1
  }

  private mutating func name() throws(Failure) -> String {
    skipSpace()
    guard peek == UInt8(ascii: "\"") else { throw failure("a name is missing") }
    let name = try string()
    skipSpace()
    guard take(UInt8(ascii: ":")) else { throw failure("a colon is missing") }
    return name
  }

  private init(bytes: UnsafeBufferPointer<UInt8>, count: Int) {
    self.bytes = bytes
    self.count = count
  }

  private mutating func document() throws(Failure) -> JSONValue {
    let value = try value()
    skipSpace()
    guard position == count else { throw failure("something follows the value") }
    return value
  }

  private mutating func value() throws(Failure) -> JSONValue {
    skipSpace()
    switch peek {
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return try array()
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return try number()
    }
  }

  private mutating func object() throws(Failure) -> JSONValue {
    try enter()
    var members: [JSONValue.Member] = []
    if close(UInt8(ascii: "}")) { return .object([]) }
    members.reserveCapacity(16)
    repeat {
      let name = try name()
      members.append(.init(name: name, value: try value()))
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard close(UInt8(ascii: "}")) else { throw failure("an object does not end") }
    return .object(members)
  }

  private mutating func array() throws(Failure) -> JSONValue {
    try enter()
    var elements: [JSONValue] = []
    if close(UInt8(ascii: "]")) { return .array([]) }
    repeat {
      elements.append(try value())
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard close(UInt8(ascii: "]")) else { throw failure("an array does not end") }
    return .array(elements)
  }

  private mutating func number() throws(Failure) -> JSONValue {
    let start = position
    _ = take(UInt8(ascii: "-"))
    let leading = peek
    var count = digits()
    guard count == 1 || (count > 1 && leading != UInt8(ascii: "0")) else { throw failure("no value") }
    if take(UInt8(ascii: ".")) {
      count = digits()
      guard count > 0 else { throw failure("a fraction has no digits") }
    }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      count = digits()
      guard count > 0 else { throw failure("an exponent has no digits") }
    }
    return .number(String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<position]), as: UTF8.self))
  }

  private mutating func string() throws(Failure) -> String {
    position += 1
    let start = position
    var seen: UInt8 = 0
    while peek >= 0x20, peek != UInt8(ascii: "\""), peek != UInt8(ascii: "\\") {
      seen |= peek
      position += 1
    }
    if peek == UInt8(ascii: "\"") {
      let slice = UnsafeBufferPointer(rebasing: bytes[start..<position])
      let text = seen < 0x80 ? String(decoding: slice, as: UTF8.self) : try text(slice)
      position += 1
      return text
    }
    var copy = Array(bytes[start..<position])
    while peek != UInt8(ascii: "\"") {
      let byte = peek
      guard byte >= 0x20 else {
        throw failure(position < count ? "a control character in text" : "text does not end")
      }
      position += 1
      if byte == UInt8(ascii: "\\") { try escape(into: &copy) } else { copy.append(byte) }
    }
    position += 1
    return try text(copy)
  }

  private mutating func escape(into copy: inout [UInt8]) throws(Failure) {
    let byte = peek
    guard position < count else { throw failure("text does not end") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): copy.append(byte)
    case UInt8(ascii: "b"): copy.append(8)
    case UInt8(ascii: "f"): copy.append(12)
    case UInt8(ascii: "n"): copy.append(10)
    case UInt8(ascii: "r"): copy.append(13)
    case UInt8(ascii: "t"): copy.append(9)
    case UInt8(ascii: "u"):
      var code = try unit()
      if (0xD800..<0xDC00).contains(code) {
        guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw failure("half a surrogate pair") }
        let low = try unit()
        guard (0xDC00..<0xE000).contains(low) else { throw failure("half a surrogate pair") }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(code) else { throw failure("half a surrogate pair") }
      copy.append(contentsOf: Character(scalar).utf8)
    default: throw failure("an unknown escape")
    }
  }

  private mutating func unit() throws(Failure) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = Character(Unicode.Scalar(peek)).hexDigitValue else {
        throw failure("four hexadecimal digits are missing")
      }
      code = code << 4 | UInt32(digit)
      position += 1
    }
    return code
  }

  private func text(_ bytes: some Collection<UInt8>) throws(Failure) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw failure("text is not UTF-8") }
    return text
  }

  private mutating func word(_ word: StaticString, _ value: JSONValue) throws(Failure) -> JSONValue {
    let end = position + word.utf8CodeUnitCount
    guard end <= count, (0..<word.utf8CodeUnitCount).allSatisfy({ bytes[position + $0] == word.utf8Start[$0] })
    else { throw failure("no value") }
    position = end
    return value
  }

  private mutating func digits() -> Int {
    let start = position
    while peek >= UInt8(ascii: "0"), peek <= UInt8(ascii: "9") { position += 1 }
    return position - start
  }

  private mutating func enter() throws(Failure) {
    depth += 1
    guard depth <= Self.depthMax else { throw failure("nested more than \(Self.depthMax) levels deep") }
    position += 1
  }

  private mutating func close(_ byte: UInt8) -> Bool {
    skipSpace()
    guard take(byte) else { return false }
    depth -= 1
    return true
  }

  private mutating func skipSpace() {
    while peek <= 0x20, peek == 0x20 || peek == 0x0A || peek == 0x0D || peek == 0x09 { position += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard peek == byte else { return false }
    position += 1
    return true
  }

  private var peek: UInt8 { bytes.baseAddress.unsafelyUnwrapped[position] }

  private func failure(_ message: String) -> Failure { Failure(byte: position, message: message) }
}
