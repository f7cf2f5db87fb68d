import Support
import TileIndex

/// The results of a replay, per session.
package struct ReplayReport: Hashable, Sendable {
  package struct Line: Hashable, Sendable {
    package var session: String
    package var score: ReplayScore

    package init(session: String, score: ReplayScore) {
      self.session = session
      self.score = score
    }
  }

  package var sessions: [Line]
  package var total: ReplayScore { sessions.reduce(ReplayScore()) { $0 + $1.score } }

  package init(sessions: [Line]) { self.sessions = sessions }
}

extension ReplaySettings {
  /// Replays sessions with virtual tiles, in virtual time.
  package func replay(_ sessions: [RecordedSession], policy: ReplayPolicy) -> ReplayReport {
    ReplayReport(
      sessions: sessions.map { session in
        .init(session: session.name, score: replay(session, policy: policy, every: .infinity) { _ in })
      })
  }

  /// Replays one long session and reports its score so far after each interval.
  ///
  /// - Parameters:
  ///   - interval: in seconds of the session.
  ///   - report: gets the score since the beginning.
  package func replay(
    _ session: RecordedSession, policy: ReplayPolicy, every interval: Double, _ report: (ReplayScore) -> Void
  ) -> ReplayScore {
    let frames = SessionFrames(session, on: device, isHarsh: isHarsh)
    var replay = VirtualReplay(
      frames, policy.setup(frames, self), tiles: VirtualTiles(cost: tier.tileCost, seconds: source.loadTime))
    return replay.run(every: interval, report)
  }

  /// Replays sessions on a bundle, whose tiles are read and decoded.
  ///
  /// Recorded sessions are moved so that they begin in the middle of the bundle, and their finest zoom is the bundle's.
  /// Sessions that were generated for the bundle stay where they are.
  /// - Parameters:
  ///   - speed: nil for virtual time, in which a load takes as long as reading and decoding its tile took on this
  ///     thread. Otherwise real time, with the source's number of threads and the map moving at this multiple of its
  ///     speed.
  ///   - replayed: called after each session.
  /// - Throws: ``ReplayError/Code/unreadableBundle``.
  package func replay(
    _ sessions: [RecordedSession], policy: ReplayPolicy, bundle path: String, speed: Double? = nil,
    replayed: () -> Void = {}
  ) throws -> ReplayReport {
    let open = { try BundleTiles(path, tier: tier, source: source) }
    let bundle = try open()
    return ReplayReport(
      sessions: try sessions.map { session in
        defer { replayed() }
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

extension ReplayReport {
  /// One line: `{"sessions": [...], "total": {...}}`. `precision` is null where nothing was prefetched.
  package var json: String {
    JSONValue.object([
      .init("sessions", .array(sessions.map { $0.score.json($0.session) })), .init("total", total.json("total")),
    ]).text(insideMarkup: false)
  }

  /// A text table: a line per session, the means, and below them the means of other policies on the same sessions.
  package func text(policy: String, others: [(name: String, report: ReplayReport)]) -> String {
    var rows = [["session", "requests", "hits", "blank", "hard", "stall ms", "precision", "loads"]]
    for line in sessions { rows.append(line.score.cells(line.session, dividedBy: 1)) }
    if sessions.count > 1 { rows.append(total.cells("mean", dividedBy: Double(sessions.count))) }
    if !others.isEmpty {
      rows.append([])
      rows.append(total.cells("\(policy), a session", dividedBy: Double(max(sessions.count, 1))))
      for other in others {
        rows.append(other.report.total.cells(other.name, dividedBy: Double(max(other.report.sessions.count, 1))))
      }
    }
    let absent = total.absent
    guard absent > 0 else { return TextTable.text(rows) }
    let note = "\(absent) tiles that came onto the screen are not in the bundle; they are no requests and never blank"
    return TextTable.text(rows) + "\n\n" + note
  }
}

extension ReplayScore {
  fileprivate func json(_ session: String) -> JSONValue {
    .object([
      .init("session", .string(session)), .init("requests", .number(requests)), .init("hitRate", .number(hitRate)),
      .init("blankTileFrames", .number(blankTileFrames)), .init("hardBlanks", .number(hardBlanks)),
      .init("stallMs", .number(stallMilliseconds)), .init("precision", precision.map { .number($0) } ?? .null),
      .init("loads", .number(loads)),
      .init("absent", .number(absent)),
    ])
  }

  fileprivate func cells(_ name: String, dividedBy count: Double) -> [String] {
    func mean(_ value: Double) -> String { "\(Int((value / count).rounded()))" }
    return [
      name, mean(Double(requests)), TextTable.percent(hitRate), mean(Double(blankTileFrames)), mean(Double(hardBlanks)),
      mean(stallMilliseconds), precision.map(TextTable.percent) ?? "-", mean(Double(loads)),
    ]
  }
}

/// Text tables.
enum TextTable {
  /// Aligns columns, the first to the left, the others to the right. An empty row is an empty line.
  static func text(_ rows: [[String]]) -> String {
    let columnCount = rows.map(\.count).max() ?? 0
    let widths = (0..<columnCount).map { column in rows.map { $0.isEmpty ? 0 : $0[column].count }.max() ?? 0 }
    return
      rows
      .map { row in
        row.enumerated().map { column, cell in
          let gap = String(repeating: " ", count: widths[column] - cell.count)
          return column == 0 ? cell + gap : gap + cell
        }.joined(separator: "  ")
      }
      .joined(separator: "\n")
  }

  /// In per cent, with one decimal.
  static func percent(_ share: Double) -> String {
    let tenths = Int((abs(share) * 1000).rounded())
    return "\(share < 0 && tenths > 0 ? "-" : "")\(tenths / 10).\(tenths % 10)%"
  }
}
