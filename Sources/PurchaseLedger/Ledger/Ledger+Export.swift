import Support

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The format of an export.
package enum ExportFormat: String, Sendable, CaseIterable {
  /// One JSON object for each event, then one with `events` and `head`.
  case jsonLines = "jsonl"
  /// A journal of hledger: each posting as a transaction between two accounts.
  case hledger
}

/// What an export has written.
package struct ExportSummary: Sendable, Hashable {
  /// The number of events or postings.
  package internal(set) var entries = 0
  /// Of a journal: sales without a usable price. Their postings are marked.
  package internal(set) var unpricedSales = 0
  /// Of a journal: refunds of such sales.
  package internal(set) var unpricedRefunds = 0

  package init() {}
}

extension Ledger {
  /// Writes events or postings line by line, in one read transaction and in constant memory.
  ///
  /// - Parameter progress: Receives the number of events or postings written, and the total.
  /// - Returns: What was written; a journal whose summary counts unpriced sales is not complete.
  @discardableResult
  package func export(
    _ format: ExportFormat, to write: (String) throws -> Void, progress: (Int, Int) -> Void = { _, _ in }
  ) throws -> ExportSummary {
    var summary = ExportSummary()
    try read { db in
      let table = format == .hledger ? "posting" : "event"
      let total = try db.prepare("SELECT count(*) FROM \(table)").first { $0.int(0) } ?? 0
      var done = 0
      func count() {
        done += 1
        if done % 4096 == 0 { progress(done, total) }
      }
      switch format {
      case .jsonLines: try exportEvents(db, to: write, count)
      case .hledger: try exportJournal(db, to: write, &summary, count)
      }
      summary.entries = done
      progress(done, total)
    }
    return summary
  }

  private func exportEvents(_ db: SQLiteConnection, to write: (String) throws -> Void, _ count: () -> Void) throws {
    let select = try db.cached("SELECT \(LedgerEvent.columns) FROM event ORDER BY seq")
    defer { select.reset() }
    while try select.step() {
      try write(LedgerEvent(select, in: path).jsonLine + "\n")
      count()
    }
    let head = try EventWriter.head(db)
    var last = JSONObjectWriter()
    last.add("events", head.seq)
    last.add("head", head.hash.hexadecimal)
    try write(last.text + "\n")
  }

  private func exportJournal(
    _ db: SQLiteConnection, to write: (String) throws -> Void, _ summary: inout ExportSummary, _ count: () -> Void
  ) throws {
    try write("; head \(try EventWriter.head(db).hash.hexadecimal)\n\n")
    try writeDeclarations(db, to: write)
    let select = try db.cached(
      """
      SELECT p.store, p.environment, p.transaction_id, p.entry, p.date, p.debit, p.credit, p.amount, p.currency,
        t.product_id FROM posting AS p JOIN store_transaction AS t USING (store, environment, transaction_id)
      ORDER BY p.date, p.store, p.environment, p.transaction_id, p.entry
      """)
    let unpriced = try UnpricedSales(db)
    defer { select.reset() }
    while try select.step() {
      let store = Store(code: UInt8(truncatingIfNeeded: select.int64(0)))?.rawValue ?? "unknown"
      let isSale = select.int64(3) == 1
      let amount = Self.amount(select.int64(7), currency: select.text(8))
      let reason =
        UnpricedSales.isDoubtful(amount: select.int64(7), currency: select.text(8))
        ? try unpriced.reason(RowKey(select)) : nil
      if reason != nil {
        summary.unpricedSales += isSale ? 1 : 0
        summary.unpricedRefunds += isSale ? 0 : 1
      }
      try write(
        """

        \(Self.day(select.int64(4))) (\(Self.plain("\(store):\(select.text(2))"))) \
        \(isSale ? "sale" : "refund") \(Self.plain(select.text(9)))\(reason.map { "  ; unpriced: \($0)" } ?? "")
            \(Self.account(select.int64(5), store: store))  \(amount)
            \(Self.account(select.int64(6), store: store))  \(amount == "0" ? "0" : "-" + amount)

        """)
      count()
    }
    guard summary.unpricedSales + summary.unpricedRefunds > 0 else { return }
    try write("\n; unpriced: \(summary.unpricedSales) sales, \(summary.unpricedRefunds) refunds\n")
  }

  /// Declares commodities and accounts, which `hledger check --strict` requires.
  private func writeDeclarations(_ db: SQLiteConnection, to write: (String) throws -> Void) throws {
    let select = try db.cached("SELECT DISTINCT store, debit, credit, currency, amount > 0 FROM posting")
    var (commodities, accounts): (Set<String>, Set<String>) = ([], [])
    for row in try select.all({ ($0.int64(0), [$0.int64(1), $0.int64(2)], $0.text(3), $0.int64(4) == 1) }) {
      let store = Store(code: UInt8(truncatingIfNeeded: row.0))?.rawValue ?? "unknown"
      for number in row.1 { accounts.insert(Self.account(number, store: store)) }
      if row.3 { commodities.insert(row.2) }
    }
    for currency in commodities.sorted() {
      // hledger requires a decimal mark, also without digits after it.
      let fraction = String(repeating: "0", count: Money.digits(of: currency))
      try write("commodity 1000.\(fraction) \(Self.symbol(currency))\n")
    }
    for account in accounts.sorted() { try write("account \(account)\n") }
  }

  /// A commodity's symbol. hledger requires quotation marks around symbols other than letters, which old ledgers may
  /// have.
  private static func symbol(_ currency: String) -> String {
    let isWord = currency.utf8.allSatisfy { (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0) }
    return isWord ? currency : "\"\(plain(currency).replacing("\"", with: "_"))\""
  }

  private static func account(_ number: Int64, store: String) -> String {
    let name =
      switch number % Posting.Account.sandbox {
      case Posting.Account.receivable: "assets:receivable"
      case Posting.Account.sales: "income:sales"
      default: "income:refunds"
      }
    return (number > Posting.Account.sandbox ? "sandbox:" : "") + "\(name):\(store)"
  }

  /// An amount in minor units as decimal text with its currency; zero has none.
  static func amount(_ minor: Int64, currency: String) -> String {
    if minor == 0 { return "0" }
    let digits = Money.digits(of: currency)
    if digits == 0 { return "\(minor) \(symbol(currency))" }
    let text = String(minor)
    let padded = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
    return "\(padded.dropLast(digits)).\(padded.suffix(digits)) \(symbol(currency))"
  }

  private static func day(_ milliseconds: Int64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601.year().month().day())
  }

  /// Replaces the characters that end a code or begin a comment in a journal.
  private static func plain(_ text: String) -> String {
    String(text.map { ";()|".contains($0) ? "_" : $0 })
  }
}
