/// Reads one JSON text (RFC 8259) from its bytes, with a limit of depth: as one value, or piece by piece, so that
/// neither the text nor its values are ever in memory as a whole (`JSONReader+Pieces.swift`).
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
    /// A value of two bytes takes dozens in memory.
    var valuesMax = Int.max

    /// For documents that people or other programs wrote.
    static let documents = Rules(duplicates: .refused, repairsText: true, depthMax: 128)
  }

  /// The text, or what is in memory of it, with a zero appended, so that reading the next byte needs no bounds check: a
  /// zero is never valid JSON.
  private var bytes: UnsafeBufferPointer<UInt8>
  private(set) var count: Int
  let rules: Rules
  /// Counted from the first byte in memory.
  private(set) var position = 0
  var depth = 0
  private var values = 0
  /// What is in memory of a text that is read piece by piece; nil if all of it is.
  private let window: JSONWindow?

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
    (self.bytes, self.count, self.rules, window) = (bytes, count, rules, nil)
  }

  init(window: JSONWindow, rules: Rules) {
    (bytes, count, self.rules, self.window) = (window.bytes, window.count, rules, window)
  }

  /// Where the reader is in the text, in bytes.
  var place: Int {
    get { position + (window?.start ?? 0) }
    set {
      if let window {
        window.show(newValue, keeping: newValue)
        update(window, at: newValue)
      } else {
        position = newValue
      }
    }
  }

  /// Brings more of the text into memory, of which what begins at a position stays.
  ///
  /// - Returns: whether more followed.
  private mutating func more(keeping first: Int) -> Bool {
    guard let window else { return false }
    let (end, here) = (window.start + count, place)
    let isThere = window.show(end, keeping: window.start + first)
    update(window, at: here)
    return isThere
  }

  private mutating func update(_ window: JSONWindow, at place: Int) {
    (bytes, count, position) = (window.bytes, window.count, place - window.start)
  }

  /// Reads a text, number or word, and reads it again with more of the text if the window ends in it.
  @inline(__always)
  private mutating func whole<Token>(
    _ read: (inout JSONReader) throws(Failure) -> Token
  ) throws(Failure) -> Token {
    guard let window else { return try read(&self) }
    while true {
      let start = place
      let result: Result<Token, Failure>
      do throws(Failure) { result = .success(try read(&self)) } catch { result = .failure(error) }
      guard position >= count, more(keeping: start - window.start) else { return try result.get() }
      place = start
    }
  }

  private mutating func document() throws(Failure) -> JSONValue {
    let value = try value()
    try end()
    return value
  }

  /// - Throws: ``Failure`` unless only white space is left.
  package mutating func end() throws(Failure) {
    skipSpace()
    guard position == count else { throw failure("something follows the value") }
  }

  /// Reads the value that begins here.
  package mutating func value() throws(Failure) -> JSONValue {
    skipSpace()
    values += 1
    guard values <= rules.valuesMax else { throw failure("more than \(rules.valuesMax) values") }
    switch peek {
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return try array()
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return .number(try digits { String(decoding: $0, as: UTF8.self) })
    }
  }

  private mutating func object() throws(Failure) -> JSONValue {
    var list = try beginObject()
    while try nextName(of: &list) != nil {
      list.members[list.members.count - 1].value = try value()
    }
    return .object(list.members)
  }

  func checkNames(_ members: inout [JSONValue.Member]) throws(Failure) {
    if case .kept = rules.duplicates { return }
    guard let index = JSONValue.firstRepeated(in: members) else { return }
    if case .refused = rules.duplicates {
      // At the object's last byte: the end of the text would mean that something is missing.
      throw Failure(byte: place - 1, message: "\"\(members[index].name.prefix(80))\" occurs twice")
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
    var list = try beginArray()
    var elements: [JSONValue] = []
    while try nextElement(of: &list) { elements.append(try value()) }
    return .array(elements)
  }

  /// Reads a number and passes its digits to a closure.
  mutating func digits<Value>(_ read: (UnsafeBufferPointer<UInt8>) -> Value) throws(Failure) -> Value {
    try whole { reader throws(Failure) in
      let start = reader.position
      try reader.passNumber()
      return read(UnsafeBufferPointer(rebasing: reader.bytes[start..<reader.position]))
    }
  }

  private mutating func passNumber() throws(Failure) {
    _ = take(UInt8(ascii: "-"))
    let leading = peek
    var count = passDigits()
    guard count == 1 || (count > 1 && leading != UInt8(ascii: "0")) else { throw failure("no value") }
    if take(UInt8(ascii: ".")) {
      count = passDigits()
      guard count > 0 else { throw failure("a fraction has no digits") }
    }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      count = passDigits()
      guard count > 0 else { throw failure("an exponent has no digits") }
    }
  }

  private mutating func string() throws(Failure) -> String {
    try whole { reader throws(Failure) in try reader.stringInMemory() }
  }

  private mutating func stringInMemory() throws(Failure) -> String {
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
    while count - position < word.utf8CodeUnitCount, more(keeping: position) {}
    let end = position + word.utf8CodeUnitCount
    guard end <= count, (0..<word.utf8CodeUnitCount).allSatisfy({ bytes[position + $0] == word.utf8Start[$0] })
    else { throw failure("no value") }
    position = end
    return value
  }

  private mutating func passDigits() -> Int {
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

  /// Passes white space, after which the next byte is in memory unless the text ends.
  mutating func skipSpace() {
    repeat {
      while peek <= 0x20, peek == 0x20 || peek == 0x0A || peek == 0x0D || peek == 0x09 { position += 1 }
    } while position == count && more(keeping: count)
  }

  mutating func take(_ byte: UInt8) -> Bool {
    guard peek == byte else { return false }
    position += 1
    return true
  }

  mutating func step() { position += 1 }

  var peek: UInt8 { bytes.baseAddress.unsafelyUnwrapped[position] }

  func failure(_ message: String) -> Failure { Failure(byte: place, message: message) }
}
