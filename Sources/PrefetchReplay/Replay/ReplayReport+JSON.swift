import Support
import TileIndex

extension ReplayReport {
  /// One line: `{"sessions": [...], "total": {...}}`. `precision` is null where nothing was prefetched.
  public var json: String {
    JSONValue.object([
      .init("sessions", .array(sessions.map { $0.score.json($0.session) })), .init("total", total.json("total")),
    ]).text(insideMarkup: false)
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
}
