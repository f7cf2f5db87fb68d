import Dispatch
import Foundation
import Synchronization

/// Calls back at SIGINT (Ctrl-C), SIGTERM or SIGHUP instead of dying at once; a second signal kills as usual.
///
/// A signal that was ignored when the process began (`nohup`, a job in a script's background) stays ignored. SIGPIPE is ignored as long as the watch lasts:
/// the reader of the progress may go without the work going with it.
final class SignalWatch: Sendable {
  // Dispatch sources may be cancelled from any thread, but Dispatch does not say so in its types.
  private nonisolated(unsafe) let sources: [any DispatchSourceSignal]
  private let first = Mutex<Int32?>(nil)
  private let ignoresPipes: Bool

  /// The first signal that came.
  var received: Int32? { first.withLock { $0 } }

  init(_ onSignal: @escaping @Sendable () -> Void) {
    let signals = [SIGINT, SIGTERM, SIGHUP].filter { !Self.isIgnored($0) }
    sources = signals.map { number in
      // The dispatch source only hears of signals that nothing else handles.
      signal(number, SIG_IGN)
      return DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInitiated))
    }
    ignoresPipes = Self.isIgnored(SIGPIPE)
    signal(SIGPIPE, SIG_IGN)
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
    if !ignoresPipes { signal(SIGPIPE, SIG_DFL) }
  }

  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0 else { return false }
    #if canImport(Darwin)
      let handler = action.__sigaction_u.__sa_handler
    #else
      let handler = action.__sigaction_handler.sa_handler
    #endif
    return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
