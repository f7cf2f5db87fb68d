import ArgumentParser

/// A number of bytes: `268435456`, `256MB`, `1.5GB`, `256MiB`.
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
