import Dispatch
import Foundation
import Synchronization

/// Calls back at SIGINT (Ctrl-C), SIGTERM or SIGHUP instead of dying at once; a second signal kills as usual.
final class SignalWatch: Sendable {
  // Dispatch sources may be cancelled from any thread, but Dispatch does not say so in its types.
  private nonisolated(unsafe) let sources: [any DispatchSourceSignal]
  private let first = Mutex<Int32?>(nil)

  /// The first signal that came.
  var received: Int32? { first.withLock { $0 } }

  init(_ onSignal: @escaping @Sendable () -> Void) {
    let signals = [SIGINT, SIGTERM, SIGHUP]
    sources = signals.map { number in
      // The dispatch source only hears of signals that nothing else handles.
      signal(number, SIG_IGN)
      return DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInitiated))
    }
    for (number, source) in zip(signals, sources) {
      source.setEventHandler { [weak self] in
        self?.first.withLock { $0 = $0 ?? number }
        for number in signals { signal(number, SIG_DFL) }
        onSignal()
      }
      source.resume()
    }
  }

  func stop() {
    for source in sources { source.cancel() }
  }
}
