/// Reads a text piece by piece: the caller follows its objects and arrays, and takes or skips the values in them.
extension JSONReader {
  /// Reads a document that people or other programs wrote, as ``JSONValue/init(parsing:duplicates:)`` reads it whole.
  ///
  /// - Parameter body: reads the document's value.
  /// - Throws: ``JSONValue/SyntaxError``; what the source and the closure throw.
  /// - Complexity: O(bytes), and memory for the longest name, text or number and the names of an object's members.
  package static func read<Value>(
    _ source: any ByteSource, _ body: (inout JSONReader) throws -> Value
  ) throws -> Value {
    let window = JSONWindow(source)
    var reader = JSONReader(window: window, rules: .documents)
    do {
      reader.passByteOrderMark()
      let value = try body(&reader)
      try reader.end()
      if let error = window.error { throw error }
      return value
    } catch let failure as Failure {
      // A text that cannot be read seems to end.
      if let error = window.error { throw error }
      throw JSONValue.SyntaxError(failure, in: source)
    } catch {
      throw window.error ?? error
    }
  }

  /// What a value is, as its first byte says.
  package enum Kind: Sendable {
    case object, array, text, number, word
  }

  /// The kind of the value that begins here.
  package mutating func kind() -> Kind {
    skipSpace()
    return switch peek {
    case UInt8(ascii: "{"): .object
    case UInt8(ascii: "["): .array
    case UInt8(ascii: "\""): .text
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): .number
    default: .word
    }
  }

  // MARK: - Objects and arrays

  /// The members of an object as far as they are read; values are null unless the reader sets them.
  package struct Members {
    var members: [JSONValue.Member] = []
    var isFirst = true
  }

  /// Enters the object that begins here.
  package mutating func beginObject() throws(Failure) -> Members {
    try enter()
    return Members()
  }

  /// The name of the next member, whose value begins here then; nil after the object's end.
  package mutating func nextName(of object: inout Members) throws(Failure) -> String? {
    if object.isFirst {
      object.isFirst = false
      if close(UInt8(ascii: "}")) { return nil }
      object.members.reserveCapacity(16)
    } else {
      skipSpace()
      guard take(UInt8(ascii: ",")) else {
        guard close(UInt8(ascii: "}")) else { throw failure("an object does not end") }
        try checkNames(&object.members)
        return nil
      }
    }
    let name = try name()
    object.members.append(.init(name, .null))
    return name
  }

  /// Where the reader is in an array.
  package struct Elements {
    var isFirst = true
  }

  /// Enters the array that begins here.
  package mutating func beginArray() throws(Failure) -> Elements {
    try enter()
    return Elements()
  }

  /// Whether another element begins here; false after the array's end.
  package mutating func nextElement(of array: inout Elements) throws(Failure) -> Bool {
    if array.isFirst {
      array.isFirst = false
      return !close(UInt8(ascii: "]"))
    }
    skipSpace()
    if take(UInt8(ascii: ",")) { return true }
    guard close(UInt8(ascii: "]")) else { throw failure("an array does not end") }
    return false
  }

  /// Passes the value that begins here, which is checked like one that is read.
  package mutating func skip() throws(Failure) {
    switch kind() {
    case .object:
      var object = try beginObject()
      while try nextName(of: &object) != nil { try skip() }
    case .array:
      var array = try beginArray()
      while try nextElement(of: &array) { try skip() }
    case .text, .number, .word: _ = try value()
    }
  }

  // MARK: - Places

  /// A place to which the reader can return.
  package struct Mark {
    fileprivate let place: Int
    fileprivate let depth: Int
  }

  package var mark: Mark { Mark(place: place, depth: depth) }

  package mutating func go(to mark: Mark) { (place, depth) = (mark.place, mark.depth) }

  private mutating func passByteOrderMark() {
    skipSpace()
    guard place == 0, peek == 0xef else { return }
    for byte in UTF8Mark.bytes where peek == byte { step() }
  }

  // MARK: - Numbers

  /// The number that begins here, correctly rounded.
  package mutating func number() throws(Failure) -> Double {
    skipSpace()
    return try digits { Self.double($0) }
  }

  /// Ten to the power of each index, all exact.
  private static let powers = [
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
  ]

  /// A quotient of two numbers that are exact is rounded once, like the digits themselves (Clinger 1990).
  private static func double(_ digits: UnsafeBufferPointer<UInt8>) -> Double {
    var mantissa: UInt64 = 0
    var decimals = 0
    var isFraction = false
    let isNegative = digits.first == UInt8(ascii: "-")
    for byte in digits.dropFirst(isNegative ? 1 : 0) {
      if byte == UInt8(ascii: "."), !isFraction {
        isFraction = true
        continue
      }
      let digit = byte &- UInt8(ascii: "0")
      guard digit < 10, mantissa < 1 << 53 else { return Double(String(decoding: digits, as: UTF8.self)) ?? .nan }
      mantissa = mantissa * 10 + UInt64(digit)
      if isFraction { decimals += 1 }
    }
    guard mantissa <= 1 << 53, decimals < powers.count else {
      return Double(String(decoding: digits, as: UTF8.self)) ?? .nan
    }
    let value = Double(mantissa) / powers[decimals]
    return isNegative ? -value : value
  }
}

/// The part of a text that is in memory, with a zero after it.
final class JSONWindow {
  /// The place of its first byte in the text.
  private(set) var start = 0
  private(set) var count = 0
  /// Why the text cannot be read further.
  private(set) var error: (any Error)?
  private let source: any ByteSource
  private var memory: UnsafeMutableBufferPointer<UInt8>

  private static let bytesLeast = 1 << 17

  init(_ source: any ByteSource) {
    self.source = source
    memory = .allocate(capacity: min(Self.bytesLeast, source.byteCount) + 1)
    memory[0] = 0
  }

  deinit { memory.deallocate() }

  /// Valid until ``show(_:keeping:)``.
  var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(memory) }

  /// Brings a byte of the text into memory.
  ///
  /// - Parameter first: from where on the text is in memory afterwards, at or before `place`.
  /// - Returns: false at the end of the text.
  @discardableResult
  func show(_ place: Int, keeping first: Int) -> Bool {
    if first >= start, place >= start, place < start + count { return true }
    let kept = first >= start && first <= start + count ? start + count - first : 0
    // Half of the memory is new at least, so that long texts are not moved often.
    let old = memory
    if kept * 2 >= old.count { memory = .allocate(capacity: old.count * 2) }
    if kept > 0 { memory.baseAddress!.update(from: old.baseAddress! + (first - start), count: kept) }
    if memory.baseAddress != old.baseAddress { old.deallocate() }
    (start, count) = (first, kept)
    do {
      let room = UnsafeMutableRawBufferPointer(memory)[count..<(memory.count - 1)]
      count += try source.read(into: UnsafeMutableRawBufferPointer(rebasing: room), at: start + count)
    } catch {
      self.error = error
    }
    memory[count] = 0
    return place < start + count
  }
}
