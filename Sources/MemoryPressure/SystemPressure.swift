#if canImport(Darwin)
  import Dispatch
  import Synchronization
#endif

/// All readings of this system: the machine's memory, the limits of control groups, and the time spent waiting for
/// memory. On Apple's platforms the system's own notification.
package struct SystemPressure: PressureReadings {
  private let sources: [any PressureReadings]

  /// The readings of this system.
  package init() { self.init(.files) }

  package init(_ text: SystemText) {
    #if canImport(Darwin)
      sources = [SystemNotice.shared]
    #else
      sources = [MachineMemory(text), ControlGroupMemory(text), StallTimes(text)]
    #endif
  }

  package func readings() -> [PressureReading] { sources.flatMap { $0.readings() } }
}

/// The machine's memory (proc(5), `/proc/meminfo`). Available memory includes what the kernel can reclaim from its
/// caches.
package struct MachineMemory: PressureReadings {
  private let text: SystemText

  package init(_ text: SystemText = .files) { self.text = text }

  package func readings() -> [PressureReading] {
    guard let memory = text.read("/proc/meminfo"), let total = memory.number(after: "MemTotal:"), total > 0,
      let available = memory.number(after: "MemAvailable:"), (0...total).contains(available)
    else { return [] }
    return [PressureReading(.machine, used: 1 - Double(available) / Double(total))]
  }
}

/// The time that processes waited for memory (PSI; the kernel's accounting/psi): of the process's own control group if
/// the kernel reports it, otherwise of the machine.
///
/// A tenth of the last ten seconds in which some process waited is a warning; a tenth in which all waited is critical.
package struct StallTimes: PressureReadings {
  private let text: SystemText

  package init(_ text: SystemText = .files) { self.text = text }

  /// The threshold in per cent of the time.
  private static let mark = 10.0

  package func readings() -> [PressureReading] {
    guard let stalls = Self.path(text).flatMap(text.read) else { return [] }
    var used: Double?
    for line in stalls.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard let kind = words.first, let average = words.first(where: { $0.hasPrefix("avg10=") }),
        let percent = Double(average.dropFirst("avg10=".count)), percent.isFinite, (0...100).contains(percent)
      else { continue }
      // Waiting of some processes is never more than a warning.
      let share = kind == "full" ? 0.9 * percent / Self.mark : min(0.8 * percent / Self.mark, 0.85)
      used = max(used ?? 0, min(share, 1))
    }
    return used.map { [PressureReading(.stalls, used: $0)] } ?? []
  }

  /// The file with these times; nil where the kernel has none.
  static func path(_ text: SystemText) -> String? {
    let groups = ControlGroup.all(text).filter { $0.version == .two }.map { "\($0.folder)/memory.pressure" }
    return (groups + ["/proc/pressure/memory"]).first { text.read($0)?.contains("avg10=") == true }
  }
}

#if canImport(Darwin)
  /// The memory pressure notification of Apple's kernel, as a reading.
  final class SystemNotice: PressureReadings {
    static let shared = SystemNotice()
    private let used = Mutex(0.0)
    private let source: any DispatchSourceMemoryPressure

    private init() {
      source = DispatchSource.makeMemoryPressureSource(eventMask: .all, queue: .global(qos: .utility))
      source.setEventHandler { [weak self] in
        guard let self else { return }
        let event = source.data
        used.withLock { $0 = event.contains(.critical) ? 0.9 : event.contains(.warning) ? 0.8 : 0 }
      }
      source.activate()
    }

    func readings() -> [PressureReading] { [PressureReading(.system, used: used.withLock { $0 })] }
  }
#endif
