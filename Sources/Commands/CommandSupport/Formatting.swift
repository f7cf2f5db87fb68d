import ArgumentParser
import Foundation

/// A number of bytes on the command line: `268435456`, `256MB`, `1.5GB`, `256MiB`.
package struct BytesArgument: ExpressibleByArgument, CustomStringConvertible {
  package let bytes: Int

  package init(bytes: Int) { self.bytes = bytes }

  package init?(argument: String) {
    let units: [(String, Double)] = [
      ("kib", 1024), ("mib", 1_048_576), ("gib", 1_073_741_824), ("kb", 1e3), ("mb", 1e6), ("gb", 1e9), ("k", 1e3),
      ("m", 1e6), ("g", 1e9), ("b", 1),
    ]
    let text = argument.lowercased()
    let unit = units.first { text.hasSuffix($0.0) }
    guard let number = Double(text.dropLast(unit?.0.count ?? 0)), number > 0, number * (unit?.1 ?? 1) < 1e15 else {
      return nil
    }
    bytes = Int(number * (unit?.1 ?? 1))
  }

  package var description: String { bytes % 1_000_000 == 0 ? "\(bytes / 1_000_000)MB" : "\(bytes)" }
  package var defaultValueDescription: String { description }
}

/// `1 tile`, `2 tiles`.
package func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

/// `12.3 MB`; powers of ten.
package func formatted(bytes: Int) -> String {
  let value = Double(bytes)
  switch value {
  case ..<1e3: return "\(bytes) B"
  case ..<1e6: return String(format: "%.1f kB", value / 1e3)
  case ..<1e9: return String(format: "%.1f MB", value / 1e6)
  default: return String(format: "%.2f GB", value / 1e9)
  }
}

/// `0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`.
package func formatted(seconds: Double) -> String {
  switch seconds {
  case ..<10: return String(format: "%.1f s", seconds)
  case ..<60: return String(format: "%.0f s", seconds)
  case ..<3600: return String(format: "%d min %02d s", Int(seconds) / 60, Int(seconds) % 60)
  default: return String(format: "%d h %02d min", Int(seconds) / 3600, Int(seconds) / 60 % 60)
  }
}

/// JSON for programs: keys are sorted, so that outputs can be compared.
package func prettyJSON(_ value: some Encodable) throws -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
  return String(decoding: try encoder.encode(value), as: UTF8.self)
}
