/// All that this system tells: the machine's memory, the limits of control groups, and the waiting for memory. On Apple's platforms the system's own word.
public struct SystemPressure: PressureReadings {
  private let sources: [any PressureReadings]

  public init() { self.init(.files) }

  package init(_ text: SystemText) {
    #if canImport(Darwin)
      sources = [SystemNotice.shared]
    #else
      sources = [MachineMemory(text), ControlGroupMemory(text), StallTimes(text)]
    #endif
  }

  public func readings() -> [PressureReading] { sources.flatMap { $0.readings() } }
}
