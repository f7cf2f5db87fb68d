/// A number of bytes as people write it: `268435456`, `256MB`, `1.5GB`, `256MiB`. MB are a million, MiB 1,048,576.
package enum ByteCount {
  private static let units: [(name: String, bytes: Double)] = [
    ("kib", 1024), ("mib", 1_048_576), ("gib", 1_073_741_824), ("tib", 1_099_511_627_776), ("kb", 1e3), ("mb", 1e6),
    ("gb", 1e9), ("tb", 1e12), ("k", 1e3), ("m", 1e6), ("g", 1e9), ("t", 1e12), ("b", 1),
  ]

  /// Nil for a text that says no such number, or one that is not above 0 and below 10^15.
  package static func bytes(_ text: String) -> Int? {
    let text = text.lowercased()
    let unit = units.first { text.hasSuffix($0.name) }
    guard let number = Double(text.dropLast(unit?.name.count ?? 0)), number > 0 else { return nil }
    let bytes = number * (unit?.bytes ?? 1)
    return bytes < 1e15 ? Int(bytes) : nil
  }
}
