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
  /// At most half as many tiles are loaded in vain as are needed.
  public var isMetered = false

  public init() {}

  /// Replays sessions with virtual tiles.
  public func replay(_ sessions: [MapSession], policy: ReplayPolicy) -> ReplayReport {
    ReplayReport(
      sessions: sessions.map { session in
        let frames = SessionFrames(session, on: device, isHarsh: isHarsh)
        return .init(session: session.name, score: policy.replay(frames, self))
      })
  }

  /// Replays sessions on a bundle: its tiles are read and decoded, and take as long as that takes.
  ///
  /// Each session is moved so that it begins in the middle of the bundle, and its finest zoom is the bundle's.
  /// - Throws: ``ReplayError/Code/unreadableBundle``.
  public func replay(_ sessions: [MapSession], policy: ReplayPolicy, bundle path: String) throws -> ReplayReport {
    let bundle = try BundleTiles(path, tier: tier)
    return ReplayReport(
      sessions: try sessions.map { session in
        let frames = try bundle.place(SessionFrames(session, on: device, isHarsh: isHarsh))
        return .init(session: session.name, score: policy.replay(frames, self, tiles: bundle))
      })
  }
}
