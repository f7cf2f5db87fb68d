import CommandSupport
import MapStoreWire

/// A value as one line of JSON.
enum JSONLine {
  static func text(_ value: some Encodable) -> String {
    guard let bytes = try? WireJSON.encode(value) else { return "{}" }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Prints a value as one line of JSON.
func printJSON(_ value: some Encodable) { printLine(JSONLine.text(value)) }
