import Hummingbird
import NIOCore
import PurchaseLedger
import Synchronization

/// A part of a file as a response's body.
enum FileBody {
  /// - Parameters:
  ///   - seat: lives as long as the body.
  ///   - whenOver: is called after the last byte was handed to the system, or the connection has ended, with the end of the last piece that was begun.
  static func make(
    _ file: OpenFile, _ range: Range<Int>, seat: Seats<AccountID>.Seat, channel: any Channel, metrics: StoreMetrics,
    whenOver: @escaping @Sendable (Int) async -> Void
  ) -> ResponseBody {
    ResponseBody(contentLength: range.count) { writer in
      defer { withExtendedLifetime(seat) {} }
      let begun = Begun(range.lowerBound)
      do {
        // The head was given to the event loop before this is called, so it goes first.
        try await ConnectionGuard.send(file, range, on: channel, begins: begun.set) { metrics.count(sentBytes: $0) }
        try await writer.finish(nil)
      } catch {
        await whenOver(begun.get())
        throw error
      }
      await whenOver(range.upperBound)
    }
  }

  /// Where the last piece that was begun ends.
  private final class Begun: Sendable {
    private let end: Mutex<Int>

    init(_ start: Int) { end = Mutex(start) }

    func get() -> Int { end.withLock { $0 } }
    @Sendable func set(_ newEnd: Int) { end.withLock { $0 = newEnd } }
  }
}
