import Support

/// The state of a ledger and of the jobs that keep it: what `purchase-ledger status` prints. Times are milliseconds
/// since 1970.
package struct LedgerStatus: Sendable {
  /// What is known of the pulls from one store's environment.
  package struct Feed: Sendable, Hashable {
    package var store: Store
    package var environment: StoreEnvironment
    /// Another app than the ledger's first one; nil for that.
    package var app: String?
    /// The recorded transactions.
    package var transactions = 0
    /// When the store last answered a pull; nil if it was never pulled.
    package var pulledAt: Int64?
    /// The last window of the store's list of changes.
    package var windowStart: Int64?
    package var windowEnd: Int64?
    /// Whether the last window was not read to its end.
    package var isUnfinished = false
    /// The end of what was read before a gap that no pull has closed.
    package var lostSince: Int64?
    /// By how many milliseconds the store's clock is ahead of this machine's; nil if no pull has compared them.
    package var clockMilliseconds: Int64?
    /// When all of the store's transactions were pulled; nil if not all were.
    var coveredAt: Int64?

    /// In lines for people.
    var name: String { "\(store.rawValue) \(environment.rawValue)" + (app.map { " \($0)" } ?? "") }

    /// Up to when the store's records were read. Pages of an unfinished window are read; what they reach is not known.
    package var readTo: Int64? {
      [isUnfinished ? windowStart : windowEnd, coveredAt].compactMap(\.self).max() ?? pulledAt
    }
  }

  /// The result of the last run of a command.
  package struct LastRun: Sendable, Hashable {
    package var at: Int64
    /// What the command left: for `reconcile` the differences that remain.
    package var remaining: Int?
    /// Whether the command found nothing for a person.
    package var isClean: Bool
  }

  package var path = ""
  package var schemaVersion: Int64 = 0
  package var environment = StoreEnvironment.production
  package var now: Int64 = 0
  package var feeds: [Feed] = []
  /// Google's purchases that are not acknowledged, and when Google refunds the oldest one.
  package var unacknowledged = 0
  package var acknowledgeBy: Int64?
  /// Questions to the stores that wait for the next pull, and since when the oldest one waits.
  package var lookups = 0
  package var lookupSince: Int64?
  /// Questions that failed, those that are not asked again, and when the next one is asked again.
  package var failures = 0
  package var failuresGivenUp = 0
  package var nextTry: Int64?
  /// Questions of the stores about refunds, and until when the first may be answered.
  package var refunds = 0
  package var refundsUntil: Int64?
  package var quarantined = 0
  package var quarantinedSince: Int64?
  package var unpriced = 0
  package var unowned = 0
  package var reconciled: LastRun?
  package var backedUp: LastRun?
  /// When the backup was made from which this file was restored; nil for a file that was not restored.
  package var restoredFrom: Int64?
  package var events: Int64 = 0
  package var head = ""
  package var firstEventAt: Int64?
  package var lastEventAt: Int64?
  /// The sizes of the ledger's file, of its write-ahead log and of its spool, and the free space of its disk, in bytes.
  package var fileBytes = 0
  package var logBytes = 0
  package var spoolBytes: Int?
  package var freeBytes: Int?

  /// What needs a person, in the order of ``StatusCondition/Code``.
  package var conditions: [StatusCondition] = []
}

