/// What a replay came to. Of several sessions the sum.
public struct ReplayScore: Hashable, Sendable {
  /// Tiles that came onto the screen.
  public var requests = 0
  /// Of these, those that were there.
  public var hits = 0
  /// Frames times tiles on the screen that were missing.
  public var blankTileFrames = 0
  /// Of these, those with neither an ancestor within five zooms nor all four children to draw instead.
  public var hardBlanks = 0
  /// Frames with at least one tile missing.
  public var stallFrames = 0
  /// Loads begun ahead of need.
  public var prefetches = 0
  /// Of these, those whose tile came onto the screen before it went.
  public var prefetchesUsed = 0
  /// All loads.
  public var loads = 0
  /// Tiles that came onto the screen and that the bundle does not have: there is nothing to draw, so they are no requests and never blank.
  public var absent = 0
  /// The most bytes that were kept and reserved.
  public var bytesPeak = 0

  public init() {}

  public var hitRate: Double { requests == 0 ? 0 : Double(hits) / Double(requests) }
  /// Nil when nothing was prefetched.
  public var precision: Double? { prefetches == 0 ? nil : Double(prefetchesUsed) / Double(prefetches) }
  public var stallMilliseconds: Double { Double(stallFrames) * 1000 / 60 }

  /// What came after an earlier score of the same session.
  package func since(_ earlier: ReplayScore) -> ReplayScore {
    var rest = self
    rest.requests -= earlier.requests
    rest.hits -= earlier.hits
    rest.blankTileFrames -= earlier.blankTileFrames
    rest.hardBlanks -= earlier.hardBlanks
    rest.stallFrames -= earlier.stallFrames
    rest.prefetches -= earlier.prefetches
    rest.prefetchesUsed -= earlier.prefetchesUsed
    rest.loads -= earlier.loads
    rest.absent -= earlier.absent
    return rest
  }

  public static func + (a: ReplayScore, b: ReplayScore) -> ReplayScore {
    var sum = a
    sum.requests += b.requests
    sum.hits += b.hits
    sum.blankTileFrames += b.blankTileFrames
    sum.hardBlanks += b.hardBlanks
    sum.stallFrames += b.stallFrames
    sum.prefetches += b.prefetches
    sum.prefetchesUsed += b.prefetchesUsed
    sum.loads += b.loads
    sum.absent += b.absent
    sum.bytesPeak = max(a.bytesPeak, b.bytesPeak)
    return sum
  }
}
