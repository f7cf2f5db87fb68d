import Support
import TileIndex

/// What eviction alone is worth, session by session.
public struct EvictionReport: Hashable, Sendable {
  /// Tiles that came onto the screen and were there, by policy.
  public struct Hits: Hashable, Sendable {
    /// Least recently used first.
    public var lru = 0
    /// The reference policy's order.
    public var reference = 0
    /// This project's.
    public var `default` = 0
    /// What is needed last, or never again, first.
    public var belady = 0

    public init() {}

    /// How much of the way from LRU to Belady's rule so many hits are; nil when there is none to go.
    public func share(_ hits: Int) -> Double? {
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

  public struct Line: Hashable, Sendable {
    public var session: String
    /// Tiles that came onto the screen.
    public var requests = 0
    /// All four as the reference simulator counts: the tiles that leave the screen push others out before it is seen which of those come onto it, and what was found takes room on.
    public var simulator = Hits()
    /// All four as the cache runs.
    public var cache = Hits()

    public init(session: String) { self.session = session }

    static func + (a: Line, b: Line) -> Line {
      var sum = a
      sum.requests += b.requests
      sum.simulator = a.simulator + b.simulator
      sum.cache = a.cache + b.cache
      return sum
    }
  }

  public var sessions: [Line]
  public var total: Line { sessions.reduce(Line(session: "total"), +) }

  public init(sessions: [Line]) { self.sessions = sessions }
}

extension ReplaySettings {
  /// Replays sessions without prefetch and without waiting for loads: the budget is the room for tiles off the screen.
  public func replayEviction(_ sessions: [MapSession]) -> EvictionReport {
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
  /// One line: `{"sessions": [...], "total": {...}}`, each with `simulator` and `cache`: hit rates, and shares of the way from LRU to Belady's rule.
  public var json: String {
    JSONValue.object([.init("sessions", .array(sessions.map(\.json))), .init("total", total.json)])
      .text(insideMarkup: false)
  }

  /// Two tables for people: hits in per cent of what came onto the screen, as the simulator counts and as the cache runs.
  public var text: String {
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