extension LedgerStatus {
  /// One JSON document for monitoring. Times are RFC 3339, ages whole seconds.
  package var json: JSONValue {
    func time(_ value: Int64?) -> JSONValue { .init(value.map(TimeText.rfc3339)) }
    func age(_ value: Int64?) -> JSONValue { value.map { .init((now - $0) / 1000) } ?? .null }
    func run(_ run: LastRun?) -> JSONValue {
      guard let run else { return .null }
      return .object([
        .init("at", time(run.at)), .init("ageSeconds", age(run.at)), .init("clean", .bool(run.isClean)),
        .init("remaining", run.remaining.map { .init($0) } ?? .null),
      ])
    }
    let stores: [JSONValue] = feeds.map { feed in
      .object([
        .init("store", .string(feed.store.rawValue)), .init("environment", .string(feed.environment.rawValue)),
        .init("app", .init(feed.app)), .init("transactions", .init(feed.transactions)),
        .init("lastPull", time(feed.pulledAt)),
        .init("lastPullAgeSeconds", age(feed.pulledAt)), .init("readTo", time(feed.readTo)),
        .init("readToAgeSeconds", age(feed.readTo)), .init("windowStart", time(feed.windowStart)),
        .init("windowEnd", time(feed.windowEnd)), .init("windowUnfinished", .bool(feed.isUnfinished)),
        .init("windowLostSince", time(feed.lostSince)),
        .init("clockSeconds", feed.clockMilliseconds.map { .number(Double($0) / 1000) } ?? .null),
      ])
    }
    return .object([
      .init("ledger", .string(path)), .init("schema", .init(schemaVersion)), .init("at", time(now)),
      .init("ok", .bool(conditions.isEmpty)), .init("conditions", .array(conditions.map(\.json))),
      .init("environment", .string(environment.rawValue)), .init("stores", .array(stores)),
      .init(
        "acknowledgements",
        .object([.init("waiting", .init(unacknowledged)), .init("deadline", time(acknowledgeBy))])),
      .init(
        "queue",
        .object([
          .init("waiting", .init(lookups)), .init("oldest", time(lookupSince)), .init("failures", .init(failures)),
          .init("givenUp", .init(failuresGivenUp)), .init("nextTry", time(nextTry)),
        ])),
      .init("refunds", .object([.init("waiting", .init(refunds)), .init("deadline", time(refundsUntil))])),
      .init(
        "quarantine", .object([.init("pieces", .init(quarantined)), .init("oldest", time(quarantinedSince))])),
      .init("unpriced", .init(unpriced)), .init("unowned", .init(unowned)), .init("reconcile", run(reconciled)),
      .init("backup", run(backedUp)), .init("restoredFrom", time(restoredFrom)),
      .init("head", .object([.init("events", .init(events)), .init("hash", .string(head))])),
      .init("lastEvent", time(lastEventAt)),
      .init(
        "bytes",
        .object([
          .init("ledger", .init(fileBytes)), .init("log", .init(logBytes)),
          .init("spool", spoolBytes.map { .init($0) } ?? .null), .init("free", freeBytes.map { .init($0) } ?? .null),
        ])),
    ])
  }

  /// The same for people.
  package var text: String {
    func since(_ value: Int64?) -> String {
      value.map { "\(TimeText.age(now - $0)) ago (\(TimeText.minute($0)))" } ?? "never"
    }
    var lines: [String] = []
    for feed in feeds {
      var parts = ["pulled \(since(feed.pulledAt))", "\(feed.transactions) transactions"]
      if let start = feed.windowStart, let end = feed.windowEnd {
        parts.append("window \(TimeText.minute(start)) to \(TimeText.minute(end))")
      }
      if feed.isUnfinished { parts.append("not read to its end") }
      if let lost = feed.lostSince { parts.append("gap since \(TimeText.minute(lost))") }
      if let clock = feed.clockMilliseconds { parts.append("clock differs by \(clock / 1000) s") }
      lines.append("\(feed.name): \(parts.joined(separator: ", "))")
    }
    if feeds.isEmpty { lines.append("stores: nothing recorded, nothing pulled") }
    lines.append(
      "acknowledgements: \(unacknowledged) waiting"
        + (acknowledgeBy.map { ", the first until \(TimeText.minute($0))" } ?? ""))
    lines.append(
      "queue: \(lookups) waiting, \(failures) failed, \(failuresGivenUp) given up"
        + (nextTry.map { ", next try \(TimeText.minute($0))" } ?? ""))
    lines.append(
      "refund questions: \(refunds)" + (refundsUntil.map { ", the first until \(TimeText.minute($0))" } ?? ""))
    lines.append("quarantine: \(quarantined)")
    lines.append("unpriced sales: \(unpriced), unowned purchases: \(unowned)")
    lines.append(
      "reconciled: \(since(reconciled?.at))"
        + (reconciled.map { $0.isClean ? ", agreed" : ", not agreed, \($0.remaining ?? 0) differences" } ?? ""))
    lines.append("backup: \(since(backedUp?.at))")
    lines.append("head: \(head), \(events) events")
    let megabytes = { (bytes: Int) in "\((bytes + 524_288) / 1_048_576) MB" }
    lines.append(
      "disk: ledger \(megabytes(fileBytes)), log \(megabytes(logBytes)), spool \(megabytes(spoolBytes ?? 0))"
        + (freeBytes.map { ", free \(megabytes($0))" } ?? ""))
    lines += conditions.isEmpty ? ["ok: nothing to do"] : conditions.map { "\($0.code.rawValue): \($0.message)" }
    return lines.joined(separator: "\n")
  }
}
