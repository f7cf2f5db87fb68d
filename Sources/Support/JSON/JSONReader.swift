/// Reads one JSON text (RFC 8259) from its bytes, with a limit of depth.
package struct JSONReader {
  /// Where and why a text is not JSON.
  package struct Failure: Error, CustomStringConvertible {
    package var byte: Int
    package var message: String

    package var description: String { "\(message) at byte \(byte)" }
  }

  /// How strictly a text is read.
  struct Rules {
    var duplicates: JSONValue.DuplicateNames
    /// Whether invalid UTF-8 and halves of surrogate pairs become U+FFFD instead of an error.
    var repairsText: Bool
    /// Each level takes some stack, and documents come from strangers.
    var depthMax: Int
  }

  /// The text with a zero appended, so that reading the next byte needs no bounds check: a zero is never valid JSON.
  private let bytes: UnsafeBufferPointer<UInt8>
  let count: Int
  private let rules: Rules
  private(set) var position = 0
  private var depth = 0

  /// Reads evidence and messages: text must be UTF-8, and values nest at most 64 levels deep.
  ///
  /// - Throws: ``Failure``, also for a name that occurs twice in an object unless `duplicates` allows it.
  /// - Complexity: O(bytes).
  package static func read(
    _ bytes: some Sequence<UInt8>, duplicates: JSONValue.DuplicateNames = .refused
  ) throws(Failure) -> JSONValue {
    try read(bytes, skipping: 0, Rules(duplicates: duplicates, repairsText: false, depthMax: 64))
  }

  static func read(_ bytes: some Sequence<UInt8>, skipping start: Int, _ rules: Rules) throws(Failure) -> JSONValue {
    let result: Result<JSONValue, Failure> = withReader(of: bytes, rules) { reader throws(Failure) in
      reader.position = start
      return try reader.document()
    }
    return try result.get()
  }

  static func withReader<Value>(
    of bytes: some Sequence<UInt8>, _ rules: Rules = Rules(duplicates: .kept, repairsText: false, depthMax: 64),
    _ body: (inout JSONReader) throws(Failure) -> Value
  ) -> Result<Value, Failure> {
    var ended: [UInt8] = []
    ended.reserveCapacity(bytes.underestimatedCount + 1)
    ended.append(contentsOf: bytes)
    ended.append(0)
    return ended.withUnsafeBufferPointer { buffer in
      var reader = JSONReader(bytes: buffer, count: buffer.count - 1, rules: rules)
      do throws(Failure) { return .success(try body(&reader)) } catch { return .failure(error) }
    }
  }

  private init(bytes: UnsafeBufferPointer<UInt8>, count: Int, rules: Rules) {
    self.bytes = bytes
    self.count = count
    self.rules = rules
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
      members.append(.init(name, try value()))
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard close(UInt8(ascii: "}")) else { throw failure("an object does not end") }
    try checkNames(&members)
    return .object(members)
  }

  private func checkNames(_ members: inout [JSONValue.Member]) throws(Failure) {
    if case .kept = rules.duplicates { return }
    guard let index = JSONValue.firstRepeated(in: members) else { return }
    if case .refused = rules.duplicates {
      // At the object's last byte: the end of the text would mean that something is missing.
      throw Failure(byte: position - 1, message: "\"\(members[index].name.prefix(80))\" occurs twice")
    }
    var names: Set<String> = []
    members = members.reversed().filter { names.insert($0.name).inserted }.reversed()
  }

  mutating func name() throws(Failure) -> String {
    skipSpace()
    guard peek == UInt8(ascii: "\"") else { throw failure("a name is missing") }
    let name = try string()
    skipSpace()
    guard take(UInt8(ascii: ":")) else { throw failure("a colon is missing") }
    return name
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
      guard let scalar = try scalar() ?? (rules.repairsText ? "\u{fffd}" : nil) else {
        throw failure("half a surrogate pair")
      }
      copy.append(contentsOf: Character(scalar).utf8)
    default: throw failure("an unknown escape")
    }
  }

  /// The scalar of one `\u` escape or of a surrogate pair; nil for half a pair, after which the position is behind the
  /// half.
  private mutating func scalar() throws(Failure) -> Unicode.Scalar? {
    let code = try unit()
    guard (0xD800..<0xDC00).contains(code) else { return Unicode.Scalar(code) }
    let end = position
    guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
      position = end
      return nil
    }
    let low = try unit()
    guard (0xDC00..<0xE000).contains(low) else {
      position = end
      return nil
    }
    return Unicode.Scalar(0x10000 + (code - 0xD800) << 10 + (low - 0xDC00))
  }

  private mutating func unit() throws(Failure) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = Hexadecimal.value(peek) else {
        throw failure("four hexadecimal digits are missing")
      }
      code = code << 4 | UInt32(digit)
      position += 1
    }
    return code
  }

  private func text(_ bytes: some Collection<UInt8>) throws(Failure) -> String {
    if rules.repairsText { return String(decoding: bytes, as: UTF8.self) }
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

  mutating func enter() throws(Failure) {
    depth += 1
    guard depth <= rules.depthMax else { throw failure("nested more than \(rules.depthMax) levels deep") }
    position += 1
  }

  mutating func close(_ byte: UInt8) -> Bool {
    skipSpace()
    guard take(byte) else { return false }
    depth -= 1
    return true
  }

  mutating func skipSpace() {
    while peek <= 0x20, peek == 0x20 || peek == 0x0A || peek == 0x0D || peek == 0x09 { position += 1 }
  }

  mutating func take(_ byte: UInt8) -> Bool {
    guard peek == byte else { return false }
    position += 1
    return true
  }

  mutating func step() { position += 1 }

  var peek: UInt8 { bytes.baseAddress.unsafelyUnwrapped[position] }

  func failure(_ message: String) -> Failure { Failure(byte: position, message: message) }
}
