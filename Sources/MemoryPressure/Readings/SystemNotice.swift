#if canImport(Darwin)
  import Dispatch
  import Synchronization

  /// What Apple's kernel says of memory pressure, as a reading.
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
