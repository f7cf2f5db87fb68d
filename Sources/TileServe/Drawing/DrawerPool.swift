import Synchronization

/// Drawers between two tiles. There are as many as threads ever drew at once; the one used last is lent first, its buffers are warm.
final class DrawerPool: Sendable {
  private let drawers = Mutex<[Drawer]>([])

  func withDrawer<Result>(_ body: (Drawer) throws -> Result) rethrows -> Result {
    let drawer = drawers.withLock { $0.popLast() } ?? Drawer()
    defer { drawers.withLock { $0.append(drawer) } }
    return try body(drawer)
  }

  /// Lets go of the buffers of those that nobody uses.
  func clear() { drawers.withLock { $0 = [] } }
}
