import MapStoreWire
import Support

/// The parameters of a URL's query; the first of repeated ones counts.
struct Query: Sendable {
  private let values: [String: String]

  /// - Throws: `Problem` 400 for invalid percent-encoding or UTF-8.
  init(_ text: String?) throws(Problem) {
    var values: [String: String] = [:]
    for pair in (text ?? "").utf8.split(separator: UInt8(ascii: "&")) {
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = PercentDecoding.decode(parts[0], plusIsSpace: true),
        let value = parts.count < 2 ? "" : PercentDecoding.decode(parts[1], plusIsSpace: true)
      else { throw .badRequest("the query is not percent-encoded UTF-8") }
      if values[name] == nil { values[name] = value }
    }
    self.values = values
  }

  /// Nil if the parameter is absent or empty.
  subscript(name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

  /// The value of a parameter that must not be empty.
  ///
  /// - Returns: nil if it is absent.
  /// - Throws: `Problem` 400 if it is empty: a client that lost a value gets an error, not the default.
  func value(_ name: String) throws(Problem) -> String? {
    guard let value = values[name] else { return nil }
    guard !value.isEmpty else { throw .badRequest("\(name): is empty", remedy: "give a value, or leave it out") }
    return value
  }

  /// Numbers separated by commas.
  func numbers(_ name: String, count: Int) throws(Problem) -> [Double] {
    let numbers = (self[name] ?? "").split(separator: ",", omittingEmptySubsequences: false).compactMap { text in
      Double(text).flatMap { $0.isFinite ? $0 : nil }
    }
    guard numbers.count == count else { throw .badRequest("\(name): is not \(count) numbers with commas") }
    return numbers
  }
}

enum PercentDecoding {
  /// Nil if a `%` is not followed by two digits, the bytes are not UTF-8, or one of them is NUL.
  static func decode(_ text: some Sequence<UInt8>, plusIsSpace: Bool = false) -> String? {
    guard let bytes = PercentEncoding.decode(text, plusIsSpace: plusIsSpace), !bytes.contains(0) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}
