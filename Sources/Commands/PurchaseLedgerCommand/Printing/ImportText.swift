import PurchaseLedger
import Support

/// What became of imported pieces.
enum ImportText {
  static func json(_ line: EvidenceImporter.Line) -> JSONValue {
    let booking = line.booking
    let first = booking.transactions.first
    var fields: [(String, JSONValue)] = [
      ("source", .string(line.source)), ("line", .init(line.line)), ("outcome", .string(booking.outcome.rawValue)),
      ("reason", .init(booking.reason?.code.rawValue ?? booking.notes.first)),
      ("message", .init(booking.reason?.reason)),
      ("store", .init(booking.store?.rawValue)),
      // Some of Google's evidence names none; its facts have the ledger's.
      ("environment", .init((booking.environment ?? first?.environment)?.rawValue)),
      ("transactionId", .init(first?.transactionID)), ("originalTransactionId", .init(first?.originalTransactionID)),
      ("productId", .init(first?.productID)), ("kind", .init(booking.kind?.name)),
    ]
    if booking.transactions.count > 1 {
      fields.append(
        (
          "transactions",
          .array(
            booking.transactions.map {
              .fields([
                ("transactionId", .string($0.transactionID)),
                ("originalTransactionId", .string($0.originalTransactionID)), ("productId", .init($0.productID)),
              ])
            })
        ))
    }
    return .fields(fields)
  }

  /// A line for what needs somebody's attention; nil for the rest.
  static func complaint(_ line: EvidenceImporter.Line) -> String? {
    guard line.booking.outcome == .refused || line.booking.outcome == .quarantined else { return nil }
    let reason = line.booking.reason.map { ": \($0)" } ?? ""
    return "\(line.source):\(line.line): \(line.booking.outcome.rawValue)\(reason)"
  }

  static func summary(_ counts: [Booking.Outcome: Int]) -> String {
    let outcomes: [Booking.Outcome] = [.accepted, .duplicate, .quarantined, .refused]
    return outcomes.map { "\(counts[$0, default: 0]) \($0.rawValue)" }.joined(separator: ", ")
  }
}
