/// The machine's memory (proc(5), `/proc/meminfo`): what is available counts what the kernel can take back from its caches.
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
