import ArgumentParser
import Support

/// A number of bytes on the command line (``ByteCount``).
package struct BytesArgument: ExpressibleByArgument, CustomStringConvertible {
  package let bytes: Int

  package init(bytes: Int) { self.bytes = bytes }

  package init?(argument: String) {
    guard let bytes = ByteCount.bytes(argument) else { return nil }
    self.bytes = bytes
  }

  package var description: String {
    bytes % 1_000_000 == 0 ? "\(bytes / 1_000_000)MB" : bytes % 1_048_576 == 0 ? "\(bytes >> 20)MiB" : "\(bytes)"
  }
  package var defaultValueDescription: String { description }
}

/// `1 tile`, `2 tiles`.
package func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

/// `12.3 MB`; powers of ten.
package func formatted(bytes: Int) -> String {
  let value = Double(bytes)
  switch value {
  case ..<1e3: return "\(bytes) B"
  case ..<1e6: return "\(DecimalText.fixed(value / 1e3, 1)) kB"
  case ..<1e9: return "\(DecimalText.fixed(value / 1e6, 1)) MB"
  default: return "\(DecimalText.fixed(value / 1e9, 2)) GB"
  }
}

/// `0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`.
package func formatted(seconds: Double) -> String {
  switch seconds {
  case ..<10: return "\(DecimalText.fixed(seconds, 1)) s"
  case ..<60: return "\(DecimalText.fixed(seconds, 0)) s"
  case ..<3600: return "\(Int(seconds) / 60) min \(twoDigits(Int(seconds) % 60)) s"
  default: return "\(Int(seconds) / 3600) h \(twoDigits(Int(seconds) / 60 % 60)) min"
  }
}

private func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

/// JSON for programs: keys are sorted, so that outputs can be compared.
package func prettyJSON(_ value: some Encodable) throws -> String {
  try JSONValue(encoding: value).sorted.indentedText
}
