/// Writes one JSON object, members in the order in which they are added; absent values are left out.
package struct JSONObjectWriter: Sendable {
  private var members: [String] = []

  package init() {}

  package mutating func add(_ name: String, _ value: String?) {
    if let value { add(name, raw: value.quotedAsJSON) }
  }

  package mutating func add(_ name: String, _ value: (some BinaryInteger)?) {
    if let value { add(name, raw: String(value)) }
  }

  package mutating func add(_ name: String, _ value: Bool?) {
    if let value { add(name, raw: value ? "true" : "false") }
  }

  /// `raw` is JSON already.
  package mutating func add(_ name: String, raw: String) { members.append("\(name.quotedAsJSON):\(raw)") }

  package var text: String { "{\(members.joined(separator: ","))}" }
}

extension Sequence<UInt8> {
  /// Lower-case hexadecimal digits, two for each byte.
  package var hexadecimal: String {
    var text = ""
    for byte in self {
      if byte < 16 { text += "0" }
      text += String(byte, radix: 16)
    }
    return text
  }
}
