/// The time that processes waited for memory (PSI; the kernel's accounting/psi): of the process's own control group where the kernel tells it,
/// otherwise of the machine.
///
/// A tenth of the last ten seconds in which some process waited is a warning; a tenth in which all did is critical.
package struct StallTimes: PressureReadings {
  private let text: SystemText

  package init(_ text: SystemText = .files) { self.text = text }

  /// Percent of the time that is the mark.
  private static let mark = 10.0

  package func readings() -> [PressureReading] {
    guard let stalls = Self.path(text).flatMap(text.read) else { return [] }
    var used: Double?
    for line in stalls.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard let kind = words.first, let average = words.first(where: { $0.hasPrefix("avg10=") }),
        let percent = Double(average.dropFirst("avg10=".count)), percent.isFinite, (0...100).contains(percent)
      else { continue }
      // That some wait is never more than a warning.
      let share = kind == "full" ? 0.9 * percent / Self.mark : min(0.8 * percent / Self.mark, 0.85)
      used = max(used ?? 0, min(share, 1))
    }
    return used.map { [PressureReading(.stalls, used: $0)] } ?? []
  }

  /// The file that says it; nil where the kernel does not.
  static func path(_ text: SystemText) -> String? {
    let groups = ControlGroup.all(text).filter { $0.version == .two }.map { "\($0.folder)/memory.pressure" }
    return (groups + ["/proc/pressure/memory"]).first { text.read($0)?.contains("avg10=") == true }
  }
}
