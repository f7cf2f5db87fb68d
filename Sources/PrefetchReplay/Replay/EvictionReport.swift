import Support
import TileIndex
import TilePrefetch

/// The effect of eviction policies alone, per session.
package struct EvictionReport: Hashable, Sendable {
  /// Tiles that came onto the screen and were cached, by policy.
  package struct Hits: Hashable, Sendable {
    /// Least recently used first.
    package var lru = 0
    /// The reference policy's order.
    package var reference = 0
    /// This project's policy.
    package var `default` = 0
    /// Belady's rule: the tile that is needed last, or never again, goes first.
    package var belady = 0

    package init() {}

    /// How much of the distance from LRU to Belady's rule a number of hits covers; nil when there is no distance.
    package func share(_ hits: Int) -> Double? {
      belady > lru ? Double(hits - lru) / Double(belady - lru) : nil
    }

    static func + (a: Hits, b: Hits) -> Hits {
      var sum = a
      sum.lru += b.lru
      sum.reference += b.reference
      sum.default += b.default
      sum.belady += b.belady
      return sum
    }
  }

  package struct Line: Hashable, Sendable {
    package var session: String
    /// Tiles that came onto the screen.
    package var requests = 0
    /// All four in the reference simulator's accounting: tiles that leave the screen evict others before the tiles that
    /// come onto it are looked up, and tiles that were hits keep taking room.
    package var simulator = Hits()
    /// All four as the cache runs.
    package var cache = Hits()

    package init(session: String) { self.session = session }

    static func + (a: Line, b: Line) -> Line {
      var sum = a
      sum.requests += b.requests
      sum.simulator = a.simulator + b.simulator
      sum.cache = a.cache + b.cache
      return sum
    }
  }

  package var sessions: [Line]
  package var total: Line { sessions.reduce(Line(session: "total"), +) }

  package init(sessions: [Line]) { self.sessions = sessions }
}

extension ReplaySettings {
  /// Replays sessions without prefetch and without load times. The budget is the room for tiles off the screen.
  package func replayEviction(_ sessions: [RecordedSession]) -> EvictionReport {
    EvictionReport(
      sessions: sessions.map { session in
        let trial = EvictionTrial(
          frames: SessionFrames(session, on: device, isHarsh: isHarsh), roomCount: budget / tier.tileCost)
        var line = EvictionReport.Line(session: session.name)
        line.requests = trial.run(.lru, .cache).requests
        line.simulator = trial.hits(.simulator)
        line.cache = trial.hits(.cache)
        return line
      })
  }
}

extension EvictionTrial {
  fileprivate func hits(_ accounting: Accounting) -> EvictionReport.Hits {
    var hits = EvictionReport.Hits()
    hits.lru = run(.lru, accounting).hits
    hits.reference = run(.reference, accounting).hits
    hits.default = run(.default, accounting).hits
    hits.belady = run(.belady, accounting).hits
    return hits
  }
}

extension EvictionReport {
  /// One line: `{"sessions": [...], "total": {...}}`, each with `simulator` and `cache`: hit rates, and shares of the
  /// distance from LRU to Belady's rule.
  package var json: String {
    JSONValue.object([.init("sessions", .array(sessions.map(\.json))), .init("total", total.json)])
      .text(insideMarkup: false)
  }

  /// Two text tables: hits in per cent of the tiles that came onto the screen, in the simulator's accounting and as the
  /// cache runs.
  package var text: String {
    [("as the reference simulator counts:", \Line.simulator), ("as the cache runs:", \Line.cache)].map { title, hits in
      var rows = [["session", "requests", "lru", "reference", "default", "belady", "reference: of the way", "default"]]
      for line in sessions { rows.append(line.cells(line[keyPath: hits])) }
      if sessions.count > 1 { rows.append(total.cells(total[keyPath: hits])) }
      return title + "\n" + TextTable.text(rows)
    }.joined(separator: "\n\n")
  }
}

extension EvictionReport.Line {
  fileprivate var json: JSONValue {
    .object([
      .init("session", .string(session)), .init("requests", .number(requests)), .init("simulator", json(simulator)),
      .init("cache", json(cache)),
    ])
  }

