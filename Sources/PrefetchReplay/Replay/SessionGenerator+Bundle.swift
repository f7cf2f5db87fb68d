extension SessionGenerator {
  /// A session on a bundle: from the zoom at which it fills half of a phone's width to its finest.
  ///
  /// - Throws: ``ReplayError``: `missingInput`, `unreadableBundle`.
  public static func session(seed: UInt64, gestureCount: Int = 40, bundle path: String) throws -> MapSession {
    let coverage = try BundleTiles(path, tier: .rgba, source: .local).coverage
    var session = session(seed: seed, gestureCount: gestureCount, in: coverage.area)
    session.isPlaced = true
    return session
  }
}
