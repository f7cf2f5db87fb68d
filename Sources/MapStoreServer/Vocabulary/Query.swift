import MapStoreWire
import Support

/// The parameters of a URL's query; of repeated ones the first counts.
struct Query: Sendable {
  private let values: [String: String]

  /// - Throws: `Problem` 400 where percent-encoding or UTF-8 is broken.
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

  /// Nil where it is absent or empty.
  subscript(name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

  /// The value of a parameter that no form sends without one.
  ///
  /// - Returns: nil where it is absent.
  /// - Throws: `Problem` 400 where it is empty: a program that has lost a value gets no default for it.
  func value(_ name: String) throws(Problem) -> String? {
    guard let value = values[name] else { return nil }
    guard !value.isEmpty else { throw .badRequest("\(name): is empty; give a value, or leave it out") }
    return value
  }

  /// Numbers with commas between them.
  func numbers(_ name: String, count: Int) throws(Problem) -> [Double] {
    let numbers = (self[name] ?? "").split(separator: ",", omittingEmptySubsequences: false).compactMap { text in
      Double(text).flatMap { $0.isFinite ? $0 : nil }
    }
    guard numbers.count == count else { throw .badRequest("\(name): is not \(count) numbers with commas") }
    return numbers
  }
}

enum PercentDecoding {
  /// Nil where a `%` has no two digits behind it, the bytes are no UTF-8, or there is a NUL.
  static func decode(_ text: some Sequence<UInt8>, plusIsSpace: Bool = false) -> String? {
    guard let bytes = PercentEncoding.decode(text, plusIsSpace: plusIsSpace), !bytes.contains(0) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}
