import TileIndex

/// What eviction alone is worth, session by session.
public struct EvictionReport: Hashable, Sendable {
  public struct Line: Hashable, Sendable {
    public var session: String
    /// Tiles that came onto the screen.
    public var requests = 0
    /// Of these, those that were there, by policy: least recently used, the reference, this project's, Belady's.
    public var lru = 0
    public var reference = 0
    public var `default` = 0
    public var belady = 0

    public init(session: String) { self.session = session }

    /// How much of the way from LRU to Belady's rule so many hits are; nil when there is none to go.
    public func share(_ hits: Int) -> Double? {
      belady > lru ? Double(hits - lru) / Double(belady - lru) : nil
    }

    static func + (a: Line, b: Line) -> Line {
      var sum = a
      sum.requests += b.requests
      sum.lru += b.lru
      sum.reference += b.reference
      sum.default += b.default
      sum.belady += b.belady
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
        (line.requests, line.lru) = trial.run(.lru)
        line.reference = trial.run(.reference).hits
        line.default = trial.run(.default).hits
        line.belady = trial.run(.belady).hits
        return line
      })
  }
}

extension EvictionReport {
  /// One line: `{"sessions": [...], "total": {...}}`, with hit rates, and shares of the way from LRU to Belady's rule.
  public var json: String {
    JSONValue.object([.init("sessions", .array(sessions.map(\.json))), .init("total", total.json)])
      .text(insideMarkup: false)
  }

  /// A table for people: hits in per cent of what came onto the screen.
  public var text: String {
    var rows = [["session", "requests", "lru", "reference", "default", "belady", "reference: of the way", "default"]]
    for line in sessions { rows.append(line.cells) }
    if sessions.count > 1 { rows.append(total.cells) }
    return TextTable.text(rows)
  }
}

extension EvictionReport.Line {
  fileprivate var json: JSONValue {
    func rate(_ hits: Int) -> JSONValue { .number(requests == 0 ? 0 : Double(hits) / Double(requests)) }
    func part(_ hits: Int) -> JSONValue { share(hits).map { .number($0) } ?? .null }
    return .object([
      .init("session", .string(session)), .init("requests", .number(requests)), .init("lru", rate(lru)),
      .init("reference", rate(reference)), .init("default", rate(self.default)), .init("belady", rate(belady)),
      .init("referenceShare", part(reference)), .init("defaultShare", part(self.default)),
    ])
  }

  fileprivate var cells: [String] {
    func rate(_ hits: Int) -> String { TextTable.percent(requests == 0 ? 0 : Double(hits) / Double(requests)) }
    func part(_ hits: Int) -> String { share(hits).map(TextTable.percent) ?? "-" }
    return [
      session, "\(requests)", rate(lru), rate(reference), rate(self.default), rate(belady), part(reference),
      part(self.default),
    ]
  }
}
