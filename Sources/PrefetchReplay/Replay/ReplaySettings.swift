/// What to replay sessions with.
public struct ReplaySettings: Hashable, Sendable {
  /// How a tile in memory is counted.
  public enum Tier: String, CaseIterable, Hashable, Sendable {
    /// 256 KiB a tile.
    case rgba
    /// A byte a pixel and a palette: 65 KiB where a tile has at most 256 colours.
    case palette

    /// Bytes of a tile of 256 pixels.
    public var tileCost: Int { self == .rgba ? 256 << 10 : 65 << 10 }
  }

  public var device = ReplayDevice.phone
  /// Bytes.
  public var budget = 64_000_000
  public var tier = Tier.rgba
  public var source = ReplaySource.local
  /// Drags go evenly and twice as fast, zooms happen at once and are not announced.
  public var isHarsh = false
  /// At most 1.5 times as many tiles are loaded as would be without prefetch.
  public var isMetered = false

  public init() {}

  /// Replays sessions with virtual tiles, in virtual time.
  public func replay(_ sessions: [MapSession], policy: ReplayPolicy) -> ReplayReport {
    ReplayReport(
      sessions: sessions.map { session in
        .init(session: session.name, score: replay(session, policy: policy, every: .infinity) { _ in })
      })
  }

  /// The same for one long session, of which it reports how it stands after each interval.
  ///
  /// - Parameters:
  ///   - interval: seconds of the session.
  ///   - report: gets what it came to since the beginning.
  package func replay(
    _ session: MapSession, policy: ReplayPolicy, every interval: Double, _ report: (ReplayScore) -> Void
  ) -> ReplayScore {
    let frames = SessionFrames(session, on: device, isHarsh: isHarsh)
    var replay = VirtualReplay(
      frames, policy.setup(frames, self), tiles: VirtualTiles(cost: tier.tileCost, seconds: source.loadTime))
    return replay.run(every: interval, report)
  }

  /// Replays sessions on a bundle, whose tiles are read and decoded.
  ///
  /// Recorded sessions are moved so that they begin in the middle of the bundle, and their finest zoom is the bundle's; those that were made up for it stay where they are.
  /// - Parameter speed: nil for virtual time, in which a load takes as long as it took to read and decode its tile on this thread. Otherwise real time with the source's
  ///   number of threads, and the map moves so many times faster than in life; a replay then takes as long as the session, by its speed.
  /// - Throws: ``ReplayError/Code/unreadableBundle``.
  public func replay(
    _ sessions: [MapSession], policy: ReplayPolicy, bundle path: String, speed: Double? = nil
  ) throws -> ReplayReport {
    let open = { try BundleTiles(path, tier: tier, source: source) }
    let bundle = try open()
    return ReplayReport(
      sessions: try sessions.map { session in
        var frames = SessionFrames(session, on: device, isHarsh: isHarsh)
        if !session.isPlaced { frames = bundle.coverage.place(frames) }
        let setup = policy.setup(frames, self, coverage: bundle.coverage)
        guard let speed else {
          var replay = VirtualReplay(frames, setup, tiles: bundle)
          return .init(session: session.name, score: replay.run())
        }
        return .init(session: session.name, score: try RealTimeReplay(frames, setup, speed: speed).run(open))
      })
  }
}