  private func json(_ hits: EvictionReport.Hits) -> JSONValue {
    func rate(_ hits: Int) -> JSONValue { .number(requests == 0 ? 0 : Double(hits) / Double(requests)) }
    func part(_ count: Int) -> JSONValue { hits.share(count).map { .number($0) } ?? .null }
    return .object([
      .init("lru", rate(hits.lru)), .init("reference", rate(hits.reference)), .init("default", rate(hits.default)),
      .init("belady", rate(hits.belady)), .init("referenceShare", part(hits.reference)),
      .init("defaultShare", part(hits.default)),
    ])
  }

  fileprivate func cells(_ hits: EvictionReport.Hits) -> [String] {
    func rate(_ hits: Int) -> String { TextTable.percent(requests == 0 ? 0 : Double(hits) / Double(requests)) }
    func part(_ count: Int) -> String { hits.share(count).map(TextTable.percent) ?? "-" }
    return [
      session, "\(requests)", rate(hits.lru), rate(hits.reference), rate(hits.default), rate(hits.belady),
      part(hits.reference), part(hits.default),
    ]
  }
}

// MARK: - Trial

/// Replays a session on the real cache, with room for a given number of tiles off the screen. Missing tiles are loaded
/// at once, nothing is prefetched.
struct EvictionTrial {
  /// Which tile is evicted first.
  enum Policy: String, CaseIterable, Hashable, Sendable {
    /// The least recently used.
    case lru
    /// The reference policy's choice.
    case reference
    /// This project's.
    case `default`
    /// The tile that is needed last, or never again.
    case belady

    fileprivate func eviction(_ future: FutureAccesses) -> any EvictionPolicy {
      switch self {
      case .lru: LRUEviction()
      case .reference: ReferenceEviction()
      case .default: DistanceEviction()
      case .belady: ClairvoyantEviction(future: future)
      }
    }
  }

  /// When the room for tiles is determined.
  enum Accounting: CaseIterable, Hashable, Sendable {
    /// As in the reference simulator: tiles that leave the screen evict others before the tiles that come onto it are
    /// looked up, and tiles that were hits keep taking room while the screen shows them.
    case simulator
    /// As the cache runs in an app: the screen's tiles are pinned first, and tiles on the screen take none of the room
    /// for others.
    case cache
  }

  let frames: SessionFrames
  /// In tiles off the screen.
  let roomCount: Int

  /// - Returns: the number of tiles that came onto the screen, and how many of them were cached.
  func run(_ policy: Policy, _ accounting: Accounting) -> (requests: Int, hits: Int) {
    let isSimulator = accounting == .simulator
    let future = FutureAccesses(frames)
    let cache = TileCache<TileID, Void>(byteCountMax: 0, eviction: policy.eviction(future))
    var visible: TileRange?
    /// In the simulator's accounting: the tiles on the screen that were cached when they came.
    var found: Set<TileID> = []
    var (requests, hits) = (0, 0)
    for (index, frame) in frames.frames.enumerated() {
      let tiles = frame.viewport.tiles
      let focus = MapFocus(around: policy == .default ? frame.phase.target?.tiles ?? tiles : tiles)
      guard tiles != visible else {
        cache.refocus(focus)
        continue
      }
      let entered = tiles.filter { tile in !(visible?.contains(tile) ?? false) }
      if isSimulator, let before = visible {
        let staying = before.filter { tiles.contains($0) }
        found = found.filter { tiles.contains($0) }
        cache.show(staying, focus: focus)
        cache.resize(to: max(staying.count, roomCount + staying.count - found.count))
      }
      // Not earlier: until here the tiles of this frame are still in the future.
      future.frame(index)
      let present = entered.filter { cache.contains($0) }
      requests += entered.count
      hits += present.count
      if isSimulator { found.formUnion(present) }
      visible = tiles
      cache.show(tiles, focus: focus)
      cache.resize(to: max(tiles.count, roomCount + tiles.count - found.count))
      for tile in entered where !cache.contains(tile) { cache.insert((), for: tile, byteCount: 1) }
    }
    return (requests, hits)
  }
}
