import Support

/// Counts the rows that the checks of a ledger read, in one total for all of them: a row is read by the check of the
/// file, by that of types, and by those of its table.
final class VerifyPasses {
  /// The passes over rows, in their order.
  enum Pass: Int, CaseIterable {
    case pages
    case types
    case events
    case evidence
    case postings
    case projections
    case unchained
  }

  /// The number of rows after which progress is reported.
  private static let batch = 8192

  private let progress: ((Int, Int) -> Void)?
  private let rows: [String: Int]
  /// The rows of each pass and those before it.
  private let ends: [Int]
  private var done = 0
  private var current = 0
  private var reported = 0

  /// - Parameter progress: Receives the rows that were read, and the total; nil counts nothing.
  init(_ db: SQLiteConnection, _ progress: ((Int, Int) -> Void)?) {
    self.progress = progress
    // A damaged file, of which the checks say more, may not even be counted.
    let tables =
      progress == nil ? [] : (try? db.cached("SELECT name FROM sqlite_schema WHERE type = 'table'").all { $0.text(0) })
    let counts = (tables ?? []).map { table in
      let name = "\"\(table.replacing("\"", with: "\"\""))\""
      return (table, (try? db.prepare("SELECT count(*) FROM \(name)").first { Int($0.int64(0)) }) ?? 0)
    }
    let rows = Dictionary(counts, uniquingKeysWith: { first, _ in first })
    let all = rows.values.reduce(0, +)
    var end = 0
    ends = Pass.allCases.map { pass in
      switch pass {
      case .pages, .types: end += all
      case .events: end += rows["event"] ?? 0
      case .evidence: end += rows["evidence"] ?? 0
      case .postings: end += rows["posting"] ?? 0
      case .projections: end += ProjectionComparison.all.reduce(0) { $0 + (rows[$1.table] ?? 0) }
      case .unchained: end += rows["store_snapshot"] ?? 0
      }
      return end
    }
    self.rows = rows
    progress?(0, end)
  }

  /// Notes a row that the present pass has read.
  func step() { add(1) }

  /// Notes that the present pass has read a whole table.
  func add(table: String) { add(rows[table] ?? 0) }

  /// Notes how many rows the present pass has read so far.
  func reach(_ count: Int) { add(count + (current > 0 ? ends[current - 1] : 0) - done) }

  /// The next pass begins.
  func finish(_ pass: Pass) {
    (done, current) = (ends[pass.rawValue], min(pass.rawValue + 1, ends.count - 1))
    report()
  }

  private func add(_ count: Int) {
    // A table may have more rows than the events say, and an index fewer.
    done = min(max(done, done + count), ends[current])
    if done - reported >= Self.batch { report() }
  }

  private func report() {
    reported = done
    progress?(done, ends[ends.count - 1])
  }
}
